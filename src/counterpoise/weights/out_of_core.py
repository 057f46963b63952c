"""Weights for tables in blocks.

A sample of each table, drawn by the places of its rows, is read like any two samples:
widths, penalties, families and the overlap are decided on it. What then touches every
row goes by blocks: the columns' scale, the moments or passes of methods that can
(`_fit_blocks`), and the ratio at all source rows, of mean one over them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.data.blocks import Blocks, rows_decided_on
from counterpoise.data.columns import column_limits
from counterpoise.data.parallel import map_reduce, whole_vector
from counterpoise.data.progress import announce
from counterpoise.data.samples import SamplesAsRead
from counterpoise.data.two_samples import (
    effective_sample_size,
    scale_columns,
    scale_of_moments,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array


@dataclass(frozen=True, eq=False)
class TwoBlocks:
    """Two tables of numbers in blocks, and a sample of each.

    Attributes
    ----------
    source, target : Blocks
        Matrices of finite numbers.
    drawn : SamplesAsRead
        At most 10,000 rows of each.
    names : tuple of str or None
    """

    source: Blocks
    target: Blocks
    drawn: SamplesAsRead
    names: tuple[str, ...] | None

    @classmethod
    def read(cls, X: Any, X_target: Any, seed: int) -> "TwoBlocks":
        """Return two tables, one of which at least comes in blocks."""
        source, target = Blocks.of(X).numbers(), Blocks.of(X_target).numbers()
        labels = source.labels, target.labels
        if None not in labels and labels[0] != labels[1]:
            raise InvalidInputError(
                f"X_target must have the columns of X, {list(labels[0] or ())}, got "
                f"{list(labels[1] or ())}"
            )
        rows, aims = (rows_decided_on(blocks, seed) for blocks in (source, target))
        if rows.shape[1] != aims.shape[1]:
            raise InvalidInputError(
                f"X has {rows.shape[1]} columns, X_target has {aims.shape[1]}"
            )
        names = None if labels[0] is None else tuple(map(str, labels[0]))
        drawn = SamplesAsRead.of_matrices(rows, aims, names=names)
        return cls(source, target, drawn, names)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Ends of every column beyond which rows are far outside the bulk."""
        counted = self.drawn.counted
        return column_limits(
            [
                (counted.source, counted.source_share),
                (counted.target, counted.target_share),
            ]
        )

    @cached_property
    def moments(self) -> tuple["ColumnMoments", "ColumnMoments"]:
        """Means and variances of the columns, rows far out put at the limits."""
        announce("reading every row: means and scales of the columns")
        work = CutMoments(*self.limits)
        return map_reduce(self.source, work), map_reduce(self.target, work)

    @cached_property
    def scale(self) -> Array:
        """The pooled scale of every column, as `pooled_scale` has it."""
        one, other = self.moments
        return scale_of_moments(
            (one.mean, one.variance), (other.mean, other.variance), self.names
        )

    def divided_by(self, scale: Array | None) -> tuple[Blocks, Blocks]:
        """Return both tables with their columns divided by a scale; None: as they are.

        So a method sees them; means and limits stay in the units of the columns.
        """
        if scale is None:
            return self.source, self.target
        divide = _Scaled(scale)
        return self.source.mapped(divide), self.target.mapped(divide)


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """How many rows, their means and their summed squares about them."""

    n: int
    mean: Array
    squares: Array

    @property
    def variance(self) -> Array:
        """The variance of every column."""
        return self.squares / self.n

    def __add__(self, later: "ColumnMoments") -> "ColumnMoments":
        """Return the moments of both, by Chan's formula, which loses no digits."""
        n = self.n + later.n
        apart = later.mean - self.mean
        return ColumnMoments(
            n,
            self.mean + apart * (later.n / n),
            self.squares + later.squares + apart**2 * (self.n * later.n / n),
        )


@dataclass(frozen=True, eq=False)
class CutMoments:
    """The moments of a block's rows, those far out put at limits."""

    low: Array
    high: Array

    def __call__(self, rows: Array, first: int) -> ColumnMoments:
        """Return the moments of a block."""
        cut = np.clip(rows, self.low, self.high)
        mean = cut.mean(axis=0)
        return ColumnMoments(len(cut), mean, ((cut - mean) ** 2).sum(axis=0))


@dataclass(frozen=True, eq=False)
class _Scaled:
    scale: Array

    def __call__(self, rows: Array) -> Any:
        return scale_columns(rows, self.scale)


@dataclass(frozen=True, eq=False)
class RatioOfRows:
    """The ratio that a fitted weight estimator gives the rows of a block, as weights "
    "or not."""

    weight_estimator: Any
    normalized: bool

    def __call__(self, rows: Array, first: Any) -> Array:
        """Return the ratio at a block's rows."""
        if self.normalized:
            return self.weight_estimator._weigh_rows(rows)
        return self.weight_estimator._predict_weights(
            self.weight_estimator._scaled(rows)
        )


