"""Which penalty does a grid search take on source folds, and which for the target?

The curve with a shift: scikit-learn's search scores on source folds; with `Adapted` and
`target_scorer` it scores for the target. Errors on labels that neither has seen.
"""

import numpy as np
from ours_search import ours, plain
from reporting import bar, table
from rows_for_all import curve


def run(quick: bool) -> dict:
    shift = curve()
    rows = []
    for name, search in (
        ("scikit-learn", plain(shift.X, shift.y)),
        ("with counterpoise", ours(shift.X, shift.y, shift.X_target)),
    ):
        (alpha,) = search.best_params_.values()
        away = search.predict(shift.X_target) - shift.y_target
        rows.append([name, alpha, -search.best_score_, float(np.mean(away**2))])
    told = table(
        "A grid search, and the same for the target",
        "script | alpha | squared error it expects | squared error on the target",
        rows,
    )
    return {"table": told, "bars": [bar("ours / theirs", rows[1][3] / rows[0][3], 1.0)]}
