"""The commands of the command line: this list is all that names them.

A command is a module with `add(commands)`, which gives the parser its options, and
`run(options)`, which returns the exit code.
"""

from counterpoise.cli.commands import (
    compare,
    demo,
    diagnose,
    doctor,
    evaluate,
    fit,
    label,
    predict,
    report,
    rerun,
    run,
    watch,
    weigh,
)

# In the order of the help.
COMMANDS = (
    run,
    diagnose,
    weigh,
    fit,
    predict,
    evaluate,
    label,
    watch,
    report,
    compare,
    rerun,
    demo,
    doctor,
)
