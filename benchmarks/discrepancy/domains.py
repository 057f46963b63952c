"""The samples that the questions are asked of."""

import os
from pathlib import Path

import numpy as np


def artificial_domains(m, n, N=200, seed=0):
    """The domains of Alvarez Melis (2013), chapter 6: source rows and target rows.

    The target is N(mu, I) with mu uniform in [-1, 1]^N; a source row is drawn from it
    with probability 0.2, otherwise from one of N such Gaussians.
    """
    rng = np.random.default_rng(seed)
    target_mean = rng.uniform(-1, 1, N)
    means = rng.uniform(-1, 1, (N, N))
    T = target_mean + rng.standard_normal((n, N))
    from_target = rng.random(m) < 0.2
    centers = means[rng.integers(0, N, m)]
    centers[from_target] = target_mean
    return centers + rng.standard_normal((m, N)), T


def response(X):
    """The function that the thesis learns."""
    return np.abs(X).sum(axis=1)


def folder():
    """Return the folder with real data, None if nobody has named it."""
    named = os.environ.get("COUNTERPOISE_DATA")
    return Path(named) if named else None


def reviews():
    """Return counts of 5,000 uni- and bigrams, stars, domains and their names."""
    from scipy import sparse

    with np.load(folder() / "amazon_reviews" / "stars_unibigram5000.npz") as stored:
        X = sparse.csr_matrix(
            (stored["data"].astype(float), stored["indices"], stored["indptr"]),
            shape=tuple(stored["shape"]),
        )
        stars, domain = stored["rating"].astype(float), stored["domain"]
        names = [str(name) for name in stored["domain_names"]]
    return X, stars, domain, names
