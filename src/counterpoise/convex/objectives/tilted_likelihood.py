"""Log likelihoods of a sample under tilted ones: log-linear models of a density ratio.

The statistics of a sample are an array, a sparse matrix, or anything with `shape`,
`S @ v`, `q @ S` and `S[rows]` (a plain array) or `S.second_moment(q, mean)` (of the
rows about a mean), so that products of columns need not be written out, nor rows be in
memory.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from counterpoise.convex.objectives.columns import slices
from counterpoise.numerics.arrays import Array

# Entries of a block of rows: 64 MiB of float64.
BLOCK_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class TiltedLikelihood:
    r"""The negative log likelihood of a sample under a tilted one, with a ridge.

    .. math:: \log \sum_i q_i \exp(S x)_i - t'x + \frac{\rho}{2} |x|^2

    where t are the mean statistics of the one sample and S, q the statistics and the
    shares of the other. Strongly convex with modulus :math:`\rho`; the Hessian is the
    covariance of the statistics under the tilted shares :math:`q_i \exp(Sx)_i`, plus
    :math:`\rho I`.

    Parameters
    ----------
    statistics : matrix of shape (n, p)
        S.
    mean : array of shape (p,)
        t.
    shares : array of shape (n,)
        q, positive, sum one.
    ridge : float

    Notes
    -----
    Two capabilities serve Newton steps: `hessian(x)`, the matrix, and
    `hessian_operator(x)`, its product with a vector at the price of two products with
    the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[-1.0], [1.0]])
    >>> f = TiltedLikelihood(S, np.array([0.5]), np.full(2, 0.5), ridge=0.1)
    >>> f.gradient(np.zeros(1)), f.hessian(np.zeros(1))
    (array([-0.5]), array([[1.1]]))
    """

    statistics: Any
    mean: Array
    shares: Array
    ridge: float

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return self.value_at(x, self.image(x))

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        return self.gradient_at(x, self.image(x))

    def image(self, x: Array) -> Array:
        """Return Sx."""
        return np.asarray(self.statistics @ x)

    def value_at(self, x: Array, image: Array) -> float:
        """Return the function at x, given Sx."""
        ridge = 0.5 * self.ridge * float(x @ x)
        return log_mean(image, self.shares) - float(self.mean @ x) + ridge

    def gradient_at(self, x: Array, image: Array) -> Array:
        """Return the gradient at x, given Sx."""
        return self._pull(self._tilted(image)) - self.mean + self.ridge * x

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives at x."""
        tilted = self._tilted(self.image(x))
        mean = self._pull(tilted)
        S, (n, p) = self.statistics, self.statistics.shape
        if sparse.issparse(S):
            out: Array = (S.T @ S.multiply(tilted[:, None])).toarray()
            out -= np.outer(mean, mean)
        elif hasattr(S, "second_moment"):
            out = S.second_moment(tilted, mean)
        else:
            out = np.zeros((p, p))
            for rows in slices(n, max(1, BLOCK_ENTRIES // p)):
                spread = (S[rows] - mean) * np.sqrt(tilted[rows])[:, None]
                out += spread.T @ spread
        out[np.diag_indices(p)] += self.ridge
        return out

    def hessian_operator(self, x: Array) -> Callable[[Array], Array]:
        """Return the product of the Hessian at x with a vector, as a function."""
        tilted = self._tilted(self.image(x))

        def product(v: Array) -> Array:
            along = self.image(v)
            return self._pull(tilted * (along - tilted @ along)) + self.ridge * v

        return product

    def _tilted(self, image: Array) -> Array:
        weights = self.shares * np.exp(image - image.max())
        return weights / weights.sum()

    def _pull(self, weights: Array) -> Array:
        return np.asarray(weights @ self.statistics)


@dataclass(frozen=True, eq=False)
class MixedTilts:
    r"""The negative log likelihood of a sample under a mixture of tilted ones.

    .. math::
        -\sum_j r_j \log \sum_k \pi_k a_k(t_j) + \frac{\rho}{2} \sum_k |\eta_k|^2, \quad
        a_k(t) = \frac{\exp(\eta_k's(t))}{\sum_i q_i \exp(\eta_k's(x_i))}

    in the vector of the proportions :math:`\pi` followed by all :math:`\eta_k`. Not
    convex.

    Parameters
    ----------
    statistics, statistics_target : matrix of shape (n, p), (m, p)
    shares, shares_target : array of shape (n,), (m,)
        q and r; positive, sum one.
    n_components : int
    ridge : float
    """

    statistics: Any
    statistics_target: Any
    shares: Array
    shares_target: Array
    n_components: int
    ridge: float

    def value(self, x: Array) -> float:
        """Return the function at x."""
        _, slopes = self.split(x)
        logs = self._mixed(x)[1]
        ridge = 0.5 * self.ridge * float(np.sum(slopes * slopes))
        return ridge - float(self.shares_target @ logs)

    def gradient(self, x: Array) -> Array:
        """Return the gradient at x."""
        tilts, logs = self._mixed(x)
        pull = self.shares_target @ np.exp(tilts - logs[:, None])
        shares, parts = self.parts(x)
        _, slopes = self.split(x)
        each = zip(shares, parts, slopes, strict=True)
        return np.concatenate(
            [-pull, *(q * part.gradient(eta) for q, part, eta in each)]
        )

    def split(self, x: Array) -> tuple[Array, Array]:
        """Return the proportions and the slopes, one row a component."""
        k = self.n_components
        return x[:k], x[k:].reshape(k, -1)

    def parts(self, x: Array) -> tuple[Array, list[TiltedLikelihood]]:
        """Return the expected proportions and the convex problem of each component.

        To replace x by those proportions and each component's slopes by better ones
        for its own problem never raises the value (the step of EM).
        """
        proportions, _ = self.split(x)
        tilts, logs = self._mixed(x)
        belongs = proportions * np.exp(tilts - logs[:, None])
        return self.parts_of(belongs / belongs.sum(axis=1, keepdims=True))

    def parts_of(self, belongs: Array) -> tuple[Array, list[TiltedLikelihood]]:
        """Return the same, given the share of every row that belongs to a component."""
        counted = self.shares_target[:, None] * belongs
        shares = np.maximum(counted.sum(axis=0), 1e-100)
        return shares / shares.sum(), [
            TiltedLikelihood(
                self.statistics,
                np.asarray(counted[:, k] @ self.statistics_target) / shares[k],
                self.shares,
                self.ridge / shares[k],
            )
            for k in range(self.n_components)
        ]

    def _mixed(self, x: Array) -> tuple[Array, Array]:
        """Return log a_k and the logarithm of the mixture at the target rows."""
        proportions, slopes = self.split(x)
        tilts = np.column_stack(
            [
                self.statistics_target @ eta
                - log_mean(self.statistics @ eta, self.shares)
                for eta in slopes
            ]
        )
        return tilts, logsumexp(tilts, axis=1, b=proportions)


def log_mean(exponents: Array, shares: Array) -> float:
    """Return the logarithm of the mean of exponentials, without overflow."""
    top = float(exponents.max())
    return top + math.log(float(shares @ np.exp(exponents - top)))
