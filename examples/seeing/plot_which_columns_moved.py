"""
Which columns have moved?
=========================

Every column by itself, on one scale: standard deviations, whatever it holds. Distances
of distributions and shares of missing values are put on that scale too, so that a
column that widened stands beside one that moved.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import diagnose

rng = np.random.default_rng(0)
names = ["age", "income", "visits", "height", "pressure"]
X = rng.normal(size=(800, 5))
X_target = rng.normal(size=(600, 5))
X_target[:, 0] += 0.6  # moved
X_target[:, 1] *= 2.0  # widened
X_target[rng.random(600) < 0.3, 2] = np.nan  # often missing

try:
    import pandas as pd

    X, X_target = (pd.DataFrame(rows, columns=names) for rows in (X, X_target))
except ImportError:
    print("without pandas the columns are x0, x1 and so on")

found = diagnose(X, X_target, random_state=0)
print(found)

ordered = sorted(found.features, key=lambda one: one.effect)
labels = [one.name for one in ordered]
colors = ["tab:red" if one.adjusted_p_value < 0.05 else "0.6" for one in ordered]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.barh(labels, [one.effect for one in ordered], color=colors)
ax.axvline(0.1, color="0.3", linestyle=":")
ax.set_xlabel("effect, in standard deviations (red: p < 0.05 after Holm)")
plt.show()
