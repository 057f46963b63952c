"""Whether and where two samples differ: all that was found, with a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from counterpoise.diagnosis.words import (
    diagnosis_explanation,
    diagnosis_html,
    diagnosis_text,
)
from counterpoise.diagnosis.correlations import CorrelationShift
from counterpoise.diagnosis.detectable import Detectable
from counterpoise.diagnosis.features import FeatureShift
from counterpoise.diagnosis.reweighting import Reweighting
from counterpoise.diagnosis.shift_tests import (
    ShiftTest,
)
from counterpoise.diagnosis.tests_of_units import (
    Dependence,
)
from counterpoise.diagnosis.thin_rows import ThinRows
from counterpoise.samples.coverage.separating_columns import (
    Separation,
)
from counterpoise.samples.coverage.spelling import Spelling
from counterpoise.samples.overlap_verdict import Overlap


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What has shifted between two samples, and what is still covered.

    Attributes
    ----------
    verdict : str
        "no shift found", "small shift", "shift, covered", "shift, thin in part",
        "no overlap" or "too few rows to tell", by the table of `overlap`, in which all
        of `tests` take part.
    tests : tuple of ShiftTest
        What the verdict rests on: five tests, each of level 0.01.
    correlations : tuple of CorrelationShift
        Where there is a shift: pairs of columns that go together otherwise, those that
        moved most first (20 at most). None of sparse matrices.
    explanation : str
        What it means and what to do next, in sentences.
    auc, auc_low, auc_high : float
        How well a classifier tells the samples apart, with its interval of level 0.95.
    thin : float
        Share of the target that lies where only the outermost 0.5 % of the source
        rows are, or in holes among them.
    thin_low, thin_high : float or None
        Its interval of level 0.95; the verdict is "no overlap" where its lower end is
        above one half.
    detectable : Detectable or None
        The smallest shifts of four kinds that would be found with a chance of 0.8: what
        could have been missed. None for sparse matrices and rows that belong together.
    dependence : Dependence or None
        The groups or blocks of time that rows belong to, if they were said.
    asks : str
        A question, where rows look dependent and nothing was said; empty if not.
    digits : tuple of str
        Columns that the samples record to different digits, or in different units of
        rounding. Classifiers and neighbourhoods compare them as if they did not
        (`samples.coverage.digits`).
    spellings : tuple of Spelling
        Categories of the target that the source has in another spelling ("Yes" for
        "yes"), the commonest first (`samples.coverage.spelling`).
    separation : Separation or None
        Where there is no overlap: the columns that make the samples disjoint, how, and
        what is covered without them. None where it is not columns.
    thin_rows : ThinRows
        A description of that part: columns and ranges, never a row.
    mmd, mmd_p_value : float or None
        The maximum mean discrepancy of standardised columns, and the chance of one as
        large if nothing had shifted; None for sparse matrices, the second also where
        no permutation was asked for.
    discrepancy : float or None
        Of standardised columns with a constant: what linear models can see of the
        shift. None for sparse matrices and more than 1,000 columns.
    features : tuple of FeatureShift
        Every feature by itself, in the order of the columns.
    n_source, n_target : int
        Rows that count, of a weight above zero.
    dropped : dict
        Columns that were left out, each with the reason.
    unseen : dict
        For each column of categories the share of the target rows whose category the
        source does not have.
    note : str
        What could not be computed; empty if nothing.
    reweighting : Reweighting or None
        How much of the discrepancy weights of the source rows can remove, and the
        direction that cannot be matched; the same is None for the same.
    overlap : Overlap or None
        The scores of the rows behind `auc` and `thin`; not part of `to_dict`.
    watched : bool
        Whether the words are about a model that is watched (`Adapted.diagnose`), its
        source being the target of the fit; not part of `to_dict`.
    source_duplicates, target_duplicates : int or None
        Rows that equal one before them in every column that counts; not part of
        `to_dict`.
    """

    verdict: str
    explanation: str
    auc: float
    auc_low: float
    auc_high: float
    thin: float
    thin_rows: ThinRows
    mmd: float | None
    mmd_p_value: float | None
    discrepancy: float | None
    features: tuple[FeatureShift, ...] = field(repr=False)
    n_source: int
    n_target: int
    dropped: Mapping[str, str]
    unseen: Mapping[str, float]
    note: str = ""
    reweighting: Reweighting | None = field(default=None, repr=False)
    overlap: Overlap | None = field(default=None, repr=False)
    source_duplicates: int | None = None
    target_duplicates: int | None = None
    tests: tuple[ShiftTest, ...] = ()
    thin_low: float | None = None
    thin_high: float | None = None
    detectable: Detectable | None = None
    dependence: Dependence | None = None
    asks: str = ""
    digits: tuple[str, ...] = ()
    correlations: tuple[CorrelationShift, ...] = ()
    spellings: tuple[Spelling, ...] = ()
    separation: Separation | None = None
    watched: bool = False

    def explained(self) -> "Diagnosis":
        """Return the same with what it means in sentences."""
        return replace(self, explanation=diagnosis_explanation(self))

    def as_watched(self) -> "Diagnosis":
        """Return the same about a model that is watched.

        The source is then the target of its fit, and the target today's rows.
        """
        return replace(self, watched=True).explained()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dictionaries."""
        return {
            "verdict": self.verdict,
            "explanation": self.explanation,
            "auc": self.auc,
            "auc_low": self.auc_low,
            "auc_high": self.auc_high,
            "thin": self.thin,
            "thin_low": self.thin_low,
            "thin_high": self.thin_high,
            "detectable": None
            if self.detectable is None
            else self.detectable.to_dict(),
            "dependence": None
            if self.dependence is None
            else self.dependence.to_dict(),
            "asks": self.asks,
            "digits": list(self.digits),
            "spellings": [one.to_dict() for one in self.spellings],
            "correlations": [pair.to_dict() for pair in self.correlations],
            "separation": None
            if self.separation is None
            else self.separation.to_dict(),
            "thin_rows": self.thin_rows.to_dict(),
            "mmd": self.mmd,
            "mmd_p_value": self.mmd_p_value,
            "discrepancy": self.discrepancy,
            "correction": "Holm",
            "tests": [test.to_dict() for test in self.tests],
            "features": [feature.to_dict() for feature in self.features],
            "n_source": self.n_source,
            "n_target": self.n_target,
            "dropped": dict(self.dropped),
            "unseen": dict(self.unseen),
            "note": self.note,
            "spectrum": (
                None if self.reweighting is None else self.reweighting.to_dict()
            ),
        }

    def __str__(self) -> str:
        return diagnosis_text(self)

    def _repr_html_(self) -> str:
        return diagnosis_html(self)
