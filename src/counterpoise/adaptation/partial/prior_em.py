"""Shares of the classes by maximum likelihood, from probabilities alone."""

from dataclasses import dataclass

import numpy as np

from counterpoise.convex import Certificate, Solution, attested
from counterpoise.numerics.arrays import Array

LEAST_DENSITY = 1e-300


@dataclass(frozen=True, eq=False)
class PriorByEM:
    """Shares of the classes in the target, and what each row then has.

    Attributes
    ----------
    shares : array of shape (K,)
    posterior : array of shape (m, K)
    solution : Solution
    """

    shares: Array
    posterior: Array
    solution: Solution


def prior_by_em(
    probabilities: Array, source_shares: Array, tol: float, max_iter: int
) -> PriorByEM:
    r"""Return the shares q that make the target likeliest (Saerens).

    .. math:: \max_q \frac1m \sum_i \log \sum_k q_k \frac{p_{ik}}{s_k}

    over the simplex, with the source's shares s: right where p(x | class) is the same
    in both samples. Each step sets q to the mean posterior. The objective is concave,
    and with the gradient :math:`g_k` at q no point of the simplex exceeds its value by
    more than :math:`\max_k g_k - 1`: that is the certificate's gap. A step takes
    O(m K).

    Parameters
    ----------
    probabilities : array of shape (m, K)
    source_shares : array of shape (K,)
    tol : float
        Gap to reach.
    max_iter : int
    """
    ratio = probabilities / source_shares
    q = source_shares.copy()
    n_iter = 0
    while True:
        density = np.maximum(ratio @ q, LEAST_DENSITY)
        gradient = (ratio / density[:, None]).mean(axis=0)
        gap = max(float(gradient.max()) - 1.0, 0.0)
        if gap <= tol or n_iter >= max_iter:
            break
        q = q * gradient
        q /= q.sum()
        n_iter += 1
    objective = -float(np.log(density).mean())
    proof = Certificate("likelihood gap", objective, objective - gap, gap)
    ended = "proved" if gap <= tol else "max_iter"
    posterior = ratio * q
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), LEAST_DENSITY)
    return PriorByEM(q, posterior, attested(q, proof, tol, n_iter=n_iter, ended=ended))
