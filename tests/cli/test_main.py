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
