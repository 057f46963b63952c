"""
Which rows should I have labeled?
=================================

There is money for eight labels. Chance puts them where there are labels already;
`select_rows_to_label` puts them where the source is thin and the target is not, and
never two side by side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from counterpoise import select_rows_to_label

rng = np.random.default_rng(2)
X = rng.normal((-0.8, 0.0), (0.7, 1.0), size=(300, 2))
X_target = rng.normal((0.6, 0.0), (0.9, 1.0), size=(400, 2))


def label(rows):
    return np.sin(2 * rows[:, 0]) + 0.3 * rows[:, 1]


def error(model):
    return float(np.mean((model.predict(X_target) - label(X_target)) ** 2))


model = KNeighborsRegressor(5).fit(X, label(X))
asked = select_rows_to_label(model, X, X_target, 8, random_state=0)
drawn = rng.choice(len(X_target), 8, replace=False)
print(f"squared error on the target: {error(model):.3f} with no new label")
for name, rows in (("by chance", drawn), ("where it tells most", asked)):
    more = np.vstack([X, X_target[rows]])
    print(f"  {name}: {error(model.fit(more, label(more))):.3f}")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.scatter(*X.T, s=8, color="0.75", label="labeled")
ax.scatter(*X_target.T, s=8, color="tab:blue", alpha=0.4, label="new rows")
ax.scatter(*X_target[asked].T, s=70, color="tab:red", marker="*", label="to label")
ax.legend()
plt.show()
