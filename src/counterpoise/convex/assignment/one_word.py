r"""From which penalty on a single word is optimal.

With e the word of least total cost, :math:`a_j = C_{\cdot j} - C_{\cdot e}`, and equal
penalties :math:`\lambda`, the assignment of all items to e is optimal if and only if
:math:`\lambda \ge \lambda_{\max}`; the graph has no say, because L 1 = 0. Its
multipliers are prices s of the items at e, :math:`G_{\cdot e} = s` and
:math:`G_{\cdot j} = (s - a_j)_+`, all of dual norm at most :math:`\lambda`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from counterpoise.numerics.arrays import Array

# Items times words beyond which the linear programme is not solved.
LARGEST_PROGRAMME = 50_000
# Words that a programme begins with, and takes in at once.
WORDS_AT_ONCE = 10
# A word is short of nothing where it saves less than this share of the largest saving.
MET = 1e-10
# Relative width at which the bisection ends.
BISECTED = 1e-13


@dataclass(frozen=True, eq=False)
class OneWordPenalty:
    """The least penalty at which one word is optimal, between two bounds.

    Attributes
    ----------
    word : int
        The word of least total cost, the first of equal ones.
    low, high : float
        Proved bounds, equal where the penalty is exact.
    offers : array of shape (n,)
        s, of dual norm `high`.
    """

    word: int
    low: float
    high: float
    offers: Array

    @property
    def is_exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.low == self.high

    def prices(
        self, costs: Array, penalty: float, norm: Literal["max", "euclidean"]
    ) -> Array:
        """Return G, which proves the word optimal at a penalty of `high` or more.

        What the penalty is above `high` is offered by all items alike (max norm), or
        all offers are raised to it (Euclidean norm).
        """
        n = len(costs)
        if norm == "max":
            s = self.offers + max(penalty - float(self.offers.sum()), 0.0) / n
        else:
            s = np.full(n, penalty / np.sqrt(n))
        return np.maximum(s[:, None] - (costs - costs[:, [self.word]]), 0.0)


def one_word_penalty(
    costs: Array,
    norm: Literal["max", "euclidean"] = "max",
    *,
    exact: bool = True,
) -> OneWordPenalty:
    r"""Return the least penalty at which a single word is optimal.

    Max norm: the linear programme

    .. math:: \lambda_{\max} = \min 1's \quad \text{s.t. } s \ge 0, \;
              \sum_i \min(s_i, a_{ij}) \ge 0 \text{ for all } j

    by HiGHS, in units of the largest saving :math:`\max_j \sum_i (-a_{ij})_+` (its
    tolerances are absolute). Beyond 50,000 entries of C only the bounds (and where
    they will do, not `exact`)

    .. math:: \max_j \sum_i (-a_{ij})_+ \le \lambda_{\max}
              \le \sum_i \max_j (a_{ij})_+

    Euclidean norm: the smallest :math:`\lambda` with
    :math:`\|(\lambda/\sqrt n - a_j)_+\| \le \lambda` for all j, by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> words = [[1, 1, 1], [2.1, 0.5, 0.5], [0.5, 2.1, 0.5], [0.5, 0.5, 2.1]]
    >>> round(one_word_penalty(np.array(words).T).low, 6)
    3.0
    """
    word = int(np.argmin(costs.sum(axis=0)))
    apart = costs - costs[:, [word]]
    if norm == "euclidean":
        level = _bisected(np.delete(apart, word, axis=1))
        offers = np.full(len(costs), level / np.sqrt(len(costs)))
        return OneWordPenalty(word, level, level, offers)
    highest = np.maximum(apart.max(axis=1), 0.0)
    low = float(np.maximum(-apart, 0.0).sum(axis=0).max())
    if not exact or costs.size > LARGEST_PROGRAMME:
        high = max(float(highest.sum()), low)
        return OneWordPenalty(word, low, high, highest)
    s = np.zeros(len(costs))
    if low > 0.0:
        s = low * _programme(np.delete(apart, word, axis=1) / low)
    level = max(float(s.sum()), low)
    return OneWordPenalty(word, level, level, s)


def _programme(apart: Array) -> Array:
    """Return the least s that no word improves upon; the largest saving is one.

    Few words bind: the programme begins with those that save most and takes in those
    that its solution leaves short, until none is. What an item loses at a word beyond
    all that the word saves counts for no more.
    """
    saved = np.maximum(-apart, 0.0).sum(axis=0)
    apart = np.minimum(apart, saved)
    highest = np.maximum(apart.max(axis=1), 0.0)
    order = np.argsort(-saved, kind="stable")
    apart, saved = apart[:, order], saved[order]
    taken = np.zeros(len(saved), dtype=bool)
    taken[:WORDS_AT_ONCE] = saved[:WORDS_AT_ONCE] > 0.0
    s = np.zeros(len(apart))
    while taken.any():
        s = _over_words(apart[:, taken], saved[taken], highest)
        short = -np.minimum(s[:, None], apart).sum(axis=0)
        short[taken] = 0.0
        worst = np.argsort(-short, kind="stable")[:WORDS_AT_ONCE]
        worst = worst[short[worst] > MET * saved[0]]
        if worst.size == 0:
            break
        taken[worst] = True
    return s


def _over_words(apart: Array, saved: Array, highest: Array) -> Array:
    r"""Return the least s that none of some words improves upon.

    Variables s and :math:`v_{ij} = \min(s_i, a_{ij})` of positive :math:`a_{ij}` alone.
    """
    n = len(apart)
    word, item = np.nonzero(apart.T > 0.0)
    k = len(word)
    minus, at = np.full(k, -1.0), np.arange(k)
    below = sparse.csr_array(
        (np.concatenate([minus, -minus]), (np.tile(at, 2), np.r_[item, n + at])),
        shape=(k, n + k),
    )
    paid = sparse.csr_array((minus, (word, n + at)), shape=(len(saved), n + k))
    answer = linprog(
        np.concatenate([np.ones(n), np.zeros(k)]),
        A_ub=sparse.vstack([below, paid], format="csr"),
        b_ub=np.concatenate([np.zeros(k), -saved]),
        bounds=np.column_stack(
            [np.zeros(n + k), np.concatenate([highest, apart[item, word]])]
        ),
        method="highs",
    )
    if answer.x is None:
        raise ArithmeticError(f"the linear programme ended with: {answer.message}")
    return np.maximum(answer.x[:n], 0.0)


def _bisected(apart: Array) -> float:
    """Return the smallest level at which no word is longer than it."""
    n = len(apart)
    if apart.size == 0 or not (apart < 0.0).any():
        return 0.0
    # Squares of small numbers vanish, so the largest is made one.
    unit = float(np.abs(apart).max())
    apart = apart / unit

    def suffices(level: float) -> bool:
        rest = np.maximum(level / np.sqrt(n) - apart, 0.0)
        return bool((np.sqrt((rest**2).sum(axis=0)) <= level).all())

    low, high = 0.0, float(np.abs(apart).sum(axis=0).max())
    while not suffices(high):
        low, high = high, 2.0 * high
    while high - low > BISECTED * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return unit * high
