"""
Where do nine answers out of ten lie?
=====================================

Quantiles of the answer, not its mean, by one exact path: the machine at every quantile
between 5 % and 95 % costs little more than the machine at one.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.svm import KernelQuantileRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, size=(300, 1)), axis=0)
y = np.sin(X[:, 0]) + rng.normal(size=300) * (0.1 + 0.1 * X[:, 0])

model = KernelQuantileRegressor(quantile=0.05, C=5.0, gamma=0.5).fit(X, y)
path = model.path(quantiles=(0.05, 0.95))
print(f"{path.n_events} events between 5 % and 95 %, proof: {path.certify()}")

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.scatter(X[:, 0], y, s=6, color="0.6")
for tau in (0.05, 0.25, 0.5, 0.75, 0.95):
    line = path.at(tau).predict(X)
    below = np.mean(y <= line)
    print(f"tau {tau}: {below:.1%} of the rows lie on or below")
    ax.plot(X[:, 0], line, label=f"{tau:.0%}")
ax.legend(ncols=5)
plt.show()
