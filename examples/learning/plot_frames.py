"""
Which two directions keep every pair of classes apart?
======================================================

And can more be had?
Seven classes in ten columns. LDA adds up all distances and lets near classes collapse;
max-min distance analysis looks at the nearest pair, with a bound that no subspace can
exceed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

from counterpoise.subspaces import (
    MaxMinDistanceAnalysis,
    OrthogonalProblem,
    solve_orthogonal,
)

rng = np.random.default_rng(1)
means = np.sqrt(2.0) * rng.standard_normal((7, 10))
y = np.repeat(np.arange(7), 100)
X, X_test = (means[y] + rng.standard_normal((700, 10)) for _ in range(2))

lda = LinearDiscriminantAnalysis(n_components=2).fit(X, y)
ours = MaxMinDistanceAnalysis(n_components=2).fit(X, y)
for name, method in (("LDA", lda), ("max-min", ours)):
    model = make_pipeline(method, NearestCentroid()).fit(X, y)
    print(f"{name}: error {1 - model.score(X_test, y):.1%}")
print(
    f"nearest pair {ours.min_distance_:.2f}, no subspace has {ours.bound_:.2f} or more"
)

# The same kind of problem with a constraint of one's own: keep half of the variance.
centered = X - X.mean(axis=0)
covariance = centered.T @ centered / len(X)
gaps = np.array([means[i] - means[j] for i in range(7) for j in range(i)])
problem = OrthogonalProblem(
    maximum=-gaps[:, :, None] * gaps[:, None, :],
    n_columns=4,
    constraints=[(-covariance, None, np.trace(covariance) / 2)],
)
solution = solve_orthogonal(problem, random_state=0)
kept = np.trace(solution.x.T @ covariance @ solution.x) / np.trace(covariance)
print(f"with {kept:.0%} of the variance kept: {solution}")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, (name, method) in zip(axes, (("LDA", lda), ("max-min", ours)), strict=True):
    axis.scatter(*method.transform(X_test).T, c=y, s=4, cmap="tab10")
    axis.set_title(name)
plt.show()
