"""
Which solver should I use?
==========================

Compare them at equal proof, not at equal say-so.
Every solver gets the same problem, the mixture likelihood behind KLIEP, and a second;
what is printed is what the problem proves about the point that each returns.
"""

import matplotlib.pyplot as plt

from counterpoise.datasets import make_gaussian_shift
from counterpoise.linalg.kernels import Kernel, median_distance
from counterpoise.optim import (
    Conic,
    Corrective,
    FrankWolfe,
    MixtureLikelihood,
    ProjectedGradient,
    ProximalGradient,
    solve,
)

shift = make_gaussian_shift(10, n=300, m=300, random_state=0)
gamma = 0.5 / (0.3 * median_distance(shift.X_target)) ** 2
kernel = Kernel("rbf", gamma)
source_mean = kernel.matrix(shift.X, shift.X_target).mean(axis=0)
problem = MixtureLikelihood(kernel.matrix(shift.X_target, shift.X_target) / source_mean)

solvers = {
    "Frank-Wolfe": FrankWolfe("plain"),
    "  with away steps": FrankWolfe("away"),
    "  pairwise": FrankWolfe("pairwise"),
    "projected gradient": ProjectedGradient(),
    "accelerated gradient": ProximalGradient(),
    "Clarabel": Conic(),
    "corrective": Corrective(),
}
solve(problem)  # compile first
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, solver in solvers.items():
    solution = solve(problem, solver, tol=1e-6, max_time=1.0, max_iter=100_000)
    print(
        f"{name:<21} {solution.seconds:6.3f} s {solution.n_iter:6d} steps "
        f"gap {solution.certificate.gap:.1e} atoms {(solution.x > 1e-9).sum():4d}"
        f"{'' if solution.converged else '  not converged'}"
    )
    steps = [(max(one.seconds, 1e-5), max(one.gap, 1e-9)) for one in solution.history]
    ax.loglog(*zip(*steps, strict=True), ".-", label=name.strip())
ax.set(xlabel="seconds", ylabel="proved gap (nats)")
ax.legend(fontsize=8)
plt.show()
