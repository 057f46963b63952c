"""What do adapt's KLIEP and ours make of one shift, and of a line fitted with them?

A straight line through a curve; the true ratio is known. adapt 0.4.5 with its own
choice among three widths, ours with its own.
"""

import numpy as np
from environments import MissingPeerError
from ours_weights import ours
from reporting import bar, left_out, table
from rows_for_all import asked, curve

PEER, SCRIPT = "adapt", "adapt_call.py"


def run(quick: bool) -> dict:
    return compared(PEER, SCRIPT)


def compared(peer: str, script: str) -> dict:
    """Return errors of a peer's weights and line beside ours and the plain line's."""
    shift = curve()
    rows = {"X": shift.X, "y": shift.y, "X_target": shift.X_target}
    truth = shift.ratio / shift.ratio.mean()
    try:
        theirs = asked("weights", script, y_target=shift.y_target, **rows)
    except MissingPeerError as error:
        return left_out(f"{peer} is missing: {error}")
    model, weights = ours(shift.X, shift.y, shift.X_target)
    plain = np.polynomial.Polynomial.fit(shift.X[:, 0], shift.y, 1)
    wrong = {
        "unweighted": plain(shift.X_target[:, 0]),
        "counterpoise": model.predict(shift.X_target),
    }
    errors = {
        name: float(np.mean((values - shift.y_target) ** 2))
        for name, values in wrong.items()
    }
    found = np.array(theirs["weights"])
    shown = [
        ["unweighted", errors["unweighted"], float(np.mean((1.0 - truth) ** 2)), 1.0],
        [peer, theirs["error"], _off(found, truth), float(found.mean())],
        ["counterpoise", errors["counterpoise"], _off(weights, truth), 1.0],
    ]
    told = table(
        f"{peer} and counterpoise on one shift",
        "library | error on the target | mean squared error of weights | mean weight",
        shown,
    )
    return {
        "table": told,
        "bars": [
            bar("our weights' error / theirs", shown[2][2] / shown[1][2], most=1.0)
        ],
    }


def _off(weights, truth) -> float:
    return float(np.mean((weights / np.mean(weights) - truth) ** 2))
