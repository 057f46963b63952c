"""The tests on which the verdict rests, corrected together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from counterpoise.diagnosis.features import FeatureShift
from counterpoise.diagnosis.rank_moments import MomentTest, moment_test
from counterpoise.numerics.arrays import Array
from counterpoise.samples.coverage.thin_by_chance import thin_by_chance
from counterpoise.samples.domain_scores import TEST_LEVEL
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.overlap_verdict import Overlap, verdict
from counterpoise.samples.two_samples import TwoSamples

CLASSIFIER, HOLES, KERNEL_MEANS = "classifier", "cells and neighbours", "kernel means"
COLUMNS, MOMENTS = "columns", "means, spreads and correlations"
# Numbers whose ranks are looked at: with many columns there are fewer rows.
_ENTRIES, _FEWEST_ROWS = 150_000, 500


@dataclass(frozen=True)
class ShiftTest:
    """One test of whether the samples differ.

    Attributes
    ----------
    name : str
        "classifier" (the AUC), "columns" (each by itself, Holm), "means, spreads and
        correlations" (of the ranks of numbers), "cells and neighbours" (of columns,
        pairs and rows, `overlap`), "kernel means" (the maximum mean discrepancy).
    p_value : float
        Corrected for all that the test looks at.
    tells : bool
        Whether it tells the samples apart: at a level of 0.01, so that five tests raise
        a false alarm with a chance of 0.05 at most (Bonferroni).
    about : tuple of str
        The columns that it speaks of; none if all.
    """

    name: str
    p_value: float
    tells: bool
    about: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {**asdict(self), "about": list(self.about)}

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> "ShiftTest":
        """Return what `to_dict` told."""
        about = tuple(map(str, told["about"]))
        return cls(str(told["name"]), told["p_value"], bool(told["tells"]), about)


def rows_to_rank(d: int) -> int:
    """Return how many rows of a sample are ranked, given the number of columns."""
    return max(_ENTRIES // d, _FEWEST_ROWS)


def shift_tests(
    covered: Overlap,
    features: Sequence[FeatureShift],
    names: Sequence[str],
    mmd_p_value: float | None = None,
    ranked: TwoSamples | None = None,
    moments: MomentTest | None = None,
) -> tuple[ShiftTest, ...]:
    """Return the tests that could be made.

    Parameters
    ----------
    covered : Overlap
    features : sequence of FeatureShift
        With corrected p-values.
    names : sequence of str
        Of the columns of the matrices, by the columns of the table.
    mmd_p_value : float or None
    ranked : TwoSamples or None
        Rows whose ranks are compared.
    moments : MomentTest or None
        What was found, where they were compared already.
    """
    # The interval tells, and not its p-value: rounding must not come between them.
    found = [ShiftTest(CLASSIFIER, covered.auc_p_value, covered.auc_low > 0.5)]
    holes = covered.holes
    about = tuple(dict.fromkeys(names[j] for j in holes.most_unlike))
    everything = len(about) == len(set(names)) > 2
    found.append(_test(HOLES, holes.p_value, () if everything else about))
    tested = [one for one in features if one.adjusted_p_value is not None]
    if tested:
        chance = [one.adjusted_p_value or 0.0 for one in tested]
        least = int(np.argmin(chance))
        found.append(_test(COLUMNS, chance[least], (tested[least].name,)))
    if ranked is not None:
        moments = moment_test(ranked)
    if moments is not None:
        about = tuple(dict.fromkeys(names[j] for j in moments.columns))
        found.append(_test(MOMENTS, moments.p_value, about))
    if mmd_p_value is not None:
        found.append(_test(KERNEL_MEANS, mmd_p_value))
    return tuple(found)


def verdict_by(
    tests: Sequence[ShiftTest], covered: Overlap, share: Array, target_share: Array
) -> str:
    """Return the verdict of `overlap`'s table, by all tests."""
    sizes = [effective_sample_size(one) for one in (share, target_share)]
    told = any(test.tells for test in tests)
    return verdict(
        covered.auc,
        covered.auc_low,
        covered.thin,
        thin_by_chance(*(covered.units or sizes)),
        min(sizes) if covered.enough else 0.0,
        told=told,
        thin_low=covered.thin_low,
    )


def _test(name: str, p_value: float, about: tuple[str, ...] = ()) -> ShiftTest:
    return ShiftTest(name, p_value, p_value <= TEST_LEVEL, about)
