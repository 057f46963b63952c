"""The first solution of a machine: from nothing, or made exact from LIBSVM's."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from counterpoise.convex.quadratic_path import (
    DenseRows,
    Follower,
    WorkSpentError,
    centre_bias,
    crossover,
    from_zero,
)
from counterpoise.learners.svm.machine import Machine
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.validation.warning import held_back

# From this bound on, and up to this number of rows, opening the boxes from nothing is
# quicker than LIBSVM and a crossover.
LARGE_C, ROWS_FROM_ZERO = 1000.0, 500
# Steps of LIBSVM a row; a coarse answer only costs the crossover some events more.
STEPS_A_ROW = 200
# Multiplications that opening the boxes may cost, in units of the rows squared, before
# LIBSVM is asked after all: those of its steps, two kernel rows each. A kernel so
# narrow that most rows end on the margin spends them.
WORTH = 2.0 * STEPS_A_ROW


def start(
    machine: Machine,
    kernel: Kernel,
    X: Array,
    p: Array,
    c: Array,
    tol: float,
    epsilon: float | None = None,
    y: Array | None = None,
) -> None:
    """Solve a classifier, or a regressor (`epsilon` and `y` given), exactly.

    `c` are the weight bounds of all training rows, X the machine's own rows.
    """
    follower = machine.follower
    lower, upper = machine.box(c)
    dense = isinstance(follower.rows, DenseRows)
    n = follower.rows.size
    few = n <= ROWS_FROM_ZERO
    solved = False
    if dense and (few or float(upper.max()) >= LARGE_C):
        budget = None if few else WORTH * n**2
        solved = _opened(follower, p, lower, upper, budget)
    if not solved:
        own = c[machine.rows]
        used = np.flatnonzero(own > 0.0)
        target = follower.variables.sign[:n] if y is None else y
        model = _libsvm(
            follower, kernel, X, used, target[used], own[used], tol, epsilon
        )
        a = np.zeros(upper.size)
        found = model.dual_coef_[0]
        if epsilon is None:
            a[used[model.support_]] = np.abs(found)
        elif not machine.twice:
            a[used[model.support_]] = found
        else:
            a[used[model.support_]] = np.maximum(found, 0.0)
            a[n + used[model.support_]] = np.maximum(-found, 0.0)
        crossover(follower, a, float(model.intercept_[0]), p, lower, upper)
    centre_bias(follower)


def _opened(
    follower: Follower, p: Array, lower: Array, upper: Array, max_work: float | None
) -> bool:
    """Open the boxes from nothing; False if that costs more than it may."""
    try:
        from_zero(follower, p, lower, upper, max_work=max_work)
    except WorkSpentError:
        return False
    return True


def _libsvm(
    follower: Follower,
    kernel: Kernel,
    X: Array,
    used: Any,
    target: Array,
    c: Array,
    tol: float,
    epsilon: float | None,
) -> Any:
    dense = isinstance(follower.rows, DenseRows)
    if dense:
        data = follower.rows.block(used, used)
        chosen: dict[str, Any] = {"kernel": "precomputed"}
    else:
        data = X[used]
        chosen = {
            "kernel": kernel.kind,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }
    chosen |= {"tol": tol, "C": 1.0, "max_iter": STEPS_A_ROW * used.size}
    model = SVC(**chosen) if epsilon is None else SVR(epsilon=epsilon, **chosen)
    with held_back(ConvergenceWarning):
        return model.fit(data, target, sample_weight=c)
