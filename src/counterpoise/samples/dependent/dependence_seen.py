"""Whether rows look as if they belonged together though nothing was said of it."""

from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from counterpoise.numerics.arrays import Array
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.tables.kinds import CATEGORIES
from counterpoise.tables.table_column import TableColumn

# Rank correlation of neighbours from which on they are alike, if it is no chance at
# this level; and rows of a sample that are looked at, the first, and needed.
ALIKE, ALIKE_LEVEL, ROWS_SEEN, FEWEST_ROWS = 0.3, 0.001, 5_000, 50
# Different values, times that each is there on the average, and the share of the
# target rows with a value that the source has, below which values are names of groups.
FEWEST_VALUES, REPEATS, SHARED = 10, 3.0, 0.1

_ASK = (
    "If rows belong to groups or follow each other in time, say so (groups= or time=; "
    "--groups or --time): till then every row counts for itself, and differences "
    "between groups or times may pass for a shift."
)


def asked_of(samples: SamplesAsRead, names: list[str]) -> str:
    r"""Return a question to the user where rows look dependent; else nothing.

    Neighbours are alike: in one of the samples, of at least 50 rows, the rank
    correlation r of a column's successive values, in the order in which the rows came,
    is at least 0.3 and :math:`r \sqrt n` above the normal quantile of
    :math:`1 - 0.001 / (2 d)` for d columns, by the first 5,000 rows. Columns in
    ascending or descending order are left out: a table may be sorted.

    Or a column has many repeats, as names or properties of groups have: 10 different
    values or more in each sample, each 3 times or more on the average, and less than
    10 % of the target rows have a value that the source has. Were rows drawn one by
    one, values that are so often repeated within a sample would be met in both.

    Rows drawn one by one are asked about once in a thousand times by the first rule.

    Parameters
    ----------
    samples : SamplesAsRead
        Of sparse matrices nothing is asked.
    names : list of str
        Of the columns of the matrices.
    """
    if samples.is_sparse:
        return ""
    for sample, rows in (("source", samples.source), ("target", samples.target)):
        r, column = alike_neighbors(rows[:ROWS_SEEN])
        if column >= 0:
            return (
                f"Rows look dependent: neighbours in the {sample} are alike (rank "
                f"correlation {r:.2f} of successive values of '{names[column]}'). "
                f"{_ASK}"
            )
    if samples.tables is not None:
        for x, t in zip(*(table.columns for table in samples.tables), strict=True):
            if names_groups(_values(x), _values(t)):
                return (
                    f"Rows look dependent: values of '{x.name}' come several times in "
                    f"one sample and hardly in both, as names of groups do. {_ASK}"
                )
    return ""


def alike_neighbors(X: Array) -> tuple[float, int]:
    """Return the largest rank correlation of neighbours, and its column; -1 for none.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(200, 2))
    >>> alike_neighbors(steps.cumsum(axis=0))[1] >= 0, alike_neighbors(steps)[1]
    (True, -1)
    """
    n, d = X.shape
    if n < FEWEST_ROWS:
        return 0.0, -1
    least = max(ALIKE, float(norm.isf(ALIKE_LEVEL / (2 * d))) / np.sqrt(n))
    best, at = 0.0, -1
    for j in range(d):
        steps = np.diff(X[:, j])
        if (steps >= 0).all() or (steps <= 0).all():
            continue
        ranks = rankdata(X[:, j])
        ranks -= ranks.mean()
        r = float(ranks[1:] @ ranks[:-1] / (ranks @ ranks))
        if r >= least and r > best:
            best, at = r, j
    return best, at


def names_groups(values: Any, target: Any) -> bool:
    """Return whether values repeat within the samples and hardly meet in both.

    Examples
    --------
    >>> names_groups(np.repeat(np.arange(20), 5), np.repeat(np.arange(20, 40), 5))
    True
    """
    for one in (values, target):
        count = np.unique(one).size
        if count < FEWEST_VALUES or one.size < REPEATS * count:
            return False
    return bool(np.isin(target, values).mean() < SHARED)


def _values(column: TableColumn) -> Any:
    there = column.values[~column.missing]
    if column.kind != CATEGORIES:
        return there
    return np.array(column.categories, dtype=object)[there].astype(str)
