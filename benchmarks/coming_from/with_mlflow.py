"""Does a record reach MLflow, every number by its path, and the record as artifact?

The call of the page "In production", run against a folder.
"""

import json
from pathlib import Path

import environments
from environments import MissingPeerError
from reporting import bar, left_out, table
from rows_for_all import HERE

SOURCE = HERE.parents[1] / "src"


def run(quick: bool) -> dict:
    try:
        python = environments.environment("mlflow")
        told = environments.ask(
            python,
            HERE / "mlflow_call.py",
            lambda path: json.loads(Path(path).read_text()),
            {},
            settings={
                "PYTHONPATH": str(SOURCE),
                # A folder is all that a check of ours needs.
                "MLFLOW_ALLOW_FILE_STORE": "true",
            },
        )
    except MissingPeerError as error:
        return left_out(f"MLflow is missing: {error}")
    shown = table(
        "What MLflow has of a record",
        "metrics | of the record | artifacts",
        [[told["metrics"], told["numbers"], ", ".join(told["artifacts"])]],
    )
    missing = told["numbers"] - told["metrics"]
    return {"table": shown, "bars": [bar("numbers missing", missing, most=0)]}
