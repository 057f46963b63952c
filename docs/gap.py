"""Draw docs/gap.svg: the proved gap against time, for five solvers of one problem.

OMP_NUM_THREADS=1 .venv/bin/python docs/gap.py      (needs the extra `report`)
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from counterpoise.datasets import make_gaussian_shift
from counterpoise.linalg.kernels import Kernel, median_distance
from counterpoise.optim import (
    Corrective,
    FrankWolfe,
    MixtureLikelihood,
    ProjectedGradient,
    solve,
)

mpl.rcParams.update({"svg.hashsalt": "0", "svg.fonttype": "none"})
SOLVERS = {
    "Frank-Wolfe": FrankWolfe("plain"),
    "away steps": FrankWolfe("away"),
    "pairwise": FrankWolfe("pairwise"),
    "projected gradient": ProjectedGradient(),
    "corrective (default)": Corrective(),
}
shift = make_gaussian_shift(10, n=1000, m=1000, random_state=0)
gamma = 0.5 / (0.3 * median_distance(shift.X_target)) ** 2
kernel = Kernel("rbf", gamma)
scale = kernel.matrix(shift.X, shift.X_target).mean(axis=0)
problem = MixtureLikelihood(kernel.matrix(shift.X_target, shift.X_target) / scale)
solve(problem)  # compile first

figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
for name, solver in SOLVERS.items():
    found = solve(problem, solver, tol=1e-9, max_time=5.0, max_iter=10**6)
    lines = np.array([(max(line.seconds, 1e-5), line.gap) for line in found.history])
    some = np.unique(np.geomspace(1, len(lines), 150).astype(int) - 1)
    shown = lines[some][lines[some, 1] > 1e-11]
    ax.loglog(*shown.T, label=name, linewidth=2.0 if "default" in name else 1.2)
ax.set_xlabel("seconds")
ax.set_ylabel("proved gap (nats)")
ax.legend(frameon=False, fontsize=8)
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_name("gap.svg"), metadata={"Date": None})
