"""
Which few rows stand for all, and could others do better?
=========================================================

Ten of 360 handwritten digits are to stand for all. The choice comes with a bound that
no choice of ten goes below, so that one knows when to stop looking.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from counterpoise.selection import select_prototypes

X, y = load_digits(return_X_y=True)
X, y = X[:360], y[:360]

found = select_prototypes(X, 10)
print(f"mean squared distance {found.cost:.1f}, no ten go below {found.bound:.1f}")
shown = sorted(y[found.indices].tolist())
print(f"at most {found.ratio - 1:.2%} above the best; digits {shown}")

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
for ax, row, place in zip(axes.flat, found.indices, range(10), strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"stands for {(found.labels == place).sum()}", fontsize=9)
    ax.axis("off")
plt.show()
