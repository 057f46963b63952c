"""Whether weighted source rows look like the target, column by column."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from counterpoise.numerics.arrays import Array
from counterpoise.report.sections.rows import SeenRows
from counterpoise.tables.parts import cut_column

# Differences above this are worth a look, by custom.
GUIDE = 0.1
# Columns that are listed, those that differed most.
_COLUMNS_RECORDED = 1_000
# Columns whose distributions are told, and into how many parts each is cut.
_WORST_COLUMNS, _PARTS_OF_A_COLUMN = 3, 8


def balance_section(rows: SeenRows) -> dict[str, Any]:
    r"""Return standardised mean differences before and after weighting.

    For a column with source mean :math:`\mu`, weighted source mean :math:`\mu_w` and
    target mean :math:`\nu`, :math:`|\nu - \mu| / s` and :math:`|\nu - \mu_w| / s` with
    :math:`s^2` the mean of the two variances without weights. Of a column of
    categories, of dates or with missing values, the largest among the columns that
    encode it. `worst` has the distributions of the three columns with the largest
    difference, before or after.
    """
    samples = rows.samples
    weight = rows.weighted_share
    mean, variance = _moments(samples.source, samples.source_share)
    after, _ = _moments(samples.source, weight)
    target, variance_target = _moments(samples.target, samples.target_share)
    spread = np.sqrt((variance + variance_target) / 2)
    # What rounding makes of the spread of a constant column is no unit.
    size = np.maximum(np.abs(mean), np.abs(target))
    known = spread > 1e-12 * np.maximum(size, 1e-300)
    differences = [
        np.divide(np.abs(target - m), spread, out=np.zeros(m.size), where=known)
        for m in (mean, after)
    ]
    found: dict[str, list[float]] = {}
    for j, name in enumerate(rows.columns):
        pair = [float(one[j]) for one in differences]
        worst = found.setdefault(name, pair)
        found[name] = [max(a, b) for a, b in zip(worst, pair, strict=True)]
    order = sorted(found, key=lambda name: -found[name][0])
    features = [
        {"name": name, "before": found[name][0], "after": found[name][1]}
        for name in order[:_COLUMNS_RECORDED]
    ]
    values = np.array(list(found.values()))
    return {
        "guide": GUIDE,
        "columns": len(found),
        "above_before": int(np.count_nonzero(values[:, 0] > GUIDE)),
        "above_after": int(np.count_nonzero(values[:, 1] > GUIDE)),
        "largest_before": float(values[:, 0].max()),
        "largest_after": float(values[:, 1].max()),
        "features": features,
        "worst": [
            {"name": name, "before": pair[0], "after": pair[1], **_parts(rows, name)}
            for name, pair in sorted(found.items(), key=lambda one: -max(one[1]))[
                :_WORST_COLUMNS
            ]
        ],
    }


def _parts(rows: SeenRows, name: str) -> dict[str, Any]:
    """Return the distribution of a column in parts: source, weighted source, target."""
    samples = rows.samples
    source, target = rows.column(name)
    parts = cut_column(
        source,
        target,
        samples.source_share,
        samples.target_share,
        most=_PARTS_OF_A_COLUMN,
    )
    shares = zip(
        parts.parts,
        parts.shares(samples.source_share).tolist(),
        parts.shares(rows.weighted_share).tolist(),
        parts.shares(samples.target_share, of_target=True).tolist(),
        strict=True,
    )
    return {
        "kind": source.kind,
        "parts": [
            {**part.to_dict(), "source": p, "weighted": w, "target": q}
            for part, p, w, q in shares
        ],
    }


def _moments(X: Any, share: Array) -> tuple[Array, Array]:
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=share)
        return mean, variance
    mean = share @ X
    # A column at a time: no copy of the table.
    columns = range(X.shape[1])
    return mean, np.array([share @ (X[:, j] - mean[j]) ** 2 for j in columns])
