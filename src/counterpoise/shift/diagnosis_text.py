"""Sentences and tables that describe a diagnosis."""

import datetime
import re
from collections.abc import Sequence
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from counterpoise.data.table import CATEGORIES, DATES, ZONED_DATES
from counterpoise.shift.columns import CorrelationShift, FeatureShift
from counterpoise.shift.kernel_two_sample import (
    TEST_LEVEL,
)
from counterpoise.shift.separation import (
    Spelling,
    UncoveredColumn,
    UncoveredRows,
)
from counterpoise.shift.support import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    PARTIAL_OVERLAP,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    TOO_FEW,
    rows_that_tell,
)
from counterpoise.shift.verdict_tests import (
    Detectable,
    ShiftTest,
)

if TYPE_CHECKING:
    from counterpoise.shift.diagnosis import Diagnosis


# -----------------------------------------------------------------------------
# Shares as percentages, and large numbers, without powers of ten.
# -----------------------------------------------------------------------------


# Less than this away from nothing or from all is rounding.
_ROUNDING = 1e-9


def percentage(share: float) -> str:
    """Return a share as a percentage, in two or three figures and never as a power.

    What is not all, or not nothing, does not look like it; what rounding leaves of
    either does.

    Examples
    --------
    >>> percentage(0.1234), percentage(0.0001), percentage(0.9999), percentage(12.0)
    ('12.3 %', '< 0.1 %', '> 99.9 %', '1,200 %')
    >>> percentage(-2.2e-16), percentage(1 + 2.2e-16), percentage(-0.04)
    ('0 %', '100 %', '-4 %')
    """
    size = abs(share)
    if size < _ROUNDING:
        return "0 %"
    if abs(size - 1) < _ROUNDING:
        return "100 %" if share > 0 else "-100 %"
    if size < 0.001:
        return "< 0.1 %" if share > 0 else "> -0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    if size >= 9.995:
        return f"{100 * share:,.0f} %"
    return f"{100 * share:.3g} %" if size >= 0.1 else f"{100 * share:.2g} %"


def in_figures(value: float, digits: int) -> str:
    """Return a number in so many figures, whole and never as a power where it is large.

    Examples
    --------
    >>> in_figures(391.2, 2), in_figures(0.01234, 2), in_figures(12345.6, 4)
    ('391', '0.012', '12,346')
    """
    if 10 ** (digits - 1) <= abs(value) < 1e9:
        return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return f"{value:.{digits}g}"


def points(share: float) -> str:
    """Return a difference of shares in points, with its sign and one decimal.

    Examples
    --------
    >>> points(0.1234), points(-1e-17), points(1.0)
    ('+12.3', '0', '+100')
    """
    said = f"{100 * share:+.1f}".removesuffix(".0")
    return "0" if said in ("+0", "-0") else said


# -----------------------------------------------------------------------------
# Rows of cells as lines of text and as a table of HTML, every text escaped.
# -----------------------------------------------------------------------------


_LONGEST_NAME = 30


