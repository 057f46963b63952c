"""The rows that the questions are asked of."""

import os
from pathlib import Path

import numpy as np


def covariate_shift(n, d=4, n_val=273, seed=0):
    """Two overlapping Gaussian classes, the target shifted and narrower.

    Weights are the true density ratio, mean one; columns are scaled to [0, 1].
    """
    rng = np.random.default_rng(seed)
    mean = np.zeros(d)
    mean[:2] = 0.7, 0.35
    S = 0.4 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    L = np.linalg.cholesky(S)
    shift = np.zeros(d)
    shift[0], shift[2] = 0.4, -0.6
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = y[:, None] * mean + rng.standard_normal((n, d)) @ L.T
    y_val = np.where(rng.random(n_val) < 0.5, 1, -1)
    noise = 0.9 * rng.standard_normal((n_val, d)) @ L.T
    X_val = y_val[:, None] * mean + shift + noise

    def density(Z, offset, scale):
        inverse = np.linalg.inv(S * scale**2)
        total = 0.0
        for sign in (1, -1):
            D = Z - sign * mean - offset
            total = total + np.exp(-0.5 * np.einsum("ij,jk,ik->i", D, inverse, D))
        return total / scale**d

    w = density(X, shift, 0.9) / density(X, 0 * shift, 1.0)
    low, high = X.min(0), X.max(0)
    span = high - low
    return (X - low) / span, y, w / w.mean(), (X_val - low) / span, y_val


def folder():
    """Return the folder with real data, None if nobody has named it."""
    named = os.environ.get("COUNTERPOISE_DATA")
    return Path(named) if named else None


def nasdaq():
    """Features of Cao and Tay (2003): close - EMA15 and relative differences.

    The label is whether the mean of the next five closes is above the present one.
    """
    path = folder() / "nasdaq" / "ixic_2001_2009.csv"
    close = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=4)
    average = close.copy()
    for i in range(1, len(close)):
        average[i] = close[i] / 8.0 + average[i - 1] * 7.0 / 8.0
    columns = [close - average]
    for lag in (5, 10, 15, 20):
        change = np.full(len(close), np.nan)
        change[lag:] = 100 * (close[lag:] - close[:-lag]) / close[:-lag]
        columns.append(change)
    X = np.stack(columns, 1)
    ahead = np.full(len(close), np.nan)
    ahead[:-5] = [close[i + 1 : i + 6].mean() for i in range(len(close) - 5)]
    keep = ~np.isnan(X).any(1) & ~np.isnan(ahead)
    X, y = X[keep], np.where(ahead > close, 1, -1)[keep]
    return (X - X.min(0)) / np.ptp(X, axis=0), y


def boston():
    """Boston housing: inputs in [-1, 1], the target standardized."""
    path = folder() / "boston_housing" / "boston_housing.csv"
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    X, y = table[:, :13], table[:, 13]
    X = -1.0 + 2.0 * (X - X.min(0)) / np.ptp(X, axis=0)
    return X, (y - y.mean()) / y.std()
