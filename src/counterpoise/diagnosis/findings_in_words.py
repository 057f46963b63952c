"""What a diagnosis found beside its verdict, in sentences for every reader.

They speak of source and target; `report.wording.for_a_person` makes them those of the
page and the terminal.
"""

from collections.abc import Sequence

from counterpoise.diagnosis.correlations import CorrelationShift
from counterpoise.diagnosis.detectable import Detectable
from counterpoise.diagnosis.percentages import percentage
from counterpoise.diagnosis.shift_tests import ShiftTest
from counterpoise.diagnosis.text_tables import in_quotes
from counterpoise.samples.coverage.spelling import Spelling
from counterpoise.samples.overlap_verdict import NO_SHIFT, SMALL_SHIFT

# Columns and pairs that are named; the others are counted.
_NAMED = 3


def said_of(tests: Sequence[ShiftTest]) -> list[str]:
    """Return which tests tell the samples apart, if the classifier is not among them.

    Where it is, its sentence says enough.
    """
    telling = [test for test in tests if test.tells]
    if not telling or tests[0].tells:
        return []
    told = ", ".join(
        test.name
        + (f" ({' with '.join(map(in_quotes, test.about))})" if test.about else "")
        for test in telling
    )
    return [
        f"That may be chance, but by another test the samples differ by more: {told}."
    ]


def said_of_pairs(pairs: Sequence[CorrelationShift]) -> list[str]:
    """Return which columns go together otherwise, if any do."""
    if not pairs:
        return []
    told = "; ".join(
        f"{' with '.join(map(in_quotes, pair.columns))} (rank correlation "
        f"{_signed(pair.source)} in the source, {_signed(pair.target)} in the target)"
        for pair in pairs[:_NAMED]
    )
    return [f"What goes together otherwise: {told}{_others(len(pairs))}."]


def _signed(number: float) -> str:
    """Return two decimals with a sign, which zero has not."""
    rounded = f"{number:+.2f}"
    return rounded if float(rounded) else rounded[1:]


def said_of_digits(digits: Sequence[str]) -> list[str]:
    """Return that columns are recorded to different digits, if any are."""
    if not digits:
        return []
    names = ", ".join(map(in_quotes, digits[:_NAMED]))
    return [
        f"The source and the target record {names}{_others(len(digits))} to different "
        "digits. Classifiers and neighbourhoods look past that here, but a model that "
        "was trained on one may not: round both alike."
    ]


def said_of_spellings(spellings: Sequence[Spelling]) -> list[str]:
    """Return which categories the samples spell otherwise, if any."""
    if not spellings:
        return []
    told = ", ".join(
        f"{in_quotes(one.target)} for {in_quotes(one.source)} in "
        f"{in_quotes(one.column)} ({percentage(one.share)} of the target rows)"
        for one in spellings[:_NAMED]
    )
    return [
        f"The target seems to spell categories of the source otherwise: {told}"
        f"{_others(len(spellings))}. To a model these are new categories: spell both "
        "alike."
    ]


def said_of_missed(verdict: str, missed: Detectable | None) -> list[str]:
    """Return what could have been missed, where little was seen."""
    if missed is None or verdict not in (NO_SHIFT, SMALL_SHIFT):
        return []
    return [str(missed)]


def _others(n: int) -> str:
    return f" and {n - _NAMED} more" if n > _NAMED else ""
