"""Linear models fitted by passes over blocks.

Both see rows through a function that makes numbers, labels and weights of a block; what
is kept between passes has as many entries as there are coefficients, squared.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from counterpoise.data.blocks import Blocks
from counterpoise.data.parallel import Rows, current_budget, map_reduce
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array

# The step is halved at most so often.
MOST_HALVINGS = 30
# What the slope promises must be kept by this share of it.
SLOPE_KEPT = 1e-4
# Matrices of second derivatives that are there at a time.
MATRICES = 4
# Eigenvalues below this share of the largest are rounding.
NO_CURVATURE = 1e-13


@dataclass(frozen=True, eq=False)
class RowsToFit:
    """Rows of a block as a regression sees them.

    Attributes
    ----------
    rows : array of shape (k, p)
    labels : array of shape (k,)
        Numbers; of classes their places.
    weights : array of shape (k,)
    """

    rows: Array
    labels: NDArray[Any]
    weights: Array


# Makes labeled rows of a block's rows and the place of the first of them.
Reads = Callable[[Rows, int], RowsToFit]
Parts = Sequence[tuple[Blocks, Reads]]


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a linear model.

    Attributes
    ----------
    coef : array of shape (p,) or (k, p)
    intercept : array of shape () or (k,)
    n_passes : int
    residual : float
        Newton's decrement at the end, relative to the weight of all rows; zero for a
        closed form.
    """

    coef: Array
    intercept: Array
    n_passes: int
    residual: float = 0.0


def ridge_by_passes(parts: Parts, alpha: float, *, intercept: bool) -> Regression:
    r"""Return the minimizer of the ridge objective, in two passes.

    .. math:: \sum_i w_i (y_i - x_i'\beta - b)^2 + \alpha |\beta|^2

    The first pass gives the weighted means, about which the second adds up moments.
    """
    means = _sum_over(parts, _weighted_sums)
    total = means[-1]
    mean = means[:-1] / total if intercept else np.zeros(means.size - 1)
    moment = _sum_over(parts, _second_moments, mean)
    p = mean.size - 1
    _check_coefficients(p)
    gram, pulled = moment[:p, :p], moment[:p, p]
    coef = _solved(gram + alpha * np.eye(p), pulled)
    return Regression(coef, np.asarray(mean[p] - mean[:p] @ coef), 2)


