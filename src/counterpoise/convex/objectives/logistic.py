"""Negative log likelihoods of labels: a logistic regression, and a line of logits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax

from counterpoise.numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class LogisticLoss:
    r"""The mean log loss of a linear function of columns, with a ridge.

    .. math:: \sum_i p_i \bigl(\log(1 + e^{z_i'x}) - y_i z_i'x\bigr)
        + \frac{\rho}{2} |x|^2

    Parameters
    ----------
    rows : array of shape (n, k)
        z.
    labels : array of shape (n,)
        y, zero or one.
    shares : array of shape (n,)
        p, sum one.
    ridge : float

    Examples
    --------
    >>> import numpy as np
    >>> f = LogisticLoss(np.ones((2, 1)), np.array([0.0, 1.0]), np.full(2, 0.5), 0.0)
    >>> f.gradient(np.zeros(1)), f.hessian(np.zeros(1))
    (array([0.]), array([[0.25]]))
    """

    rows: Array
    labels: Array
    shares: Array
    ridge: float
    _last: "_LastPoint" = field(default_factory=lambda: _LastPoint(), repr=False)

    def value(self, x: Array) -> float:
        """Return the function at x."""

        def value() -> float:
            margin = self.rows @ x
            each = np.logaddexp(0.0, margin) - self.labels * margin
            return float(self.shares @ each) + 0.5 * self.ridge * float(x @ x)

        return float(self._last.get("value", x, value))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        wrong = self.shares * (self._chances(x) - self.labels)
        return wrong @ self.rows + self.ridge * x

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        p = self._chances(x)
        bend = (self.shares * p * (1.0 - p))[:, None]
        out: Array = self.rows.T @ (self.rows * bend)
        return out + self.ridge * np.eye(x.size)

    def direction(self, x: Array, gradient: Array) -> Array:
        """Return Newton's direction from x; the last one is kept."""

        def solved() -> Array:
            return np.asarray(-np.linalg.solve(self.hessian(x), gradient), np.float64)

        out: Array = self._last.get("direction", x, solved)
        return out

    def _chances(self, x: Array) -> Array:
        """Return the probabilities of ones at x; those of the last point are kept."""
        out: Array = self._last.get("chances", x, lambda: expit(self.rows @ x))
        return out


@dataclass(frozen=True, eq=False)
class SoftmaxLine:
    r"""The negative log likelihood of classes whose logits lie on a line.

    .. math:: -\sum_i w_i \log \mathrm{softmax}(a\, l_i + b)_{y_i}
        + \frac{\rho}{2} \bigl((a - 1)^2 + |b|^2\bigr)

    in :math:`x = (a, b_2, \ldots, b_k)`, with :math:`b_1 = 0`.

    Parameters
    ----------
    logits : array of shape (n, k)
        l.
    hit : array of shape (n, k)
        One in the column of a row's class, else zero.
    weights : array of shape (n,)
    ridge : float
    """

    logits: Array
    hit: Array
    weights: Array
    ridge: float
    _last: "_LastPoint" = field(default_factory=lambda: _LastPoint(), repr=False)

    @property
    def identity(self) -> Array:
        """The line that changes nothing, to which the ridge holds."""
        out = np.zeros(self.logits.shape[1])
        out[0] = 1.0
        return out

    def value(self, x: Array) -> float:
        """Return the function at x."""

        def value() -> float:
            logs = log_softmax(self.logits_at(x), axis=1)
            fit = -(self.weights @ (self.hit * logs).sum(axis=1))
            return float(fit + 0.5 * self.ridge * ((x - self.identity) ** 2).sum())

        return float(self._last.get("value", x, value))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""

        def gradient() -> Array:
            wrong = self.weights[:, None] * (self._shares(x) - self.hit)
            slopes = [[(wrong * self.logits).sum()], wrong[:, 1:].sum(axis=0)]
            return np.concatenate(slopes) + self.ridge * (x - self.identity)

        out: Array = self._last.get("gradient", x, gradient)
        return out

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        q, logits, weights = self._shares(x), self.logits, self.weights
        k = q.shape[1]
        mean = (q * logits).sum(axis=1)
        out = np.empty((k, k))
        out[0, 0] = weights @ ((q * logits**2).sum(axis=1) - mean**2)
        out[0, 1:] = out[1:, 0] = weights @ (q * (logits - mean[:, None]))[:, 1:]
        out[1:, 1:] = -(q[:, 1:] * weights[:, None]).T @ q[:, 1:]
        out[1:, 1:] += np.diag(weights @ q[:, 1:])
        return out + self.ridge * np.eye(k)

    def direction(self, x: Array, gradient: Array) -> Array:
        """Return Newton's direction from x; the last one is kept."""

        def solved() -> Array:
            return np.asarray(-np.linalg.solve(self.hessian(x), gradient), np.float64)

        out: Array = self._last.get("direction", x, solved)
        return out

    def logits_at(self, x: Array) -> Array:
        """Return the logits on the line x."""
        z = x[0] * self.logits
        z[:, 1:] += x[1:]
        return z

    def _shares(self, x: Array) -> Array:
        """Return the probabilities at x; those of the last point are kept."""

        def shares() -> Array:
            return softmax(self.logits_at(x), axis=1)

        out: Array = self._last.get("shares", x, shares)
        return out


class _LastPoint:
    """What was computed at the last point.

    A trial of a line search, the point that it gives, its proof and the step after it
    ask for the same numbers; points have few entries and are compared by them.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Array, Any]] = {}

    def get(self, name: str, x: Array, compute: Callable[[], Any]) -> Any:
        """Return what has this name at x."""
        known = self._known.get(name)
        if known is None or not np.array_equal(known[0], x):
            known = self._known[name] = x.copy(), compute()
        return known[1]