def fit_to_blocks(weight_estimator: Any, X: Any, X_target: Any) -> None:
    """Fit a weight estimator to two tables, of which one at least comes in blocks."""
    if weight_estimator.needs_labels:
        raise InvalidTypeError(
            f"{type(weight_estimator).__name__} takes no blocks: its weights are no "
            f"function "
            "of a row's columns. AutoWeights, KLIEP, ULSIF, RULSIF and LogLinearKLIEP "
            "take them"
        )
    both = TwoBlocks.read(X, X_target, weight_estimator._seed())
    weight_estimator._fit_samples(both.drawn)
    solution = weight_estimator._fit_blocks(both)
    if solution is not None:
        weight_estimator._set_solution(solution)
    weigh_all(weight_estimator, both.source)


def weigh_all(weight_estimator: Any, source: Blocks) -> None:
    """Set the weights of all source rows, of mean one over them."""
    ratio = ratio_at(weight_estimator, source)
    share = np.full(ratio.size, 1.0 / ratio.size)
    weight_estimator.weights_ = weight_estimator._as_weights(ratio, 1.0, share)
    weight_estimator.effective_sample_size_ = effective_sample_size(
        weight_estimator.weights_
    )


def fit_sums(weight_estimator: Any, both: TwoBlocks) -> "WeightSums":
    """Fit to all rows a weight estimator that has been fitted to the sample of both.

    Only what rows add up to is kept: `weights_` stay those of the sample's rows.
    """
    solution = weight_estimator._fit_blocks(both)
    if solution is not None:
        weight_estimator._set_solution(solution)
    announce("weighing every row")
    sums = map_reduce(both.source, SumsOfRows(lean(weight_estimator)))
    weight_estimator._set_mean(sums.total / sums.n)
    return sums


@dataclass(frozen=True)
class WeightSums:
    """What the ratios of all rows, to the weight estimator's exponent, add up to."""

    n: int
    total: float
    squares: float
    largest: float

    def __add__(self, later: "WeightSums") -> "WeightSums":
        return WeightSums(
            self.n + later.n,
            self.total + later.total,
            self.squares + later.squares,
            max(self.largest, later.largest),
        )

    @property
    def effective_size(self) -> float:
        """The number of equally weighted rows that average as well."""
        return self.total**2 / self.squares if self.squares > 0.0 else float(self.n)


@dataclass(frozen=True, eq=False)
class SumsOfRows:
    """A block's part of the sums."""

    weight_estimator: Any

    def __call__(self, rows: Array, first: int) -> WeightSums:
        """Return a block's part."""
        ratio = RatioOfRows(self.weight_estimator, normalized=False)(rows, first)
        ratio = ratio**self.weight_estimator.exponent
        return WeightSums(
            len(ratio), float(ratio.sum()), float(ratio @ ratio), float(ratio.max())
        )


def largest_weight(weight_estimator: Any, both: TwoBlocks) -> float:
    """Return the largest weight of a target row that is not far outside the bulk."""
    return map_reduce(
        both.target, _LargestOfTarget(lean(weight_estimator), *both.limits), max
    )


@dataclass(frozen=True, eq=False)
class _LargestOfTarget:
    weight_estimator: Any
    low: Array
    high: Array

    def __call__(self, rows: Array, first: int) -> float:
        near = ((rows >= self.low) & (rows <= self.high)).all(axis=1)
        rows = rows[near]
        return (
            float(self.weight_estimator._weigh_rows(rows).max()) if len(rows) else 0.0
        )


def ratio_at(
    weight_estimator: Any, blocks: Blocks, *, normalized: bool = False
) -> Array:
    """Return a fitted weight estimator's ratio at all rows of blocks, in their "
    "order."""
    announce("weighing every row")
    work = RatioOfRows(lean(weight_estimator), normalized)
    return np.asarray(whole_vector(blocks, work))


def lean(weight_estimator: Any) -> Any:
    """Return a copy that weighs and carries no rows, to be sent to workers."""
    out = weight_estimator.without_rows()
    out.__dict__.pop("weights_", None)
    return out


@dataclass(frozen=True, eq=False)
class WeightsOfRows:
    """The weights of a block's rows as a column to be written."""

    weight_estimator: Any
    column: str

    def __call__(self, rows: Array, first: int) -> dict[str, Array]:
        """Return the column of a block's rows."""
        if not self.weight_estimator.has_target_:
            return {self.column: np.ones(len(rows))}
        return {self.column: self.weight_estimator._weigh_rows(rows)}
