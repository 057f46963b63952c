"""Findings of a diagnosis, and a diagnosis as text and as HTML."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from counterpoise.data.table import CATEGORIES, DATES, ZONED_DATES
from counterpoise.messages import HINT, INFO, PROBLEM, WARNING, Finding
from counterpoise.messages.finding import NAMES_LISTED
from counterpoise.messages.numbers import p_value_text, percentage, printable
from counterpoise.shift.columns import CorrelationShift, FeatureShift
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
from counterpoise.shift.two_sample_tests import (
    TEST_LEVEL,
)
from counterpoise.shift.verdict_tests import (
    ShiftTest,
)

if TYPE_CHECKING:
    from counterpoise.shift.diagnosis import Diagnosis, Reweighting

# -----------------------------------------------------------------------------
# What a diagnosis found, as findings.
# -----------------------------------------------------------------------------


# The finding of each verdict; what to do next has the same code after "next_".
VERDICT_CODES = {
    NO_SHIFT: "no_shift",
    SMALL_SHIFT: "small_shift",
    COVERED: "full_overlap",
    PARTIAL_OVERLAP: "partial_overlap",
    NO_OVERLAP: "no_overlap",
    TOO_FEW: "too_few_rows",
}
_SEVERITIES = {NO_SHIFT: INFO, SMALL_SHIFT: INFO, NO_OVERLAP: PROBLEM}
# An effect, and a share of rows, from which on a column is named.
_NOTABLE_EFFECT, _NOTABLE_SHARE = 0.1, 0.01
# Shares: of the discrepancy, as good as all of it; of a direction, worth naming.
NEARLY_ALL, _NOTABLE_PART = 0.95, 0.2


def diagnosis_findings(found: "Diagnosis") -> tuple[Finding, ...]:
    """Return the verdict, what was found beside it, and the next step."""
    code, verdict = VERDICT_CODES[found.verdict], found.verdict
    severity = _SEVERITIES.get(verdict, WARNING)
    values = {
        "uncovered": found.uncovered_fraction,
        "fewest": ROWS_OF_WORTH_TO_TELL,
        "enough": rows_that_tell(),
    }
    findings = [
        Finding(code, severity, values),
        Finding("domain_classifier", INFO, {"times": 100 * found.auc}),
        other_tests_finding(found.tests),
        *_column_findings(found),
        correlation_finding(found.correlations),
        None if found.dependence is None else found.dependence.finding,
        found.dependence_hint,
        rounding_finding(found.digits),
        spelling_finding(found.spellings),
        _reweighting_finding(found.reweighting, verdict),
    ]
    if found.detectable is not None and verdict in (NO_SHIFT, SMALL_SHIFT):
        findings.append(found.detectable.finding)
    findings.append(Finding(f"next_{code}", severity, values))
    findings.append(Finding("labels_needed"))
    return tuple(finding for finding in findings if finding is not None)


def diagnosis_explanation(found: "Diagnosis") -> str:
    """Return the findings of a diagnosis in sentences."""
    surface = "monitor" if found.watched else "python"
    texts = [finding.text(surface) for finding in diagnosis_findings(found)]
    return " ".join(filter(None, texts))


def other_tests_finding(tests: Sequence[ShiftTest]) -> Finding | None:
    """Return which tests tell the samples apart where the classifier does not."""
    telling = [test for test in tests if test.tells]
    if not telling or tests[0].tells:
        return None
    listed = [
        Finding(
            "other_test_of_columns" if test.about else "other_test",
            INFO,
            {"test": test.name, "columns": list(test.about)},
        )
        for test in telling
    ]
    return Finding("other_tests", INFO, {"tests": listed})


def correlation_finding(pairs: Sequence[CorrelationShift]) -> Finding | None:
    """Return which columns are correlated differently, if any are."""
    if not pairs:
        return None
    listed = [
        Finding(
            "changed_correlation",
            INFO,
            {
                "columns": list(pair.columns),
                "source": pair.source,
                "target": pair.target,
            },
        )
        for pair in pairs[:NAMES_LISTED]
    ]
    more = len(pairs) - len(listed)
    return Finding("changed_correlations", INFO, {"pairs": listed, "more": more})


def rounding_finding(columns: Sequence[str]) -> Finding | None:
    """Return that columns are recorded to different digits, if any are."""
    if not columns:
        return None
    return Finding("rounding", HINT, {"columns": list(columns)})


def spelling_finding(spellings: Sequence[Spelling]) -> Finding | None:
    """Return which categories the samples spell differently, if any."""
    if not spellings:
        return None
    listed = [
        Finding("spelling", HINT, one.to_dict()) for one in spellings[:NAMES_LISTED]
    ]
    more = len(spellings) - len(listed)
    return Finding("spellings", HINT, {"spellings": listed, "more": more})


def _column_findings(found: "Diagnosis") -> list[Finding]:
    """Return findings about the columns that changed."""
    by_size = by_effect(found.features)
    significant = [one for one in by_size if _is_significant(one)]
    moved = [one for one in significant if one.effect >= _NOTABLE_EFFECT]
    findings = []
    if moved:
        listed = [_change(feature) for feature in moved[:NAMES_LISTED]]
        findings.append(Finding("largest_changes", INFO, {"columns": listed}))
    elif significant:
        first = significant[0]
        values = {"name": first.name, "effect": first.effect}
        findings.append(Finding("negligible_change", INFO, values))
    elif found.verdict not in (NO_SHIFT, TOO_FEW):
        names = [column.name for column in found.uncovered_rows.columns[:NAMES_LISTED]]
        code = "changed_where_uncovered" if names else "joint_change"
        findings.append(Finding(code, INFO, {"names": names}))
    new = [one for one in by_size if one.new_share >= _NOTABLE_SHARE]
    if new:
        listed = [
            Finding("column_share", INFO, {"name": one.name, "share": one.new_share})
            for one in new[:NAMES_LISTED]
        ]
        findings.append(Finding("new_categories", INFO, {"columns": listed}))
    if found.verdict == NO_OVERLAP and found.separation is not None:
        findings.append(found.separation.finding)
    return findings


def _change(feature: FeatureShift) -> Finding:
    """Return by how much one column changed, in the unit that says most."""
    values: dict[str, object] = {"name": feature.name, "effect": feature.effect}
    if feature.smd is None or abs(feature.smd) < feature.effect / 2:
        if abs(feature.missing_difference) < _NOTABLE_EFFECT:
            return Finding("changed_distribution", INFO, values)
        values["missing"] = feature.missing_difference
        return Finding("changed_missing", INFO, values)
    values["smd"] = feature.smd
    if feature.category is None:
        return Finding("changed_mean", INFO, values)
    return Finding("changed_category", INFO, {**values, "category": feature.category})


def _reweighting_finding(seen: "Reweighting | None", verdict: str) -> Finding | None:
    """Return how much of the discrepancy weights of the source can remove."""
    if seen is None or seen.removable is None or verdict in (NO_SHIFT, TOO_FEW):
        return None
    if seen.removable >= NEARLY_ALL or not seen.direction:
        return Finding("removable", INFO, {"removable": seen.removable})
    first, *others = seen.direction
    columns = [first, *(one for one in others if one[1] >= _NOTABLE_PART)]
    sides = ("target", "source") if seen.target_varies_more else ("source", "target")
    values = {
        "removable": seen.removable,
        "columns": [name for name, _ in columns[:NAMES_LISTED]],
        "wider": sides[0],
        "narrower": sides[1],
    }
    return Finding("removable_in_part", INFO, values)


def by_effect(features: Sequence[FeatureShift]) -> list[FeatureShift]:
    """Return the features, those with the largest effect first."""
    return sorted(features, key=lambda feature: -feature.effect)


def _is_significant(feature: FeatureShift) -> bool:
    p = feature.adjusted_p_value
    return p is not None and p <= TEST_LEVEL


# -----------------------------------------------------------------------------
# A diagnosis as paragraphs and tables, for text and for HTML.
# -----------------------------------------------------------------------------


# Features that are printed; the others are counted.
SHOWN = 20
_WIDTH = 88
_HEADER = ("feature", "effect", "SMD", "distance", "p (Holm)", "missing", "new")
_LEGEND = (
    "SMD: difference of the means in standard deviations (categories: the largest of "
    "their indicators). Distance: Kolmogorov-Smirnov, or total variation for "
    "categories. p: corrected for the number of features by Holm's method."
)


@dataclass(frozen=True)
class _Table:
    """Rows of cells, perhaps with a header; `numbers`: cells stand to the right."""

    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()
    numbers: bool = False

    def text(self) -> str:
        rows = [row for row in (self.header, *self.rows) if row]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for first, *others in rows:
            cells = [first.ljust(widths[0])]
            for cell, width in zip(others, widths[1:], strict=True):
                cells.append(cell.rjust(width) if self.numbers else cell.ljust(width))
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines if self.numbers else [f"  {line}" for line in lines])

    def html(self) -> str:
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in self.header)
        head = f"<thead><tr>{head}</tr></thead>" if head else ""
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in self.rows
        )
        return f"<table>{head}<tbody>{body}</tbody></table>"


def diagnosis_text(found: "Diagnosis") -> str:
    """Return the diagnosis as lines of text."""
    blocks = [
        block.text() if isinstance(block, _Table) else fill(block, _WIDTH)
        for block in _blocks(found)
    ]
    return "\n".join([f"Diagnosis: {found.verdict}", *blocks])


def diagnosis_html(found: "Diagnosis") -> str:
    """Return the diagnosis as a fragment of HTML, every text escaped."""
    blocks = [
        block.html() if isinstance(block, _Table) else f"<p>{escape(block)}</p>"
        for block in _blocks(found)
        if block
    ]
    verdict = f"<p><strong>{escape(found.verdict)}</strong></p>"
    return f'<div class="counterpoise-diagnosis">{verdict}{"".join(blocks)}</div>'


def _blocks(found: "Diagnosis") -> list[str | _Table]:
    """Return paragraphs and tables; an empty paragraph is a blank line."""
    ordered = by_effect(found.features)
    more = len(ordered) - SHOWN
    blocks: list[str | _Table] = [_Table(_facts(found)), ""]
    features = [_cells(feature) for feature in ordered[:SHOWN]]
    blocks.append(_Table(features, _HEADER, numbers=True))
    if more > 0:
        blocks.append(f"  and {more} more, with less effect")
    blocks.append(f"{_LEGEND} {found.note}".strip())
    uncovered = found.uncovered_rows
    if uncovered.n_rows:
        blocks += ["", _uncovered_title(uncovered, monitor=found.watched)]
        there = "at the fit" if found.watched else "source"
        rows = [
            (name, these, f"{there} {others}")
            for name, these, others in map(_uncovered_cells, uncovered.columns)
        ]
        blocks += [_Table(rows)] if rows else []
        blocks += [uncovered.note] if uncovered.note else []
    blocks += [
        f"Left out: {printable(name)} ({printable(reason, 60)})"
        for name, reason in found.dropped.items()
    ]
    return [*blocks, "", found.explanation]


def _facts(found: "Diagnosis") -> list[tuple[str, str]]:
    """Return the numbers about all columns, each with its name."""
    sides, n, m = "source against target", found.n_source, found.n_target
    rows, whole = f"{n:,} source, {m:,} target", "the target"
    if found.watched:
        sides = "the fit's rows against today's"
        rows, whole = f"{n:,} at the fit, {m:,} today", "today's rows"
    ends = (found.uncovered_fraction_low, found.uncovered_fraction_high)
    interval = " to ".join(percentage(end) for end in ends if end is not None)
    auc = f"{found.auc:.3f} ({found.auc_low:.3f} to {found.auc_high:.3f})"
    facts = [
        ("rows", rows),
        (f"AUC of {sides}", auc),
        (
            f"thinly covered share of {whole}",
            f"{percentage(found.uncovered_fraction)} ({interval})",
        ),
    ]
    if found.mmd is not None:
        p = "" if found.mmd_p_value is None else f" (p = {found.mmd_p_value:.2g})"
        facts.append(("maximum mean discrepancy", f"{found.mmd:.3g}{p}"))
    if found.discrepancy is not None:
        seen = found.reweighting
        after = None if seen is None else seen.after
        left = "" if after is None else f" ({after:.3g} at the best weights)"
        facts.append(("discrepancy", f"{found.discrepancy:.3g}{left}"))
    return facts


def _cells(feature: FeatureShift) -> list[str]:
    distance = feature.total_variation if feature.ks is None else feature.ks
    missing, p = "", feature.adjusted_p_value
    if feature.source_missing or feature.target_missing:
        source, target = feature.source_missing, feature.target_missing
        missing = f"{percentage(source)} to {percentage(target)}"
    return [
        printable(feature.name),
        f"{feature.effect:.2f}",
        "-" if feature.smd is None else f"{feature.smd:+.2f}",
        "-" if distance is None else f"{distance:.3f}",
        "-" if p is None else p_value_text(p),
        missing,
        percentage(feature.new_share) if feature.n_new else "",
    ]


def _uncovered_title(rows: UncoveredRows, *, monitor: bool) -> str:
    noun = "of today's rows" if monitor else "target rows"
    title = f"Thinly covered: {rows.n_rows:,} of {rows.n_scored:,} {noun} scored"
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
        these = _range(column.low, column.high, column.kind, column.missing)
        there = _range(
            column.source_low, column.source_high, column.kind, column.source_missing
        )
    return name, these or "-", there or "-"


def _range(low: float | None, high: float | None, kind: str, missing: float) -> str:
    parts = []
    if low is not None and high is not None:
        parts.append(f"{_value(low, kind)} to {_value(high, kind)}")
    if missing:
        parts.append(f"{percentage(missing)} missing")
    return ", ".join(parts)


def _value(value: float, kind: str) -> str:
    if kind not in (DATES, ZONED_DATES):
        return f"{value:.4g}"
    epoch = datetime.datetime(1970, 1, 1)
    try:
        return (epoch + datetime.timedelta(seconds=value)).date().isoformat()
    except OverflowError:
        return f"{value:.4g} s"
