"""The ways to a subspace that are compared, and how one is judged."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from counterpoise.subspaces import MaxMinDistanceAnalysis

# The sequence of semidefinite programs of Bian and Tao is not described where we
# could read it: the Fantope relaxation, its top eigenvectors and MM stand in for it.
STAND_IN = "Fantope stand-in for the SDP sequence"


def methods(m, shrinkage=0.0):
    def ours(**how):
        return MaxMinDistanceAnalysis(m, shrinkage=shrinkage, random_state=0, **how)

    return {
        "PCA": PCA(m, random_state=0),
        "LDA": Discriminants(m, shrinkage),
        STAND_IN: ours(solver="fantope"),
        "SPR-S": ours(solver="relaxation"),
        "SPR-Q": ours(solver="relaxation", relaxation="parabolic"),
        "softmin + polar": ours(),
    }


class Discriminants:
    """Linear discriminants with the same ridge on the covariance within classes."""

    def __init__(self, m, shrinkage):
        self.m, self.shrinkage = m, shrinkage

    def fit(self, X, y):
        if not self.shrinkage:
            self.inner = LinearDiscriminantAnalysis(n_components=self.m).fit(X, y)
            return self
        classes, at = np.unique(y, return_inverse=True)
        means = np.array([X[at == k].mean(axis=0) for k in range(len(classes))])
        rest = X - means[at]
        within = rest.T @ rest / len(X)
        within += self.shrinkage * np.trace(within) / len(within) * np.eye(len(within))
        values, vectors = np.linalg.eigh(within)
        whiten = vectors / np.sqrt(values)
        first, second = np.triu_indices(len(classes), 1)
        pairs = (means[first] - means[second]) @ whiten
        self.inner = None
        self.map = whiten @ np.linalg.svd(pairs, full_matrices=False)[2][: self.m].T
        return self

    def transform(self, X):
        return X @ self.map if self.inner is None else self.inner.transform(X)


def error_of_nearest_mean(train, y, test, y_test):
    """Return per cent of test rows whose nearest class mean is another class's."""
    classes = np.unique(y)
    means = np.array([train[y == k].mean(axis=0) for k in classes])
    squares = ((test[:, None] - means[None]) ** 2).sum(axis=2)
    return 100.0 * float((classes[squares.argmin(axis=1)] != y_test).mean())
