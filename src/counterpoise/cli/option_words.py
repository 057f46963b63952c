"""What the library says of its parameters, in the options of the command line."""

import re

# What is said in Python, and what there is to do here.
_IN_OPTIONS = (
    (re.escape('cv="blocks" holds out'), "--time COLUMN holds out"),
    (
        r": was X transformed and X_target not\? A pipeline .*",
        ": is one of the files in other units, or transformed already?",
    ),
    (
        r"; raise max_iter or max_time, or accept a larger tol",
        "; another --weighter may do better",
    ),
    (r"\brow (\d+) of X_target\b", r"row \1 of the target"),
    (r"\b(columns?|rows) of X_target\b", r"\1 of the target"),
    (r"\b(columns?|rows|range) of X\b", r"\1 of the source"),
    (r" and standardize is False\b", ""),
    (r"groups= or time=; --groups or --time", "--groups or --time"),
    (r"\bforce=True\b", "--despite-no-overlap"),
    (r"\bwhich_rows_to_label says", "counterpoise label says"),
    (r"\bcalibration=0\.2\b", "--calibration 0.2"),
)


def in_options(words: str) -> str:
    """Return the library's words with options that exist in place of parameters.

    Examples
    --------
    >>> in_options('cv="blocks" holds out runs of neighbouring rows')
    '--time COLUMN holds out runs of neighbouring rows'
    """
    for said, put in _IN_OPTIONS:
        words = re.sub(said, put, words)
    return words
