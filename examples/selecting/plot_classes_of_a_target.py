"""
Which classes does my unlabeled target hold?
============================================

The source has ten kinds of digits, the target four. A classifier spreads the target
over all ten; few classes that explain it, alike in neighbors, are found by one convex
problem, and its labels are better than the classifier's.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from counterpoise.selection import select_classes

X, y = load_digits(return_X_y=True)
X = X / 16.0
rng = np.random.default_rng(0)
source = np.arange(len(X)) < 900
target = ~source & np.isin(y, (0, 3, 4, 8))
# The target was written with a thicker pen, and scanned with noise.
thick = np.clip(1.4 * X[target] + 0.25 * rng.normal(size=X[target].shape), 0.0, 1.0)

classifier = LogisticRegression(max_iter=500)
found = select_classes(X[source], y[source], thick, estimator=classifier)
alone = classifier.fit(X[source], y[source]).predict(thick)

print("present:", found.classes[found.present])
print("shares: ", found.shares.round(2))
print(f"classifier alone finds {len(np.unique(alone))} classes")
print(
    f"labels right: classifier {np.mean(alone == y[target]):.3f}, "
    f"with the classes chosen {np.mean(found.labels == y[target]):.3f}"
)
print(found.solution)

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
true = [np.mean(y[target] == digit) for digit in found.classes]
counted = [np.mean(alone == digit) for digit in found.classes]
for k, (name, shares) in enumerate(
    {"true": true, "classifier": counted, "selection": found.shares}.items()
):
    ax.bar(np.arange(10) + 0.27 * k, shares, 0.25, label=name)
ax.set(xlabel="digit", ylabel="share of the target", xticks=range(10))
ax.legend()
plt.show()
