"""How unlike two samples fill cells, by units that are divided by chance."""

import numpy as np

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.cells import blocks_of
from counterpoise.samples.dependent.divisions import Divisions, by_chance, divided
from counterpoise.samples.holes import Holes

# Columns of which pairs are looked at, the first; and the finest cuts of a column by
# itself and in a pair: units are few, however many rows they have.
PAIRED, ALONE_CUT, PAIR_CUT = 20, 8, 4


def cells_by_units(
    samples: SamplesAsRead, rows: Indices, aims: Indices, seed: int
) -> Holes:
    r"""Return how unlike samples with units fill the cells of columns and pairs.

    Of each column, cut into 8 cells of equal ranks, and of each pair of the first 20,
    cut into 4 by 4 (a category: by its levels), the statistic is

    .. math:: T^3 = \sum_c \frac{(t_c - s_c)^2}{t_c + s_c}

    with t and s the shares of the target and the source in a cell, and the p-value that
    of divisions of the units by chance, corrected for all of them (`by_chance`). Which
    rows lie in holes is not told: rows of a group are no evidence of their own.

    Parameters
    ----------
    samples : SamplesAsRead
        With units. Of sparse matrices nothing is told.
    rows, aims : array of int
        Rows of source and target that are looked at.
    seed : int
        Of the divisions.
    """
    if samples.is_sparse:
        return Holes(1.0)
    found = divided(samples, rows, aims, seed)
    blocks = blocks_of(
        np.vstack([samples.source[found.rows], samples.target[found.aims]])
    )
    if not blocks:
        return Holes(1.0)
    sets = [(k,) for k in range(len(blocks))]
    statistics = [_unlike(found.divisions, blocks[k].cells(ALONE_CUT)) for (k,) in sets]
    few = [one.cells(PAIR_CUT) for one in blocks[:PAIRED]]
    pairs: list[tuple[int, ...]] = list(sets)
    for a in range(len(few)):
        for b in range(a + 1, len(few)):
            pairs.append((a, b))
            statistics.append(
                _unlike(found.divisions, few[a] * (int(few[b].max()) + 1) + few[b])
            )
    chance = by_chance(np.column_stack(statistics)).corrected
    least = int(np.argmin(chance))
    columns = tuple(int(j) for k in pairs[least] for j in blocks[k].columns)
    return Holes(float(chance[least]), columns)


def _unlike(divisions: Divisions, cells: Indices) -> Array:
    """Return T of every division, the cube root of the sum over the cells."""
    names, cells = np.unique(cells, return_inverse=True)
    apart = divisions.shares_apart(cells, names.size)
    whole = np.bincount(cells, divisions.mass, names.size) / divisions.mass.sum()
    found: Array = np.cbrt((apart**2 / whole).sum(axis=1))
    return found
