"""A diagnosis in words, as a text table and as HTML."""

import datetime
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from counterpoise.diagnosis.features import FeatureShift
from counterpoise.diagnosis.findings_in_words import (
    said_of,
    said_of_digits,
    said_of_missed,
    said_of_pairs,
    said_of_spellings,
)
from counterpoise.diagnosis.percentages import percentage
from counterpoise.diagnosis.text_tables import (
    aligned,
    html_table,
    in_quotes,
    printable,
    safe,
)
from counterpoise.diagnosis.thin_rows import ThinColumn, ThinRows
from counterpoise.diagnosis.watching import COMPARED, MEANING, NEXT, as_watched
from counterpoise.samples.coverage.thin_by_chance import rows_that_tell
from counterpoise.samples.domain_scores import TEST_LEVEL
from counterpoise.samples.overlap_verdict import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    ROWS_OF_WORTH_TO_TELL,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)
from counterpoise.tables.kinds import CATEGORIES, DATES, ZONED_DATES

if TYPE_CHECKING:
    from counterpoise.diagnosis.diagnosis import Diagnosis

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
    THIN_IN_PART: "There is a shift, and a part of the target, {thin}, lies where the "
    "source has next to no rows: about that part the source cannot say much.",
    NO_OVERLAP: "The two samples hardly overlap: {thin} of the target lies where the "
    "source has next to no rows.",
    TOO_FEW: "There are too few rows to tell: with fewer than "
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
    THIN_IN_PART: "Next: adapt and estimate for the covered part only. Of the thinly "
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
    meaning = _MEANING[found.verdict].format(thin=percentage(found.thin))
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
        meaning = MEANING[found.verdict].format(thin=percentage(found.thin))
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
    thin = found.thin_rows
    if thin.n_rows:
        lines += ["", _thin_title(found)]
        there = "at the fit" if found.watched else "source"
        described = [
            [f"  {a}", b, f"{there} {c}"] for a, b, c in map(_thin_cells, thin.columns)
        ]
        lines += aligned(described, numbers=False)
        lines += [fill(f"  {thin.note}", _WIDTH)] if thin.note else []
    lines += [
        f"Left out: {printable(name)} ({printable(reason, 60)})"
        for name, reason in found.dropped.items()
    ]
    return "\n".join([*lines, "", fill(found.explanation, _WIDTH)])


def diagnosis_html(found: "Diagnosis") -> str:
    """Return the diagnosis as a fragment of HTML, every text escaped."""
    shown, others = _shown(found.features)
    facts = [[name, value] for name, value in _facts(found)]
    thin = found.thin_rows
    parts = [
        f"<p><strong>{safe(found.verdict)}</strong></p>",
        f"<p>{safe(found.explanation)}</p>",
        html_table([], facts),
        html_table(_HEADER, [_cells(feature) for feature in shown]),
        f"<p>{safe(' '.join([others, _LEGEND, found.note]).strip())}</p>",
    ]
    if thin.n_rows:
        parts.append(f"<p>{safe(_thin_title(found))}</p>")
        rows = [_thin_cells(column) for column in thin.columns]
        if rows:
            there = "at the fit" if found.watched else "source"
            parts.append(html_table(("feature", "these rows", there), rows))
        if thin.note:
            parts.append(f"<p>{safe(thin.note)}</p>")
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
        said.append(_nothing_alone(found.thin_rows))
    new = [f for f in by_size if f.new_share >= _MANY]
    if new:
        names = ", ".join(f"{_quoted(f)} ({percentage(f.new_share)})" for f in new[:3])
        said.append(f"Target rows with categories that the source has not: {names}.")
    if found.verdict == NO_OVERLAP and found.separation is not None:
        said.append(str(found.separation))
    return said


def _nothing_alone(thin: ThinRows) -> str:
    """Return what there is to say where no feature differs much by itself."""
    if not thin.columns:
        return "No feature differs much by itself: it is how they go together."
    names = ", ".join(in_quotes(column.name) for column in thin.columns[:3])
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
        (said("thinly covered share of the target"), _thin_share(found)),
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


def _thin_share(found: "Diagnosis") -> str:
    ends = [
        percentage(end) for end in (found.thin_low, found.thin_high) if end is not None
    ]
    return f"{percentage(found.thin)} ({' to '.join(ends)})"


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


def _thin_title(found: "Diagnosis") -> str:
    thin = found.thin_rows
    title = f"Thinly covered: {thin.n_rows:,} of {thin.n_scored:,} target rows scored"
    title = as_watched(title) if found.watched else title
    return f"{title}. Between 5 % and 95 % of them:" if thin.columns else f"{title}."


def _thin_cells(column: ThinColumn) -> tuple[str, str, str]:
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
