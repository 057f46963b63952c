"""Directives that show the committed summary of all evidence, docs/results/*.json.

`python benchmarks/run.py --summarize` writes it; a build of the site makes the page.
"""

import json
from pathlib import Path

from command_line import table
from docutils import nodes
from docutils.parsers.rst import Directive

RESULTS = Path(__file__).resolve().parents[1] / "results"


def results() -> dict[str, dict]:
    """Return the summary of every answer, by its full name."""
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        for name, one in json.loads(path.read_text()).items():
            found[f"{path.stem}.{name}"] = one
    return found


def said(cell: object) -> str:
    """Return a cell as it is told."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return (
            f"{int(cell)}" if cell.is_integer() and abs(cell) < 1e6 else f"{cell:.3g}"
        )
    return str(cell)


def shown_tables(one: dict) -> list[nodes.Node]:
    """Return the tables of an answer, each with its title."""
    found: list[nodes.Node] = []
    for told in one["tables"]:
        found.append(nodes.paragraph("", "", nodes.strong("", told["title"])))
        rows = [[said(cell) for cell in row] for row in told["rows"]]
        found.append(scrolling(table(told["header"], rows, ())))
        if told.get("more"):
            found.append(nodes.paragraph("", f"and {told['more']} rows more"))
    return found


def scrolling(inner: nodes.Node) -> nodes.container:
    """Return a wide table in a box that scrolls by itself."""
    return nodes.container("", inner, classes=["wide"])


class ResultTables(Directive):
    """The tables of one answer."""

    required_arguments = 1

    def run(self):
        """Return the tables, and how they were made."""
        name = self.arguments[0]
        one = results().get(name)
        if one is None:
            raise self.error(f"docs/results has no answer of {name}")
        return [*shown_tables(one), nodes.paragraph("", "", *_made(name, one))]


class ResultSummary(Directive):
    """One line a question: its bars, its cost."""

    def run(self):
        """Return the table."""
        rows = []
        for name, one in results().items():
            held = sum(bool(bar["holds"]) for bar in one["bars"])
            rows.append(
                [
                    name,
                    f"{held} of {len(one['bars'])}",
                    "quick" if one["quick"] else "full",
                    one["status"],
                    said(one["cpu"]),
                    said(one["megabytes"]),
                    ", ".join(one["peers"]) or "-",
                    ", ".join(one["data"]) or "-",
                ]
            )
        head = ["question", "bars held", "size", "status", "CPU s", "MB"]
        return [scrolling(table([*head, "peers", "data"], rows, (0,)))]


class ResultSections(Directive):
    """A section a topic, in it every question with every bar and table."""

    def run(self):
        """Return the sections."""
        topics: dict[str, list[nodes.Node]] = {}
        for name, one in results().items():
            topic = name.partition(".")[0]
            section = nodes.section(ids=[f"result-{name.replace('.', '-')}"])
            section += nodes.title("", "", nodes.literal(name, name))
            for paragraph in one["told"].split("\n\n"):
                section += nodes.paragraph("", " ".join(paragraph.split()))
            if one.get("reason"):
                section += nodes.paragraph("", f"{one['status']}: {one['reason']}")
            bars = [
                [
                    bar["bar"],
                    said(bar["measured"]),
                    bar["bound"],
                    "holds" if bar["holds"] else "FALLS SHORT",
                ]
                for bar in one["bars"]
            ]
            if bars:
                head = ["bar", "measured", "bound", ""]
                section += scrolling(table(head, bars, ()))
            section += shown_tables(one)
            section += nodes.paragraph("", "", *_made(name, one))
            topics.setdefault(topic, []).append(section)
        found = []
        for topic, sections in topics.items():
            whole = nodes.section(ids=[f"topic-{topic}"])
            whole += nodes.title("", topic.replace("_", " "))
            whole += sections
            found.append(whole)
        return found


def _made(name: str, one: dict) -> list[nodes.Node]:
    """Return how an answer is made again, and what made this one."""
    command = f"python benchmarks/run.py {name}{' --quick' if one['quick'] else ''}"
    versions = ", ".join(f"{k} {v}" for k, v in one.get("versions", {}).items())
    machine = one.get("machine", {})
    told = f": commit {one.get('commit')}; {versions}; Python {machine.get('python')}, "
    told += f"{machine.get('processors')} processors, load {machine.get('load')}; "
    told += f"{said(one['cpu'])} s CPU."
    return [nodes.literal(command, command), nodes.Text(told)]


def setup(app):
    """Offer the directives; pages depend on the summary."""
    app.add_directive("result-tables", ResultTables)
    app.add_directive("result-summary", ResultSummary)
    app.add_directive("result-sections", ResultSections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
