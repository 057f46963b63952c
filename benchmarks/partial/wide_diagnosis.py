"""What does `diagnose` cost on 1,280 columns, with 1,000 rows a side?"""

import numpy as np
from domains import office
from reporting import bar, table, timed

from counterpoise import diagnose


def run(quick: bool) -> dict:
    n = 200 if quick else 1000
    both = office("webcam")[0], office("dslr")[0]
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2 * n, 1280))
    pairs = {
        "features of two domains": (office("amazon")[0][:n], np.vstack(both)[:n]),
        "noise, nothing shifted": (noise[:n], noise[n:]),
    }
    diagnose(noise[:50, :5], noise[50:100, :5], random_state=0)
    rows, bars = [], []
    for name, (X, X_target) in pairs.items():
        seconds, found = timed(
            lambda X=X, T=X_target: diagnose(X, T, random_state=0), calls=3, most=9.0
        )
        rows.append([name, X.shape[1], len(X), seconds, found.auc, found.verdict])
        bars.append(bar(f"{name}: CPU s", seconds, 3.0))
    header = "samples | columns | rows a side | CPU s | AUC | verdict"
    return {"tables": [table("diagnose on wide tables", header, rows)], "bars": bars}
