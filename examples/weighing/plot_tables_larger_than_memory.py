"""
My table does not fit into memory: what now?
============================================

`Blocks` reads a table in pieces, again and again if need be. Weights are fitted to all
of its rows by sums over pieces, and are the same as in memory up to rounding.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import LogLinearKLIEP
from counterpoise.data import Blocks
from counterpoise.datasets import make_gaussian_shift

shift = make_gaussian_shift(3, n=20_000, m=20_000, random_state=0)
folder = Path(mkdtemp())
np.save(folder / "source.npy", shift.X)
np.save(folder / "target.npy", shift.X_target)

source = Blocks.from_arrays(folder / "source.npy", rows=3_000)
target = Blocks.from_arrays(folder / "target.npy", rows=3_000)
by_blocks = LogLinearKLIEP(random_state=0).fit(source, X_target=target)
in_memory = LogLinearKLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)

apart = np.abs(by_blocks.weights_ - in_memory.weights_).max()
print(f"{len(shift.X)} rows in pieces of 3,000: largest difference {apart:.1e}")

some = np.arange(0, len(shift.X), 20)
truth = shift.ratio / shift.ratio.mean()
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.scatter(truth[some], by_blocks.weights_[some], s=5, alpha=0.5)
ax.plot([0, truth.max()], [0, truth.max()], color="0.3", linewidth=1)
ax.set(xlabel="true ratio", ylabel="weight by blocks")
plt.show()
