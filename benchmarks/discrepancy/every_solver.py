"""Does every solver that has a name run at 400 rows in 200 columns, and what proves it?

`DiscrepancyWeights` on the thesis's artificial domains, 100 source and 300 target rows.
A solver that stops short reports its certified gap; "sdp" refuses beforehand.
"""

import time

from domains import artificial_domains
from reporting import bar, table

from counterpoise import DiscrepancyWeights

NAMES = (
    "auto",
    "interior-point",
    "column-generation",
    "subspace",
    "smoothing",
    "multiplicative-weights",
    "subgradient",
    "frobenius",
    "sdp",
)


def run(quick):
    """Fit with every solver."""
    budget = 2.0 if quick else 10.0
    X, T = artificial_domains(100, 300)
    rows, refused = [], 0
    for name in NAMES:
        weight_estimator = DiscrepancyWeights(
            solver=name,
            spread=0.0,
            standardize=False,
            add_constant=False,
            tol=1e-3,
            max_iter=10**9,
            callback=_until(budget),
        )
        began = time.process_time()
        try:
            weight_estimator.fit(X, X_target=T)
        except ValueError as refusal:
            refused += name == "sdp"
            print(f"  {name} refuses: {refusal}")
            rows.append([name, None, None, None, None, "refused"])
            continue
        proof = weight_estimator.solution_.certificate
        rows.append(
            [
                name,
                time.process_time() - began,
                proof.objective,
                proof.bound,
                proof.gap / proof.scale,
                weight_estimator.solution_.ended,
            ]
        )
    shown = table(
        f"100 + 300 rows, 200 columns, budget {budget:g} CPU s",
        "solver | s | norm | lower bound | gap | ended",
        rows,
    )
    ran = [row for row in rows if row[1] is not None]
    lowest = min(row[2] for row in ran)
    bars = [
        bar("solvers that ran", len(ran), least=len(NAMES) - 1),
        bar("sdp refused", refused, least=1),
        bar("most CPU s", max(row[1] for row in ran), most=1.5 * budget),
        bar("bounds above a norm", sum(row[3] > lowest for row in ran), most=0),
    ]
    return {"tables": [shown], "bars": bars}


def _until(budget):
    """Return a callback that ends a search after so many CPU seconds."""
    began = []

    def over(progress):
        began.append(time.process_time())
        return began[-1] - began[0] > budget

    return over
