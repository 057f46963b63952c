"""Probabilities made right on the average, and how far off they are."""

import numpy as np
from scipy.special import xlogy

from counterpoise.convex import Newton, solve
from counterpoise.convex.objectives import LogisticLoss
from counterpoise.convex.problems import Smooth
from counterpoise.numerics.arrays import Array, Indices

# Separable scores have no best slope; so small a ridge changes no other.
SEPARABLE_RIDGE = 1e-9
# Where all weight is on one side of a fold, the odds of the other are no smaller.
LEAST_PRIOR = 1e-12


def log_loss(p: Array, labels: Array, weights: Array) -> float:
    """Return the mean log loss of probabilities, in nats."""
    each = xlogy(labels, p) + xlogy(1 - labels, 1.0 - p)
    return -float(weights @ each) / float(weights.sum())


def calibration_line(scores: Array, labels: Array, weights: Array) -> Array:
    """Return slope and intercept of the logistic regression of labels on scores.

    A slope below zero, which held-out scores have by chance where nothing tells the
    samples apart, is zero, with the intercept that fits then.
    """
    mass = weights / weights.sum()
    prior = min(max(float(mass @ labels), LEAST_PRIOR), 1.0 - LEAST_PRIOR)
    flat = np.array([0.0, np.log(prior / (1.0 - prior))])
    center = float(mass @ scores)
    spread = float(np.sqrt(mass @ (scores - center) ** 2))
    if not spread > 1e-12 * max(1.0, abs(center)):
        return flat
    Z = np.column_stack([(scores - center) / spread, np.ones_like(scores)])
    problem = Smooth(LogisticLoss(Z, labels, mass, SEPARABLE_RIDGE), flat)
    found = solve(problem, Newton(), tol=1e-24, max_iter=99).x
    # One step more costs next to nothing and takes the last digits in.
    gradient = problem.objective.gradient(found)
    theta = found + problem.objective.direction(found, gradient)
    slope = theta[0] / spread
    return flat if slope <= 0.0 else np.array([slope, theta[1] - slope * center])


def calibrated_by_others(
    scores: Array, labels: Array, weights: Array, fold: Indices, n_folds: int
) -> tuple[Array, Array]:
    """Return the line of all rows, and every score by the line of the other folds."""
    out = np.empty_like(scores)
    for k in range(n_folds):
        rest, left = fold != k, fold == k
        slope, intercept = calibration_line(scores[rest], labels[rest], weights[rest])
        out[left] = slope * scores[left] + intercept
    return calibration_line(scores, labels, weights), out


def calibration_error(
    p: Array, labels: Array, weights: Array, n_bins: int = 10
) -> float:
    """Return the mean distance of probabilities from observed shares.

    Rows are put in order of their probability and cut into bins of equal mass; rows of
    one probability are in one bin.
    """
    values, place = np.unique(p, return_inverse=True)
    mass = weights / weights.sum()
    each = np.bincount(place, mass, values.size)
    position = np.cumsum(each) - 0.5 * each
    bins = np.minimum((n_bins * position).astype(np.intp), n_bins - 1)[place]
    gaps = np.bincount(bins, mass * (p - labels), n_bins)
    return float(np.abs(gaps).sum())
