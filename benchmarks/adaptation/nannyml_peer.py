"""NannyML's estimates, asked in an environment of its own.

Run in its environment (out/peers/nannyml) as
``python nannyml_peer.py questions.npz answers.json``; imported by the questions, which
call `ask_all`.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# In the environment of the peer the folder above is not on the path.
sys.path.append(str(HERE.parent))

import environments  # noqa: E402
from environments import MissingPeerError  # noqa: E402, F401


def ask_all(questions: list[dict[str, np.ndarray]]) -> list[dict[str, float]]:
    """Return what NannyML estimates of the target, model by model.

    Parameters
    ----------
    questions : list of dict
        Of arrays: X, X_target (held-out source rows and target rows), y (labels of the
        source rows), predicted, predicted_target (what the model predicts), and of
        classifiers probability, probability_target (of class one).

    Returns
    -------
    list of dict
        "squared error", or "error rate" and "auc".
    """
    return environments.ask(
        environments.environment("nannyml"),
        Path(__file__),
        lambda answer: json.loads(answer.read_text()),
        environments.as_one(questions),
    )


def _estimated(given: dict[str, np.ndarray]) -> dict[str, float]:
    """Return what NannyML estimates of one model."""
    import nannyml as nml
    import pandas as pd

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
        return {
            "error rate": 1 - float(frame[("accuracy", "value")].iloc[0]),
            "auc": float(frame[("roc_auc", "value")].iloc[0]),
        }
    return {"squared error": float(frame[("mse", "value")].iloc[0])}


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore")
    asked, answers = map(Path, sys.argv[1:])
    answers.write_text(
        json.dumps([_estimated(one) for one in environments.apart(asked)])
    )
