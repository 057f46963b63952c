"""
Who says that a solver has converged?
=====================================

The problem does, whoever searched.
A point from scipy, one from a rule of thumb and one from our solver are judged by the
same proof: a bound on how far each is from the optimum, computed from the point alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from counterpoise.datasets import make_sinc_shift
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import MixtureLikelihood, solve

shift = make_sinc_shift(random_state=0)
gamma = 0.5 / 0.2**2
kernel = Kernel("rbf", gamma)
source_mean = kernel.matrix(shift.X, shift.X_target).mean(axis=0)
problem = MixtureLikelihood(kernel.matrix(shift.X_target, shift.X_target) / source_mean)


def softmax(v):
    e = np.exp(v - v.max())
    return e / e.sum()


def value(v):
    return problem.objective.value(softmax(v))


def slope(v):
    x = softmax(v)
    g = problem.objective.gradient(x)
    return x * (g - x @ g)


n = problem.domain.size
points = {
    "uniform mixture": np.full(n, 1 / n),
    "scipy, L-BFGS": softmax(minimize(value, np.zeros(n), jac=slope).x),
    "counterpoise": solve(problem).x,
}
figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
for name, x in points.items():
    proof = problem.certify(x)
    print(
        f"{name:<16} objective {proof.objective:.8f}, at most {proof.gap:.1e} too high"
    )
    ax.barh(name, max(proof.gap, 1e-12), color="tab:blue")
ax.set(xscale="log", xlabel="at most so far from the optimum (nats), by proof")
plt.show()
