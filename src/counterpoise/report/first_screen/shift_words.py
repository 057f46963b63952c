"""What was found of the shift beside the verdict, in a person's words.

The sentences are those of `diagnosis.findings_in_words`, from the record.
"""

from collections.abc import Sequence

from counterpoise.diagnosis.correlations import CorrelationShift
from counterpoise.diagnosis.detectable import Detectable
from counterpoise.diagnosis.findings_in_words import (
    said_of,
    said_of_digits,
    said_of_missed,
    said_of_pairs,
    said_of_spellings,
)
from counterpoise.diagnosis.shift_tests import ShiftTest
from counterpoise.report.record import Record
from counterpoise.report.wording import Sentence, for_a_person
from counterpoise.samples.coverage.spelling import Spelling


def by_which_tests(record: Record) -> Sentence:
    """Return on which tests the verdict rests, and what goes together otherwise."""
    tests = [ShiftTest.of_dict(one) for one in record.at("shift.tests") or ()]
    moved = record.at("shift.correlations") or ()
    pairs = [CorrelationShift.of_dict(one) for one in moved]
    return _after([*said_of(tests), *said_of_pairs(pairs)])


def could_be_missed(record: Record) -> Sentence:
    """Return which shifts could have been missed, where little was seen."""
    told = record.at("shift.detectable")
    missed = None if told is None else Detectable.of_dict(told)
    return _after(said_of_missed(record.at("shift.verdict"), missed))


def to_be_made_alike(record: Record) -> tuple[Sentence, ...]:
    """Return what to do about columns of other digits and categories of other words."""
    digits = list(map(str, record.at("shift.digits") or ()))
    spellings = [Spelling.of_dict(one) for one in record.at("shift.spellings") or ()]
    said = [*said_of_digits(digits), *said_of_spellings(spellings)]
    return tuple((for_a_person(one),) for one in said)


def _after(said: Sequence[str]) -> Sentence:
    """Return sentences that follow others."""
    return tuple(f" {for_a_person(one)}" for one in said)