def logistic_by_passes(
    parts: Parts,
    n_classes: int,
    penalty: float,
    *,
    intercept: bool,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> Regression:
    r"""Return the minimizer of the penalized log loss, by Newton steps, a pass each.

    .. math:: -\sum_i w_i \log \mathrm{softmax}(B x_i + b)_{y_i}
        + \frac{\rho}{2} |B|^2

    with as many rows of B as there are classes; of two classes with one row, whose
    sign tells the second. The intercepts are free. It ends when Newton's decrement
    is at most `tol` times the weight of all rows.
    """
    k = 1 if n_classes == 2 else n_classes
    blocks, reads = parts[0]
    p = reads(blocks.read(0), 0).rows.shape[1]
    width = p + int(intercept)
    _check_coefficients(k * width)
    x = np.zeros(k * width)
    ridge = np.tile(np.append(np.full(p, penalty), np.zeros(int(intercept))), k)

    def at(point: Array) -> "_Derivatives":
        coef = point.reshape(k, width)
        found: _Derivatives = _sum_over(parts, _log_loss, coef, n_classes, intercept)
        found.value += 0.5 * float(ridge @ point**2)
        found.gradient += ridge * point
        found.hessian += np.diag(ridge)
        return found

    here, passes = at(x), 1
    for _ in range(max_iter):
        direction = -_solved(here.hessian, here.gradient)
        slope = float(here.gradient @ direction)
        if -slope <= tol * here.mass:
            break
        length = 1.0
        for _ in range(MOST_HALVINGS):
            there = at(x + length * direction)
            passes += 1
            if there.value <= here.value + SLOPE_KEPT * length * slope:
                break
            length *= 0.5
        else:
            break
        x, here = x + length * direction, there
    direction = -_solved(here.hessian, here.gradient)
    decrement = -float(here.gradient @ direction) / here.mass
    table = (x + direction if decrement <= tol else x).reshape(k, width)
    free = table[:, p] if intercept else np.zeros(k)
    if k > 1:
        # Of all classes together nothing is told: scikit-learn has it that way too.
        free = free - free.mean()
    return Regression(table[:, :p], free, passes, max(decrement, 0.0))


@dataclass(eq=False)
class _Derivatives:
    mass: float
    value: float
    gradient: Array
    hessian: Array

    def __add__(self, later: "_Derivatives") -> "_Derivatives":
        return _Derivatives(
            self.mass + later.mass,
            self.value + later.value,
            self.gradient + later.gradient,
            self.hessian + later.hessian,
        )


def _log_loss(
    reads: Reads, coef: Array, n_classes: int, intercept: bool, rows: Rows, first: int
) -> _Derivatives:
    """Return the log loss of the rows of a block, and its derivatives."""
    found = reads(rows, first)
    n = len(found.rows)
    Z = np.column_stack([found.rows, np.ones(n)]) if intercept else found.rows
    weights, places = found.weights, found.labels.astype(np.intp)
    logits = Z @ coef.T
    if n_classes == 2:
        logits = np.hstack([np.zeros_like(logits), logits])
    logs = log_softmax(logits, axis=1)
    wrong = np.exp(logs)
    chances = wrong.copy()
    wrong[np.arange(n), places] -= 1.0
    wrong *= weights[:, None]
    if n_classes == 2:
        wrong, chances = wrong[:, 1:], chances[:, 1:]
    k, width = coef.shape
    hessian = np.empty((k, width, k, width))
    for i in range(k):
        for j in range(i, k):
            bend = -chances[:, i] * chances[:, j]
            if i == j:
                bend = chances[:, i] * _rest(logits, logs, i, n_classes)
            part = Z.T @ (Z * (weights * bend)[:, None])
            hessian[i, :, j], hessian[j, :, i] = part, part.T
    return _Derivatives(
        float(weights.sum()),
        -float(weights @ logs[np.arange(n), places]),
        (wrong.T @ Z).ravel(),
        hessian.reshape(k * width, k * width),
    )


def _rest(logits: Array, logs: Array, i: int, n_classes: int) -> Array:
    """Return one minus the chance of class i, also where that is nearly one."""
    place = 1 if n_classes == 2 else i
    others = np.delete(logits, place, axis=1)
    norm = logits[:, place] - logs[:, place]
    return np.exp(logsumexp(others, axis=1) - norm)


def _weighted_sums(reads: Reads, rows: Rows, first: int) -> Array:
    """Return sums of rows, of labels and of weights."""
    found = reads(rows, first)
    w = found.weights
    return np.concatenate([w @ found.rows, [w @ found.labels, w.sum()]])


def _second_moments(reads: Reads, mean: Array, rows: Rows, first: int) -> Array:
    """Return second moments of rows and labels about a point."""
    found = reads(rows, first)
    both = np.column_stack([found.rows, found.labels]) - mean
    return both.T @ (both * found.weights[:, None])


def _check_coefficients(k: int) -> None:
    """Refuse a matrix of second derivatives that the memory budget has no room for."""
    needed, most = MATRICES * 8 * k**2, current_budget()
    if needed > most:
        raise InvalidInputError(
            f"{k:,} coefficients by passes take {MATRICES} matrices of their squared "
            f"number, {needed / 1e9:.1f} GB, and {most / 1e9:.1f} GB are allowed: fit "
            "to a budget of rows drawn, or to fewer columns"
        )


def _sum_over(parts: Parts, work: Callable[..., Any], *more: object) -> Any:
    """Return what all blocks of all parts add up to, part after part."""
    sums = [map_reduce(blocks, partial(work, reads, *more)) for blocks, reads in parts]
    return reduce(operator.add, sums)


def _solved(matrix: Array, right: Array) -> Array:
    """Return the solution, on columns of one scale; the shortest of several."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    scale = np.where(scale > 0.0, scale, 1.0)
    even = matrix / scale[:, None] / scale
    values, vectors = np.linalg.eigh(0.5 * (even + even.T))
    # What rounding leaves of columns that are sums of others is no curvature.
    told = values > NO_CURVATURE * values[-1]
    pulled = vectors.T @ (right / scale)
    found = vectors @ np.divide(pulled, values, out=np.zeros_like(pulled), where=told)
    return found / scale
