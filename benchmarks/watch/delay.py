"""Something changes at chunk 50: how long until the alert?"""

import numpy as np
from reporting import bar, table

from counterpoise.monitor.evidence import InputsEvidence, RiskEvidence
from counterpoise.monitor.results import SHARE_OF_ALARM

ALARM, REFERENCE, ROWS, CHANGE, MOST = 0.05, 5_000, 500, 50, 200
NEVER = 10**6


def rows_until_inputs(shift: float, seed: int, change: int) -> int:
    """Return after how many rows, in whole chunks, a shift of a column is found."""
    rng = np.random.default_rng(seed)
    evidence = InputsEvidence(rng.standard_normal((REFERENCE, 10)), seed)
    needed = np.log(1 / (ALARM * SHARE_OF_ALARM["inputs"]))
    for t in range(change + 20):
        X = rng.standard_normal((ROWS, 10))
        X[:, 3] += shift if t >= change else 0.0
        evidence.add(X)
        if evidence.log_e >= needed:
            return (t - change + 1) * ROWS
    return NEVER


def chunks_until_risk(after: float, seed: int, change: int, labeled: int) -> int:
    """Return after how many chunks an error rate of 0.15 is found to have risen."""
    rng = np.random.default_rng(seed)

    def wrong(n: int, p: float) -> np.ndarray:
        return (rng.random(n) < p).astype(float)

    evidence = RiskEvidence(wrong(REFERENCE, 0.15), lambda mean: mean)
    needed = np.log(1 / (ALARM * SHARE_OF_ALARM["risk"]))
    for t in range(change + MOST):
        evidence.add(wrong(labeled, 0.15 if t < change else after))
        if evidence.log_e >= needed:
            return t - change + 1
    return NEVER


def run(quick: bool) -> dict:
    """Return medians and shares, and whether they keep their bars."""
    few, many = (10, 20) if quick else (60, 300)
    told, bars = [], []
    for shift, most in ((0.5, ROWS), (0.25, 1_500)):
        for change in (0, CHANGE):
            found = np.array([rows_until_inputs(shift, s, change) for s in range(few)])
            found[found <= 0] = NEVER
            name = f"a column by {shift} sd at chunk {change}"
            told.append((name, np.median(found), found.max(), np.mean(found < NEVER)))
            bars.append(bar(f"rows until {name}, median", np.median(found), most))
    for after, labeled, most in (
        (0.20, 50, 36), (0.30, 50, 7), (0.20, 500, None), (0.30, 500, None),
    ):  # fmt: skip
        for change in (0, CHANGE):
            found = np.array(
                [chunks_until_risk(after, s, change, labeled) for s in range(many)]
            )
            false = float(np.mean(found <= 0))
            found[found <= 0] = NEVER
            name = f"error .15 -> {after} with {labeled} labels a chunk at {change}"
            share = float(np.mean(found <= MOST))
            told.append((name, np.median(found), np.quantile(found, 0.9), share))
            if most is not None:
                bars.append(bar(f"chunks until {name}, median", np.median(found), most))
                bars.append(bar(f"found in {MOST} chunks, {name}", share, None, 0.97))
                bars.append(bar(f"alerts before, {name}", false, 0.02))
    header = "change | median | nine tenths or most | found"
    return {"bars": bars, "table": table("rows or chunks until an alert", header, told)}
