"""Comparison of two or more reports."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from counterpoise.messages.numbers import metric_name, readable
from counterpoise.report.formatting import (
    Cell,
    Name,
    Show,
    ShownNumber,
    Table,
    count,
    figures,
    optional,
    sentence,
    share,
)
from counterpoise.report.page import TEXT_WIDTH, environment, plain_text, text_table
from counterpoise.report.report import Report
from counterpoise.report.verdict import Verdict, verdict_of

# Columns that are listed, those whose shift has changed most.
_COLUMNS_COMPARED = 25
_COMPARED_CELL = 44
_SHARES_OF = {
    "shift.covered": "new data covered by training data",
    "weights.effective_share": "effective size, share of the rows",
    "weights.share_of_top_percent": "weight on the heaviest 1 % of the rows",
}
_FIGURES_OF = {
    "shift.auc": "how well the samples are told apart (AUC)",
    "shift.mmd": "maximum mean discrepancy",
    "balance.largest_before": "largest difference of a column",
    "balance.largest_after": "the same after weighting",
    "weights.largest": "largest weight",
    "model.exponent": "power of the weights used",
    "model.mixing": "share of the weights used",
}
_COUNTS_OF = {
    "data.source.rows": "training rows",
    "data.target.rows": "new rows",
    "weights.effective_size": "effective sample size",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two records side by side, as a page or as text.

    Attributes
    ----------
    names : tuple of str
        What the records are called.
    verdicts : tuple of Verdict
    tables : tuple of Table
    html : str
        The whole page.
    warnings : tuple of str
        What makes the two hard to compare: other data, another label or metric.
    """

    names: tuple[str, str]
    verdicts: tuple[Verdict, Verdict]
    tables: tuple[Table, ...] = field(repr=False)
    html: str = field(repr=False)
    warnings: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        Path(path).write_bytes(self.html.encode("utf-8", "backslashreplace"))

    def text(self) -> str:
        """Return the comparison as plain text."""
        return plain_text(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, verdict in zip(self.names, self.verdicts, strict=True):
            told = f"{readable(name)}: {verdict.title}"
            yield textwrap.fill(told, TEXT_WIDTH, subsequent_indent="  ")
        for warning in self.warnings:
            yield textwrap.fill(f"Note: {warning}", TEXT_WIDTH, subsequent_indent="  ")
        for table in self.tables:
            yield ""
            yield table.title
            yield from text_table(table, _COMPARED_CELL)


def compare(
    first: Report, second: Report, *, names: tuple[str, str] = ("first", "second")
) -> Comparison:
    """Return two records side by side.

    Parameters
    ----------
    first, second : Record
    names : pair of str
        What to call them.

    Examples
    --------
    >>> a, b = (Report.from_dict({"shift": {"auc": auc}}) for auc in (0.5, 0.7))
    >>> print(compare(a, b).text().splitlines()[-1])
      how well the samples are told apart (AUC)  0.500  0.700   +0.200
    """
    verdicts = verdict_of(first), verdict_of(second)
    tables = tuple(
        table
        for table in (
            _numbers(first, second, names),
            _scores(first, second, names),
            _columns(first, second, names),
        )
        if table is not None
    )
    warnings = other_data(first, second)
    html = (
        environment()
        .get_template("compare.html")
        .render(
            names=tuple(map(Name, names)),
            verdicts=verdicts,
            tables=tables,
            warnings=warnings,
        )
    )
    return Comparison(names, verdicts, tables, html, warnings)


def other_data(first: Report, second: Report) -> tuple[str, ...]:
    """Return in what the data of two records differ, a sentence each.

    Another label or another metric makes scores no longer comparable, other columns or
    training rows make them about other models. That the new data differ is what one
    compares months for: it is told, since one may have taken the wrong file. Tables are
    told apart by the digests of their files; without them nothing is said of a table.
    """
    pair = first, second
    said = []
    labels = [record.at("reproduce.options.label") for record in pair]
    if None not in labels and labels[0] != labels[1]:
        names = " and ".join(f"'{readable(str(label))}'" for label in labels)
        said.append(
            f"the labels differ ({names}): the scores are of different questions."
        )
    metrics = [record.at("headline.metric") for record in pair]
    if None not in metrics and metrics[0] != metrics[1]:
        said.append("the metrics differ: one score says nothing about the other.")
    columns = [
        [one["name"] for one in record.at("data.columns") or ()] for record in pair
    ]
    if all(columns) and set(columns[0]) != set(columns[1]):
        apart = sorted(set(columns[0]) ^ set(columns[1]))
        shown = ", ".join(f"'{readable(name)}'" for name in apart[:3])
        more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
        said.append(f"only one of the two has the columns {shown}{more}.")
    for part, what in (("source", "training"), ("target", "new")):
        digests = [record.at(f"data.{part}.sha256") for record in pair]
        if None not in digests and digests[0] != digests[1]:
            said.append(f"the {what} data are not the same table.")
    return tuple(said)


def _numbers(first: Report, second: Report, names: tuple[str, str]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for paths, show in (
        (_COUNTS_OF, count),
        (_SHARES_OF, share),
        (_FIGURES_OF, figures),
    ):
        for path, label in paths.items():
            a, b = first.at(path), second.at(path)
            if a is not None or b is not None:
                rows.append((label, *_pair(a, b, show)))
    if not rows:
        return None
    return Table(
        _header("number", names),
        rows,
        name="numbers",
        title="The numbers that matter",
        wide=True,
    )


def _scores(first: Report, second: Report, names: tuple[str, str]) -> Table | None:
    pair = first, second
    metrics = [record.at("performance.metrics", {}) for record in pair]
    rows: list[tuple[Cell, ...]] = []
    for metric in dict.fromkeys([*metrics[0], *metrics[1]]):
        for kind, where in (("source", "training data"), ("value", "new data")):
            a, b = (_score_of(record, metric, kind) for record in pair)
            if a is not None or b is not None:
                label = Name(f"{metric_name(metric).name}, {where}")
                rows.append((label, *_pair(a, b, figures)))
    if not rows:
        return None
    return Table(
        _header("score", names),
        rows,
        name="scores",
        title="How good the model is",
        about=sentence("Measured on training data, and estimated for the new data."),
        wide=True,
    )


def _score_of(record: Report, metric: str, kind: str) -> float | None:
    """Return the number that the record's own report leads with.

    Of a metric that does not lead, the doubly robust estimate.
    """
    value: float | None
    if record.at("headline.metric") == metric:
        value = record.at(f"headline.{kind}")
    else:
        estimates = record.at("performance.metrics", {}).get(metric) or {}
        which = "source" if kind == "source" else "doubly_robust"
        value = (estimates.get(which) or {}).get("value")
    return value


def _columns(first: Report, second: Report, names: tuple[str, str]) -> Table | None:
    before, after = (
        {one["name"]: one.get("effect") for one in record.at("shift.features", [])}
        for record in (first, second)
    )
    if not before or not after:
        return None
    every = sorted(
        dict.fromkeys([*before, *after]),
        key=lambda name: -abs((after.get(name) or 0.0) - (before.get(name) or 0.0)),
    )
    rows = [
        (Name(name), *_pair(before.get(name), after.get(name), figures))
        for name in every[:_COLUMNS_COMPARED]
    ]
    note = f"The {_COLUMNS_COMPARED} columns of {len(every):,} that have changed most."
    return Table(
        _header("column", names),
        rows,
        note if len(every) > _COLUMNS_COMPARED else "",
        name="columns",
        title="Column by column",
        about=sentence("How far each column has moved, in standard deviations."),
        wide=True,
    )


def _pair(a: float | None, b: float | None, show: Show) -> tuple[Cell, ...]:
    """Return two numbers and their difference as cells."""
    if a is None or b is None:
        return optional(a, show), optional(b, show), None
    change = b - a
    sign = "+" if change > 0 else "-" if change < 0 else ""
    return show(a), show(b), ShownNumber(change, f"{sign}{show(abs(change))}")


def _header(first: str, names: tuple[str, str]) -> tuple[str, ...]:
    return (first, *(readable(name, 40) for name in names), "change")
