"""The command line begins when it is run, not when it is imported."""

import importlib
import subprocess
import sys

from counterpoise import __version__


def test_the_package_can_be_run_and_to_import_it_runs_nothing():
    told = subprocess.run(
        [sys.executable, "-m", "counterpoise", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == __version__
    importlib.import_module("counterpoise.__main__")


def test_an_option_that_a_command_lacks_is_told_with_the_one_most_like_it(run):
    code, _, said = run("label", "--tagret", "live.csv")
    assert code == 1
    assert "label has no --tagret (did you mean '--target'?)" in said
    assert "counterpoise label --help" in said
    code, _, said = run("compare", "a.json", "b.json", "--color", "red")
    assert code == 1
    assert "unrecognized arguments: --color red" in said
