"""Bars for shares of draws, by how many draws there are.

A share that a library promises varies from draw to draw: of ten intervals of level 0.95
two miss in one run of twelve. These bars fall short by chance in one run of a hundred
at most if the promise is kept, whatever the number of draws; what is broken falls short
of them the more surely, the more draws there are. A share that just reaches its bar is
not to miss it by rounding: 1e-12 is forgiven.
"""

from scipy.stats import binom

# Chance that what keeps its promise falls short of a bar.
BY_CHANCE = 0.01


def share_at_least(promised: float, draws: int) -> float:
    r"""Return :math:`k / n` with the smallest k for which :math:`P(B \le k) \ge 0.01`.

    B is binomial, of n draws with the promised chance: :math:`P(B < k) < 0.01`.
    """
    return float(binom.ppf(BY_CHANCE, draws, promised)) / draws - 1e-12


def share_at_most(promised: float, draws: int) -> float:
    r"""Return :math:`k / n` with the smallest k for which :math:`P(B > k) \le 0.01`."""
    return float(binom.ppf(1 - BY_CHANCE, draws, promised)) / draws + 1e-12
