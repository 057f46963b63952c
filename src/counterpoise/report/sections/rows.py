"""The rows behind fitted weights: looked at for aggregates, never kept."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array
from counterpoise.samples.overlap_verdict import Overlap, overlap
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.encoding import TableEncoder
from counterpoise.tables.kinds import NUMBERS
from counterpoise.tables.table_column import TableColumn
from counterpoise.validation.warning import held_back


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Both samples as the weighter sees them, with the weights of the source rows.

    Attributes
    ----------
    samples : TwoSamples
    weights : array of shape (n,)
        The density ratio at the source rows.
    columns : tuple of str
        For each column of the samples, the name of the table's column behind it.
    encoder : TableEncoder or None
        How the samples were made of tables; None where they are as they came.
    """

    samples: TwoSamples = field(repr=False)
    weights: Array = field(repr=False)
    columns: tuple[str, ...]
    encoder: TableEncoder | None = None

    @classmethod
    def of(cls, weighter: Any, encoder: Any) -> "SeenRows | None":
        """Return the rows of a fitted weighter; None where it has kept none."""
        samples = getattr(weighter, "rows_of_fit", None)
        if samples is None:
            return None
        # The rows are kept as numbers, whatever names their columns had.
        with held_back(message="X does not have valid feature"):
            weights = weighter.weigh(samples.source)
        return cls(samples, weights, _columns(weighter, encoder), encoder)

    @property
    def n_target(self) -> int:
        """Target rows that count."""
        return int(self.samples.target.shape[0])

    @property
    def weighted_share(self) -> Array:
        """What a source row counts in a mean that stands for the target."""
        weight = self.samples.source_share * self.weights
        return weight / weight.sum()

    def column(self, name: str) -> tuple[TableColumn, TableColumn]:
        """Return a column of the table in both samples."""
        place = self.columns.index(name)
        both = (self.samples.source, self.samples.target)
        if self.encoder is None:
            first, second = (
                TableColumn(name, NUMBERS, _dense(rows[:, [place]])) for rows in both
            )
        else:
            label = self.encoder.columns_[place]
            first, second = (self.encoder.column_of(label, rows) for rows in both)
        return first, second

    def overlap(self, random_state: Any) -> Overlap:
        """Return how the samples overlap, by scores of the rows."""
        seed = random_state if isinstance(random_state, int) else 0
        return overlap(
            self.samples.source,
            self.samples.target,
            sample_weight=self.samples.source_share * self.samples.source_mass,
            target_weight=self.samples.target_share * self.samples.target_mass,
            random_state=seed,
        )


def _dense(column: Any) -> Array:
    found = column.toarray() if sparse.issparse(column) else column
    return np.asarray(found, dtype=float).ravel()


def _columns(weighter: Any, encoder: Any) -> tuple[str, ...]:
    if encoder is not None:
        return tuple(_name(label) for label in encoder.columns_)
    names = getattr(weighter, "feature_names_in_", None)
    if names is None:
        names = range(weighter.n_features_in_)
    return tuple(_name(label) for label in names)


def _name(label: Any) -> str:
    return label if isinstance(label, str) else f"x{label}"
