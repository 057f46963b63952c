"""Is kernel mean matching quick, and does it keep its bounds?

Whole fits at a given width. adapt solves the published problem (no ridge, slack
1 - 1/sqrt(n)) in one block; we solve the same, and our default. Values are squared
discrepancies of the kernel means, computed here for everybody alike.
"""

import numpy as np
import peers
from problems import SIGMA, gamma_of, gaussian_pair, nmse
from reporting import bar, left_out, table, timed

from counterpoise import KMM
from counterpoise.linalg.kernels import Kernel

BOUND = 1000.0


def run(quick: bool) -> dict:
    """Time KMM alone, against adapt, and against cvxpy."""
    rows, bars = [], []
    large = 1000 if quick else 5000
    row, ours = _fit("ours", 1, large)
    rows.append(row)
    bars.append(bar(f"KMM, d = 1, n = {large}, s", row[3], 0.5))
    bars.append(bar("KMM, bound and mean broken by", _outside(ours), 1e-9))
    n = 500 if quick else 2000
    default, ours = _fit("ours", 10, n)
    published, _ = _fit("ours, as published", 10, n, ridge=0.0, slack=_slack(n))
    rows += [default, published]
    bars.append(bar("KMM, d = 10, bound and mean broken by", _outside(ours), 1e-9))
    missing = {}
    try:
        theirs = _adapt(10, n)
        rows.append(theirs)
        for name, row in (("default", default), ("as published", published)):
            ratio = row[3] / theirs[3]
            if not quick:  # small problems hide the difference
                bars.append(bar(f"KMM {name} / adapt, d = 10, n = {n}", ratio, 0.2))
    except peers.MissingPeerError as error:
        missing["adapt"] = str(error)
        left_out(f"adapt is missing: {error}")
    shown = table(
        "Kernel mean matching, whole fits (CPU s)",
        "who | d | n | s | squared MMD | mean | largest | gap/scale | converged | NMSE",
        rows,
    )
    exact = _against_cvxpy()
    if exact is not None:
        bars.append(bar("KMM, value against cvxpy, off by", exact, 1e-6))
    return {"tables": [shown], "bars": bars, "missing": missing}


def _slack(n: int) -> float:
    return 1.0 - 1.0 / np.sqrt(n)


def _fit(who: str, d: int, n: int, **parameters) -> tuple[list, KMM]:
    shift = gaussian_pair(d, n, n, seed=0)
    kmm = KMM(
        gamma=gamma_of(SIGMA[d]),
        max_weight=BOUND,
        standardize=False,
        allow_no_overlap=True,
        **parameters,
    )
    seconds, _ = timed(lambda: kmm.fit(shift.X, X_target=shift.X_target), 3)
    proof = kmm.solution_.certificate
    row = _row(who, d, n, seconds, kmm.weights_, shift)
    judged = proof.gap / proof.scale, kmm.solution_.converged
    return [*row, *judged, nmse(kmm.weights_, shift.ratio)], kmm


def _adapt(d: int, n: int) -> list:
    shift = gaussian_pair(d, n, n, seed=0)
    answer = peers.ask(
        "adapt_kmm.py", source=shift.X, target=shift.X_target, sigma=SIGMA[d]
    )
    row = _row("adapt, one block", d, n, answer.seconds, answer.weights, shift)
    return [*row, None, None, nmse(answer.weights, shift.ratio)]


def _row(who, d, n, seconds, weights, shift) -> list:
    gamma, w = gamma_of(SIGMA[d]), weights / len(weights)
    squared = w @ Kernel("rbf", gamma).matrix(shift.X, shift.X) @ w
    squared -= 2.0 * (w @ Kernel("rbf", gamma).matrix(shift.X, shift.X_target)).mean()
    squared += Kernel("rbf", gamma).matrix(shift.X_target, shift.X_target).mean()
    mean, largest = float(weights.mean()), float(weights.max())
    return [who, d, n, seconds, float(squared), mean, largest]


def _outside(kmm: KMM) -> float:
    """Return how far the weights are from [0, bound] and from mean one."""
    w = kmm.weights_
    return float(max(-w.min(), w.max() - BOUND, abs(w.mean() - 1.0)))


def _against_cvxpy() -> float | None:
    """Return the difference in value from cvxpy's optimum of the same problem."""
    try:
        import cvxpy
    except ImportError:
        print("  cvxpy is not installed: values are not compared")
        return None
    shift, n, ridge = gaussian_pair(1, 200, 200, seed=0), 200, 1.0
    gamma = gamma_of(SIGMA[1])
    kmm = KMM(gamma=gamma, max_weight=3.0, alpha=ridge, standardize=False, tol=1e-9)
    kmm.fit(shift.X, X_target=shift.X_target)
    K = Kernel("rbf", gamma).matrix(shift.X, shift.X) + 1e-13 * np.eye(n)
    cross = Kernel("rbf", gamma).matrix(shift.X, shift.X_target).mean(axis=1)
    constant = Kernel("rbf", gamma).matrix(shift.X_target, shift.X_target).mean()
    v = cvxpy.Variable(n)
    value = cvxpy.quad_form(v, cvxpy.psd_wrap(K)) - 2 * cross @ v
    value += ridge * cvxpy.sum_squares(v)
    problem = cvxpy.Problem(
        cvxpy.Minimize(value), [v >= 0, v <= 3.0 / n, cvxpy.sum(v) == 1]
    )
    problem.solve(solver="CLARABEL")
    return abs(problem.value + constant - kmm.solution_.certificate.objective)
