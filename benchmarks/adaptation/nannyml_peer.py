"""NannyML's estimates, asked in an environment of its own.

Run in the environment that `environment()` makes (out/peers-nannyml), as
``python nannyml_peer.py question.npz answer.json``; imported by the questions, which
call `ask`.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "out" / "peers-nannyml"
REQUIREMENTS = HERE / "requirements-nannyml.txt"
TIMEOUT = 900


class MissingPeerError(Exception):
    """NannyML could not be installed or did not run; the message says why."""


def environment() -> Path:
    """Return the interpreter of NannyML, making its environment if need be."""
    python = HOME / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = HOME / "installed.txt"
    if done.exists() and done.read_text() == REQUIREMENTS.read_text():
        return python
    print(f"making the environment of NannyML in {HOME} ...", flush=True)
    venv.create(HOME, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
    ended = subprocess.run(install, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise MissingPeerError(ended.stderr.strip().splitlines()[-1])
    done.write_text(REQUIREMENTS.read_text())
    return python


def ask(**arrays: np.ndarray) -> dict[str, float]:
    """Return what NannyML estimates of the target.

    Parameters
    ----------
    X, X_target : arrays
        Held-out source rows and target rows.
    y : array
        Labels of the source rows.
    predicted, predicted_target : arrays
        What the model predicts.
    probability, probability_target : arrays
        Of class one; classifiers only.

    Returns
    -------
    dict
        "squared error", or "error rate" and "auc".
    """
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.json"
        np.savez(question, **arrays)
        command = [environment(), Path(__file__), question, answer]
        ended = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no message"]
            raise MissingPeerError(lines[-1])
        return json.loads(answer.read_text())


def _main(question: str, answer: str) -> None:
    import warnings

    warnings.filterwarnings("ignore")
    import nannyml as nml
    import pandas as pd

    given = dict(np.load(question))
    names = [f"x{k}" for k in range(given["X"].shape[1])]

    def table(suffix: str) -> "pd.DataFrame":
        frame = pd.DataFrame(given[f"X{suffix}"], columns=names)
        frame["predicted"] = given[f"predicted{suffix}"]
        if f"probability{suffix}" in given:
            frame["probability"] = given[f"probability{suffix}"]
        return frame

    reference, analysis = table(""), table("_target")
    reference["label"] = given["y"]
    # In one chunk: the whole target.
    common = {"y_true": "label", "y_pred": "predicted", "chunk_number": 1}
    if "probability" in given:
        estimator = nml.CBPE(
            y_pred_proba="probability",
            problem_type="classification_binary",
            metrics=["accuracy", "roc_auc"],
            **common,
        )
    else:
        estimator = nml.DLE(feature_column_names=names, metrics=["mse"], **common)
    found = estimator.fit(reference).estimate(analysis).filter(period="analysis")
    frame = found.to_df()
    if "probability" in given:
        out = {
            "error rate": 1 - float(frame[("accuracy", "value")].iloc[0]),
            "auc": float(frame[("roc_auc", "value")].iloc[0]),
        }
    else:
        out = {"squared error": float(frame[("mse", "value")].iloc[0])}
    Path(answer).write_text(json.dumps(out))


if __name__ == "__main__":
    _main(*sys.argv[1:])
