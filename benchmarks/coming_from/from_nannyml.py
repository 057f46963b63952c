"""What does NannyML expect of a model on the clinic's rows, what we, what is true?

A ridge regression fitted to half of the trial; the other half is the reference.
NannyML 0.13.1: direct loss estimation and univariate drift, its defaults.
"""

import numpy as np
from environments import MissingPeerError
from ours_performance import ours
from reporting import bar, left_out, table
from rows_for_all import asked, patients
from sklearn.linear_model import Ridge


def run(quick: bool) -> dict:
    shift = patients()
    half = len(shift.X) // 2
    model = Ridge().fit(shift.X[:half], shift.y[:half])
    X, y = shift.X[half:], shift.y[half:]
    try:
        theirs = asked(
            "nannyml",
            "nannyml_call.py",
            X=X,
            y=y,
            X_target=shift.X_target,
            predicted=model.predict(X),
            predicted_target=model.predict(shift.X_target),
            names=np.array(shift.feature_names),
        )
    except MissingPeerError as error:
        return left_out(f"NannyML is missing: {error}")
    estimate, diagnosis = ours(model, X, y, shift.X_target)
    best = estimate.best
    truth = float(np.mean((model.predict(shift.X_target) - shift.y_target) ** 2))
    names = list(shift.feature_names)
    moved = [
        names[k]
        for k, one in enumerate(diagnosis.features)
        if one.adjusted_p_value < 0.05
    ]
    rows = [
        ["source, as usually reported", estimate.source.value, None, None, "-"],
        [
            "NannyML",
            theirs["mse"],
            theirs["low"],
            theirs["high"],
            ", ".join(theirs["alerts"]),
        ],
        ["counterpoise", best.value, best.low, best.high, ", ".join(moved)],
        ["truth", truth, None, None, "-"],
    ]
    told = table(
        "Mean squared error on the clinic's rows",
        "who says so | value | low | high | columns that moved",
        rows,
    )
    inside = best.low <= truth <= best.high
    return {
        "table": told,
        "bars": [bar("the truth lies in our interval", float(inside), least=1.0)],
    }
