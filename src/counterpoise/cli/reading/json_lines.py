"""Files of JSON lines: an object a row."""

from pathlib import Path
from typing import Any

from counterpoise.cli.exits import BadData
from counterpoise.cli.reading.arrow_files import plain_columns
from counterpoise.cli.reading.packages import import_pyarrow
from counterpoise.cli.terminal import one_line


def read_json_lines(path: Path) -> Any:
    """Return the columns of a file with one JSON object a line."""
    pyarrow = import_pyarrow()
    from pyarrow import json

    try:
        columns = json.read_json(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = one_line(error)
        raise BadData(
            f"{path} cannot be read as JSON lines, an object a line: {reason}"
        ) from error
    return plain_columns(path, columns)