def aligned(rows: Sequence[Sequence[str]], *, numbers: bool) -> list[str]:
    """Return lines, the columns one below the other; numbers to the right."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        for cell, width in zip(others, widths[1:], strict=True):
            cells.append(cell.rjust(width) if numbers else cell.ljust(width))
        lines.append("  ".join(cells).rstrip())
    return lines


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of HTML."""
    head = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in header)
    head = f"<thead><tr>{head}</tr></thead>" if header else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{safe(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"


def safe(text: str) -> str:
    """Return text that is safe within HTML."""
    return escape(text, quote=True)


def in_quotes(name: str) -> str:
    """Return a name as it stands in a sentence."""
    return f"'{printable(name)}'"


def printable(text: str, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name as it can be printed: on one line, and not too long.

    Examples
    --------
    >>> printable("a\nb")
    'a\\nb'
    >>> printable("1\xa0000")
    '1 000'
    """
    # Longer ones are cut before they are looked through.
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode()
        # The space that does not break a line is a space.
        for c in text[: longest + 1].replace("\xa0", " ")
    )
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# -----------------------------------------------------------------------------
# The words about a model that is watched: new rows beside the new data of its fit.
# -----------------------------------------------------------------------------


COMPARED = "Compared with the new data of the fit: "
MEANING = {
    NO_SHIFT: "no change was found.",
    SMALL_SHIFT: "there is a small change, and today's rows lie where the fit had "
    "some.",
    COVERED: "today's rows have changed, but they lie where the fit had some.",
    PARTIAL_OVERLAP: "today's rows have changed, and a part of them, "
    "{uncovered_fraction}, lies "
    "where "
    "the fit had next to none.",
    NO_OVERLAP: "these are other rows: {uncovered_fraction} of them lie where the fit "
    "had next to "
    "none.",
    TOO_FEW: "there are too few rows.",
}
NEXT = {
    NO_SHIFT: "Next: nothing needs to be done. What was estimated at the fit is still "
    "the best guess.",
    SMALL_SHIFT: "Next: go on, and look again soon. What was estimated at the fit may "
    "be a little off.",
    COVERED: "Next: estimate the score on today's rows; what was estimated at the fit "
    "is not about them. Fit again with them as the target if it has become worse.",
    PARTIAL_OVERLAP: "Next: do not trust predictions in the part that is new before "
    "some "
    "of its rows have labels; fit again with today's rows as the target, and see what "
    "the training data cover.",
    NO_OVERLAP: "Next: do not rely on this model there. Fit again with today's rows as "
    "the target: whether the training data cover them is told then.",
    TOO_FEW: "Next: come back with more rows, 100 if you can.",
}
_QUOTED = re.compile(r"((?<!\w)'.*?'(?!\w))")
_TODAY, _FIT = "today's rows", "the rows of the fit"
# From the longest to the shortest, so that no part of a longer one is taken.
_WORDS = (
    (r"\b[Tt]arget rows with\b", "Of today's rows those with"),
    (r"(?<=\d) target rows\b", " of today's rows"),
    (r"\b(?:the )?source rows\b", _FIT),
    (r"\b(?:the )?target rows\b", _TODAY),
    (r"\bthe target's\b", "today's"),
    (r"\bThe target seems\b", "Today's rows seem"),
    (r"\bThe source\b", "The rows of the fit"),
    (r"\bthe source has\b", "the rows of the fit have"),
    (r"\bthe source\b", _FIT),
    (r"\bthe target\b", _TODAY),
    (r"\bAUC of source against target\b", "AUC of the fit's rows against today's"),
    (r"\bsource\b", "at the fit"),
    (r"\btarget\b", "today"),
)


def as_watched(words: str) -> str:
    """Return words about source and target as words about the fit and today.

    What is quoted is somebody's own name, and stays.

    Examples
    --------
    >>> as_watched("'the source' differs: 5 % of the target rows")
    "'the source' differs: 5 % of today's rows"
    """
    parts = _QUOTED.split(words)
    for k in range(0, len(parts), 2):
        for pattern, put in _WORDS:
            parts[k] = re.sub(pattern, put, parts[k])
    return "".join(parts)


# -----------------------------------------------------------------------------
# What a diagnosis found beside its verdict, in sentences for every reader.
#
# They speak of source and target; `report.wording.for_a_person` makes them those of
# the
# page and the terminal.
# -----------------------------------------------------------------------------


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


# -----------------------------------------------------------------------------
# A diagnosis in words, as a text table and as HTML.
# -----------------------------------------------------------------------------


# Features that are printed; the others are counted.
SHOWN = 20
# What is worth a word: an effect, a share of rows.
_WORTH_A_WORD, _MANY = 0.1, 0.01
_WIDTH = 88
# Shares: of the discrepancy, as good as all of it; of a direction, worth naming.
NEARLY_ALL, _PART_OF_IT = 0.95, 0.2

_HEADER = ("feature", "effect", "SMD", "distance", "p (Holm)", "missing", "new")

_MEANING = {
    NO_SHIFT: "No shift was found: the target rows look like the source rows.",
    SMALL_SHIFT: "There is a small shift: the target rows differ a little from the "
    "source rows, and they lie where the source has rows.",
    COVERED: "There is a shift: the target rows differ from the source rows, but they "
    "lie where the source has rows, so that the source can speak for them.",
    PARTIAL_OVERLAP: "There is a shift, and a part of the target, "
    "{uncovered_fraction}, lies where "
    "the "
    "source has next to no rows: about that part the source cannot say much.",
    NO_OVERLAP: "The two samples hardly overlap: {uncovered_fraction} of the target "
    "lies where the "
    "source has next to no rows.",
    TOO_FEW: "There are too few rows: with fewer than "
    f"{ROWS_OF_WORTH_TO_TELL} rows of worth in a sample chance alone could make these "
    "numbers with or without a shift.",
}
_NEXT = {
    NO_SHIFT: "Next: nothing needs to be done. Train as usual, and expect the score of "
    "held-out source rows.",
    SMALL_SHIFT: "Next: little is to be gained. Letting rows that look like the target "
    "count more in the fit is safe where it is tried against leaving them alone, as "
    "`Adapted` does; estimate the score on the target rather than trust that of the "
    "source.",
    COVERED: "Next: let rows that look like the target count more in the fit, if that "
    "helps your model (`Adapted` tries it and says so; simple models gain most), and "
    "estimate its score on the target: that of held-out source rows may mislead.",
    PARTIAL_OVERLAP: "Next: adapt and estimate for the covered part only. Of the "
    "thinly "
    "covered rows label some, or collect source rows like them, and do not trust "
    "predictions there before.",
    NO_OVERLAP: "Next: do not rely on a model of this source there. No weights make "
    "the source stand for such a target: label target rows, or collect source rows "
    "like them.",
    TOO_FEW: f"Next: come back with more rows: {rows_that_tell()} of each sample tell "
    "a thinly covered share of 5 % from chance.",
}
_UNSEEN = (
    "No look at the columns can tell whether the label depends on them in the target "
    "as it does in the source: a few labelled target rows can."
)


def diagnosis_explanation(found: "Diagnosis") -> str:
    """Return what was found, what it means and what to do, in sentences."""
    meaning = _MEANING[found.verdict].format(
        uncovered_fraction=percentage(found.uncovered_fraction)
    )
    told = (
        f"Asked which of two rows is the target's, a model is right {_times(found.auc)}"
        " times in 100; guessing is right 50 times."
    )
    sentences = [meaning, told, *said_of(found.tests), *_columns(found)]
    sentences += said_of_pairs(found.correlations)
    sentences += [str(found.dependence)] if found.dependence is not None else []
    sentences += [found.asks] if found.asks else []
    sentences += said_of_digits(found.digits)
    sentences += said_of_spellings(found.spellings)
    # What weights could do is no question of a model that is watched.
    sentences += [] if found.watched else _matched(found)
    sentences += said_of_missed(found.verdict, found.detectable)
    if found.watched:
        meaning = MEANING[found.verdict].format(
            uncovered_fraction=percentage(found.uncovered_fraction)
        )
        told_of = [as_watched(one) for one in sentences[1:]]
        return " ".join([COMPARED + meaning, *told_of, NEXT[found.verdict]])
    return " ".join([*sentences, _NEXT[found.verdict], _UNSEEN])


def diagnosis_text(found: "Diagnosis") -> str:
    """Return the diagnosis as lines of text."""
    facts = [[f"  {said}", value] for said, value in _facts(found)]
    shown, others = _shown(found.features)
    rows = [list(_HEADER), *[_cells(feature) for feature in shown]]
    lines = [f"Diagnosis: {found.verdict}", *aligned(facts, numbers=False), ""]
    lines += aligned(rows, numbers=True)
    lines += [f"  {others}"] if others else []
    lines += [fill(f"{_LEGEND} {found.note}".strip(), _WIDTH)]
    uncovered_fraction = found.uncovered_rows
    if uncovered_fraction.n_rows:
        lines += ["", _uncovered_title(found)]
        there = "at the fit" if found.watched else "source"
        described = [
            [f"  {a}", b, f"{there} {c}"]
            for a, b, c in map(_uncovered_cells, uncovered_fraction.columns)
        ]
        lines += aligned(described, numbers=False)
        lines += (
            [fill(f"  {uncovered_fraction.note}", _WIDTH)]
            if uncovered_fraction.note
            else []
        )
    lines += [
        f"Left out: {printable(name)} ({printable(reason, 60)})"
        for name, reason in found.dropped.items()
    ]
    return "\n".join([*lines, "", fill(found.explanation, _WIDTH)])


def diagnosis_html(found: "Diagnosis") -> str:
    """Return the diagnosis as a fragment of HTML, every text escaped."""
    shown, others = _shown(found.features)
    facts = [[name, value] for name, value in _facts(found)]
    uncovered_fraction = found.uncovered_rows
    parts = [
        f"<p><strong>{safe(found.verdict)}</strong></p>",
        f"<p>{safe(found.explanation)}</p>",
        html_table([], facts),
        html_table(_HEADER, [_cells(feature) for feature in shown]),
        f"<p>{safe(' '.join([others, _LEGEND, found.note]).strip())}</p>",
    ]
    if uncovered_fraction.n_rows:
        parts.append(f"<p>{safe(_uncovered_title(found))}</p>")
        rows = [_uncovered_cells(column) for column in uncovered_fraction.columns]
        if rows:
            there = "at the fit" if found.watched else "source"
            parts.append(html_table(("feature", "these rows", there), rows))
        if uncovered_fraction.note:
            parts.append(f"<p>{safe(uncovered_fraction.note)}</p>")
    if found.dropped:
        out = [(printable(k), printable(v, 60)) for k, v in found.dropped.items()]
        parts.append(html_table(("left out", "why"), out))
    return f'<div class="counterpoise-diagnosis">{"".join(parts)}</div>'


_LEGEND = (
    "SMD: difference of the means in standard deviations (categories: the largest of "
    "their indicators). Distance: Kolmogorov-Smirnov, or total variation for "
    "categories. p: corrected for the number of features by Holm's method."
)


def _columns(found: "Diagnosis") -> list[str]:
    """Return sentences about the features that moved."""
    by_size = by_effect(found.features)
    moved = [
        feature
        for feature in by_size
        if feature.effect >= _WORTH_A_WORD and _is_significant(feature)
    ]
    said = []
    if moved:
        names = ", ".join(_with_size(feature) for feature in moved[:3])
        said.append(f"What differs most by itself: {names}.")
    elif any(map(_is_significant, by_size)):
        small = next(filter(_is_significant, by_size))
        said.append(
            f"{_quoted(small)} differs by more than chance, but hardly "
            f"(effect {small.effect:.2g})."
        )
    elif found.verdict not in (NO_SHIFT, TOO_FEW):
        said.append(_nothing_alone(found.uncovered_rows))
    new = [f for f in by_size if f.new_share >= _MANY]
    if new:
        names = ", ".join(f"{_quoted(f)} ({percentage(f.new_share)})" for f in new[:3])
        said.append(f"Target rows with categories that the source has not: {names}.")
    if found.verdict == NO_OVERLAP and found.separation is not None:
        said.append(str(found.separation))
    return said


def _nothing_alone(uncovered_fraction: UncoveredRows) -> str:
    """Return what there is to say where no feature differs much by itself."""
    if not uncovered_fraction.columns:
        return "No feature differs much by itself: it is how they go together."
    names = ", ".join(
        in_quotes(column.name) for column in uncovered_fraction.columns[:3]
    )
    return f"No feature differs much but in the thinly covered rows: {names}."


def _matched(found: "Diagnosis") -> list[str]:
    """Return what weights of the source can do about the shift."""
    seen = found.reweighting
    if seen is None or seen.removable is None or found.verdict in (NO_SHIFT, TOO_FEW):
        return []
    said = (
        f"Reweighting can remove {percentage(seen.removable)} of the discrepancy, the "
        "part of the shift that linear models see"
    )
    if seen.removable >= NEARLY_ALL or not seen.direction:
        return [f"{said}."]
    first, *others = seen.direction
    large = [first, *(one for one in others if one[1] >= _PART_OF_IT)][:3]
    names = ", ".join(f"'{printable(name)}'" for name, _ in large)
    more, less = (
        ("target", "source")
        if seen.target_varies_more
        else (
            "source",
            "target",
        )
    )
    return [
        f"{said}; the direction that cannot be matched is mostly {names}, along which "
        f"the {more} varies more than the {less} however it is weighted."
    ]


def by_effect(features: Sequence[FeatureShift]) -> list[FeatureShift]:
    """Return the features, those with the largest effect first."""
    return sorted(features, key=lambda feature: -feature.effect)


def _is_significant(feature: FeatureShift) -> bool:
    p = feature.adjusted_p_value
    return p is not None and p <= TEST_LEVEL


def _quoted(feature: FeatureShift) -> str:
    return in_quotes(feature.name)


def _with_size(feature: FeatureShift) -> str:
    name = _quoted(feature)
    missing = feature.missing_difference
    if feature.smd is None or abs(feature.smd) < feature.effect / 2:
        if abs(missing) >= _WORTH_A_WORD:
            return f"{name} (missing values {missing:+.0%})"
        return f"{name} (effect {feature.effect:.2g})"
    of = "" if feature.category is None else f" for '{printable(feature.category)}'"
    return f"{name} ({feature.smd:+.2g} standard deviations{of})"


def _facts(found: "Diagnosis") -> list[tuple[str, str]]:
    interval = f"{found.auc:.3f} ({found.auc_low:.3f} to {found.auc_high:.3f})"
    said = as_watched if found.watched else str
    facts = [
        ("rows", said(f"{found.n_source:,} source, {found.n_target:,} target")),
        (said("AUC of source against target"), interval),
        (said("thinly covered share of the target"), _uncovered_share(found)),
    ]
    if found.mmd is not None:
        chance = found.mmd_p_value
        p = "" if chance is None else f" (p = {chance:.2g})"
        facts.append(("maximum mean discrepancy", f"{found.mmd:.3g}{p}"))
    if found.discrepancy is not None:
        seen = found.reweighting
        left = "" if seen is None or seen.after is None else f"{seen.after:.3g}"
        left = f" ({left} at the best weights)" if left else ""
        facts.append(("discrepancy", f"{found.discrepancy:.3g}{left}"))
    return facts


def _uncovered_share(found: "Diagnosis") -> str:
    ends = [
        percentage(end)
        for end in (found.uncovered_fraction_low, found.uncovered_fraction_high)
        if end is not None
    ]
    return f"{percentage(found.uncovered_fraction)} ({' to '.join(ends)})"


def _shown(features: Sequence[FeatureShift]) -> tuple[list[FeatureShift], str]:
    ordered = by_effect(features)
    more = len(ordered) - SHOWN
    return ordered[:SHOWN], f"and {more} more, with less effect" if more > 0 else ""


def _cells(feature: FeatureShift) -> list[str]:
    distance = feature.total_variation if feature.ks is None else feature.ks
    missing = ""
    if feature.source_missing or feature.target_missing:
        source, target = feature.source_missing, feature.target_missing
        missing = f"{percentage(source)} to {percentage(target)}"
    return [
        printable(feature.name),
        f"{feature.effect:.2f}",
        "-" if feature.smd is None else f"{feature.smd:+.2f}",
        "-" if distance is None else f"{distance:.3f}",
        _chance(feature.adjusted_p_value),
        missing,
        percentage(feature.new_share) if feature.n_new else "",
    ]


def _uncovered_title(found: "Diagnosis") -> str:
    rows = found.uncovered_rows
    title = f"Thinly covered: {rows.n_rows:,} of {rows.n_scored:,} target rows scored"
    title = as_watched(title) if found.watched else title
    return f"{title}. Between 5 % and 95 % of them:" if rows.columns else f"{title}."


def _uncovered_cells(column: UncoveredColumn) -> tuple[str, str, str]:
    name = printable(column.name)
    if column.kind == CATEGORIES:
        listed = [(printable(c), share, source) for c, share, source in column.shares]
        if column.missing or column.source_missing:
            listed.append(("missing", column.missing, column.source_missing))
        these = ", ".join(f"{c} {percentage(share)}" for c, share, _ in listed)
        there = ", ".join(f"{c} {percentage(source)}" for c, _, source in listed)
    else:
        these = _ends(column.low, column.high, column.kind, column.missing)
        there = _ends(
            column.source_low, column.source_high, column.kind, column.source_missing
        )
    return name, these or "-", there or "-"


def _ends(low: float | None, high: float | None, kind: str, missing: float) -> str:
    said = []
    if low is not None and high is not None:
        said.append(f"{_value(low, kind)} to {_value(high, kind)}")
    if missing:
        said.append(f"{percentage(missing)} missing")
    return ", ".join(said)


def _value(value: float, kind: str) -> str:
    if kind not in (DATES, ZONED_DATES):
        return f"{value:.4g}"
    epoch = datetime.datetime(1970, 1, 1)
    try:
        return (epoch + datetime.timedelta(seconds=value)).date().isoformat()
    except OverflowError:
        return f"{value:.4g} s"


def _chance(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def _times(auc: float) -> str:
    return f"{100 * auc:.0f}"
