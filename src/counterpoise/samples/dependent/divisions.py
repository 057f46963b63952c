"""RowUnits of rows divided by chance, and what differs as much in such divisions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead

# Divisions of units by chance, the smallest p-value of which is 0.001.
N_DIVISIONS = 999
# What rounding may make of equal numbers.
_ROUNDING = 1e-10
# Numbers of a block of products at once.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Divisions:
    """Source and target as they are, and divided anew by chance, units whole.

    A unit with rows in one sample keeps them together; of the units that have rows in
    one alone as many go to either sample as there were. A unit with rows in both
    samples has two parts, which change places or do not.

    Attributes
    ----------
    part : array of int of shape (N,)
        For every row of the source, then of the target, its part of a unit.
    mass : array of shape (N,)
        What every row counts.
    is_target : array of shape (1 + B, C)
        Which parts are the target's, one or zero; the first row as they are.
    """

    part: Indices
    mass: Array
    is_target: Array

    @classmethod
    def of(
        cls,
        units: Indices,
        n: int,
        mass: Array,
        seed: int,
        count: int = N_DIVISIONS,
    ) -> "Divisions":
        """Return so many divisions by chance, after the one that is.

        `units`: numbers from zero, of the n rows of the source and then of the target.
        """
        side = np.repeat([0, 1], [n, units.size - n])
        pairs, part = np.unique(2 * units + side, return_inverse=True)
        unit, own = pairs // 2, pairs % 2
        in_both = np.bincount(unit, minlength=unit.max() + 1)[unit] == 2
        rng = np.random.default_rng(seed)
        is_target = np.tile(own.astype(np.float64), (count + 1, 1))
        alone, doubled = np.flatnonzero(~in_both), np.flatnonzero(in_both)
        for k in range(1, count + 1):
            is_target[k, alone] = own[alone][rng.permutation(alone.size)]
            turned = np.repeat(rng.integers(0, 2, doubled.size // 2), 2)
            is_target[k, doubled] = own[doubled] ^ turned
        return cls(part, mass, is_target)

    def differences(self, values: Array) -> Array:
        """Return target means minus source means of columns, in every division.

        Parameters
        ----------
        values : array of shape (N, k)
            Of the rows.

        Returns
        -------
        array of shape (1 + B, k)
        """
        return self._apart(np.asarray(self._parts @ values))

    def shares_apart(self, cells: Indices, n_cells: int) -> Array:
        """Return target minus source shares of cells, in every division."""
        C = self.is_target.shape[1]
        sums = np.bincount(self.part * n_cells + cells, self.mass, C * n_cells).reshape(
            C, n_cells
        )
        return self._apart(sums.astype(np.float64))

    def squares(self, kernel: Array) -> Array:
        """Return a'Ka of every division, a the shares of target minus source rows.

        `kernel`: of the parts, summed over their rows times what these count.
        """
        mass = self._masses
        target = self.is_target @ mass
        a = (
            self.is_target / target[:, None]
            - (1 - self.is_target) / (mass.sum() - target)[:, None]
        )
        found: Array = np.einsum("ij,ij->i", a @ kernel, a)
        return found

    def summed(self, matrix: Array) -> Array:
        """Return a matrix of rows by rows summed over parts, times what rows count."""
        half = np.asarray(self._parts @ matrix)
        return np.asarray(self._parts @ half.T)

    @property
    def _parts(self) -> Any:
        """What every row counts, a row a part."""
        N, C = self.part.size, self.is_target.shape[1]
        places = self.part, np.arange(N)
        return sparse.csr_array((self.mass, places), shape=(C, N))

    @property
    def _masses(self) -> Array:
        C = self.is_target.shape[1]
        return np.bincount(self.part, self.mass, C).astype(np.float64)

    def _apart(self, sums: Array) -> Array:
        mass = self._masses
        target = self.is_target @ mass
        source = mass.sum() - target
        whole = sums.sum(axis=0)
        found = np.empty((self.is_target.shape[0], sums.shape[1]))
        step = max(1, _AT_ONCE // max(self.is_target.shape[0], 1))
        for first in range(0, sums.shape[1], step):
            block = slice(first, first + step)
            part = self.is_target @ sums[:, block]
            found[:, block] = part / target[:, None]
            found[:, block] -= (whole[block] - part) / source[:, None]
        return found


class ByChance(NamedTuple):
    """P-values of statistics: each by itself, and corrected for all of them."""

    alone: Array
    corrected: Array


def by_chance(statistics: Array) -> ByChance:
    r"""Return the chance of statistics as large as those of the division that is.

    With :math:`T_k^{(b)}` the k-th statistic of the b-th of 1 + B divisions, b = 0 the
    one that is, its p-value is the share of divisions with
    :math:`T_k^{(b)} \ge T_k^{(0)}`. Corrected for all of them it is the share with
    :math:`\max_l z_l^{(b)} \ge z_k^{(0)}`, z the statistics minus their means over the
    standard deviations in all divisions (Westfall and Young): that allows for however
    the statistics go together, and holds exactly if units are exchangeable.

    Parameters
    ----------
    statistics : array of shape (1 + B, K)

    References
    ----------
    P. Westfall and S. Young, 1993.

    Examples
    --------
    >>> found = by_chance(np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0], [0.0, 4.0]]))
    >>> found.alone, found.corrected
    (array([0.25, 1.  ]), array([0.5, 1. ]))
    """
    spread = statistics.std(axis=0)
    varies = spread > _ROUNDING * np.maximum(np.abs(statistics).max(axis=0), 1e-300)
    z = np.zeros_like(statistics)
    centred = statistics[:, varies] - statistics[:, varies].mean(axis=0)
    z[:, varies] = centred / spread[varies]
    alone = (z >= z[0] - _ROUNDING).mean(axis=0)
    corrected = (z.max(axis=1)[:, None] >= z[0] - _ROUNDING).mean(axis=0)
    return ByChance(alone, corrected)


class Divided(NamedTuple):
    """Rows of both samples in their canonical order, and their divisions."""

    rows: Indices
    aims: Indices
    divisions: Divisions


def divided(
    samples: SamplesAsRead,
    rows: Indices,
    aims: Indices,
    seed: int,
    count: int = N_DIVISIONS,
) -> Divided:
    """Return some rows of samples with units, in canonical order, and divisions.

    They depend on what rows hold and which belong together, not on how they came.
    """
    assert samples.units is not None
    chosen = []
    for order, some in zip(samples.order, (rows, aims), strict=True):
        wanted = np.zeros(order.max() + 1, dtype=bool)
        wanted[some] = True
        chosen.append(order[wanted[order]])
    mass = np.concatenate(
        [
            weight[some] / weight[some].mean()
            for weight, some in zip(
                (samples.source_weight, samples.target_weight), chosen, strict=True
            )
        ]
    )
    units = samples.units.in_turn(chosen[0], chosen[1])
    found = Divisions.of(units, chosen[0].size, mass, seed, count)
    return Divided(chosen[0], chosen[1], found)
