"""Two small tables, and the command line in this process."""

import numpy as np
import pytest
from cli.mixed_tables import mixed_columns, write_csv

from counterpoise.cli.main import main


@pytest.fixture
def tables(tmp_path):
    """Paths of a source and of a target that is shifted and covered."""
    rng = np.random.default_rng(0)
    source = mixed_columns(rng, 300, 0.0, label=True)
    target = mixed_columns(rng, 200, 0.7, label=False)
    return (
        write_csv(tmp_path / "train.csv", source),
        write_csv(tmp_path / "live.csv", target),
    )


@pytest.fixture
def run(capsys):
    """Run a command and return its code, stdout and stderr."""

    def run_command(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run_command
