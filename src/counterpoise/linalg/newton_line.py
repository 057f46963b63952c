"""Logistic regression on one column (Platt scaling) by Newton's method."""

import numpy as np
from scipy.special import expit

from counterpoise.linalg.arrays import Array


def fit_logistic_line(
    scores: Array, labels: Array, weights: Array, penalty: float = 1e-9
) -> Array:
    """Return slope and intercept of the logistic regression of labels on scores.

    Scores are standardized, and half of `penalty` times the squared coefficients is
    added to the mean log loss: separable scores have no best slope without it. Newton's
    method runs to machine precision; a step is halved while it raises the loss.

    Parameters
    ----------
    scores, weights : array of shape (n,)
        The scores must not be constant.
    labels : array of shape (n,)
        Zero or one, or probabilities of one.
    penalty : float, default=1e-9

    Examples
    --------
    >>> x, y = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.25, 0.25, 0.75, 0.75])
    >>> np.exp(fit_logistic_line(x, y, np.ones(4))).round(3)
    array([9.   , 0.333])
    """
    share = weights / weights.sum()
    center = float(share @ scores)
    spread = float(np.sqrt(share @ (scores - center) ** 2))
    Z = np.column_stack([(scores - center) / spread, np.ones_like(scores)])

    def loss(line: Array) -> float:
        margin = Z @ line
        each = np.maximum(margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))
        ridge = 0.5 * penalty * float(line @ line)
        return float(share @ (each - labels * margin)) + ridge

    line, value, before = np.zeros(2), np.log(2.0), np.inf
    for _ in range(100):
        p = expit(Z @ line)
        gradient = (share * (p - labels)) @ Z + penalty * line
        hessian = (Z.T * (share * p * (1.0 - p))) @ Z + penalty * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        decrement = -float(gradient @ step)
        # Where values differ by rounding alone, Newton's whole step is right.
        while decrement > 1e-10 and loss(line + step) > value:
            step *= 0.5
        line = line + step
        if decrement < 1e-24 or before <= decrement < 1e-10:
            break
        value, before = loss(line), decrement
    slope = line[0] / spread
    return np.array([slope, line[1] - slope * center])
