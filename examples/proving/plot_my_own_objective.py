"""
Can I minimize my own function with a proof?
============================================

Write its value and its gradient.
The logistic loss over the simplex, checked by `check_objective` and solved by two
methods that need no more than that.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.optim import (
    Constrained,
    FrankWolfe,
    Objective,
    ProjectedGradient,
    Simplex,
    solve,
)
from counterpoise.testing import check_objective, feasible_points


class LogisticLoss(Objective):
    """The mean of log(1 + exp(-y a'x)) over rows a with labels y."""

    def __init__(self, rows, labels):
        self.signed = rows * labels[:, None]

    def value(self, x):
        return float(np.logaddexp(0.0, -self.signed @ x).mean())

    def gradient(self, x):
        chance = 1.0 / (1.0 + np.exp(self.signed @ x))
        return -(chance @ self.signed) / len(self.signed)


rng = np.random.default_rng(0)
rows = rng.standard_normal((200, 10))
labels = np.sign(rows @ rng.standard_normal(10))
loss = LogisticLoss(rows, labels)
check_objective(loss, feasible_points(Simplex(10), 12))

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for solver in (FrankWolfe("away", "armijo"), ProjectedGradient()):
    solution = solve(Constrained(loss, Simplex(10)), solver, tol=1e-6)
    print(f"{type(solver).__name__}: {solution}")
    gaps = [max(one.gap, 1e-12) for one in solution.history]
    ax.semilogy(gaps, label=type(solver).__name__)
ax.set(xlabel="step", ylabel="proved gap")
ax.legend()
plt.show()
