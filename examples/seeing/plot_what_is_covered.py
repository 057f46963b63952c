"""
Where can nothing be said?
==========================

Weights and estimates speak for that part of the new data that the training data cover.
Here the target has a cluster of its own, and there is a hole in the middle of the
source: `overlap` finds both, and `diagnose` describes the rows without showing any.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import diagnose

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(1500, 2))
X = X[(np.abs(X - 0.2) > 0.25).any(axis=1)]  # nobody was measured here
X_target = rng.uniform(-1, 1, size=(700, 2))
X_target[:100] = rng.normal((1.8, -0.5), 0.15, size=(100, 2))

found = diagnose(X, X_target, random_state=0)
print(found.verdict)
print(
    f"thin: {found.uncovered_fraction:.1%}, between {found.uncovered_fraction_low:.1%} "
    f"and {found.uncovered_fraction_high:.1%}"
)
for column in found.uncovered_rows.columns:
    print(f"  {column.name}: {column.low:.2f} to {column.high:.2f}")
print(found.uncovered_rows.note)

overlap = found.overlap
shown = X_target[overlap.rows_target]
uncovered_fraction = (overlap.scores_target > overlap.threshold) | overlap.in_hole
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.scatter(*X.T, s=4, color="0.75", label="training rows")
ax.scatter(
    *shown[~uncovered_fraction].T, s=7, color="tab:blue", label="new rows, covered"
)
ax.scatter(
    *shown[uncovered_fraction].T,
    s=12,
    color="tab:red",
    label="new rows, hardly covered",
)
ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
ax.set_aspect("equal")
plt.show()
