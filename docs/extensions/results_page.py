"""Directives that show the committed summary of all evidence, docs/results/*.json.

`python benchmarks/run.py --summarize` writes it; a build of the site makes the page.
"""

import json
from pathlib import Path

from asking import questions
from command_line import table
from docutils import nodes
from docutils.parsers.rst import Directive
from growth_pictures import METHOD, growth_figure, looks, rows_of
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

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


def titled(title: str, *inner: nodes.Node) -> nodes.section:
    """Return a section with a title of its own."""
    section = nodes.section(ids=[nodes.make_id(title)])
    section += nodes.title("", title)
    section += inner
    return section


def place_of(name: str) -> str:
    """Return the anchor of a question's section."""
    return f"result-{name.replace('.', '-')}"


def linked(whole: nodes.table) -> nodes.container:
    """Let the names of answered questions, set as code, lead to their sections."""
    answered = results()
    for literal in list(whole.findall(nodes.literal)):
        name = literal.astext()
        if name in answered:
            link = nodes.reference("", "", internal=True, refid=place_of(name))
            literal.replace_self(link)
            link += literal
    return scrolling(whole)


def made_anew(env) -> None:
    """Let the page that is read be made anew where the summary has changed."""
    for path in (*RESULTS.glob("*.json"), Path(__file__)):
        env.note_dependency(str(path))


class FromResults(Directive):
    """What is made anew where the summary, or this file, has changed."""

    def run(self):
        """Return the nodes."""
        made_anew(self.state.document.settings.env)
        return self.shown()


class Evidence(SphinxRole):
    """A question by its full name: a link to its answer, with how many bars hold.

    A question that the summary does not have yet is named as such; one that the
    benchmarks do not know is a fault of the page.
    """

    def run(self):
        """Return the link and the count."""
        made_anew(self.env)
        if self.text not in {one.full_name for one in questions()}:
            told = f"no question of benchmarks/ is called {self.text}"
            return [], [self.inliner.reporter.warning(told, line=self.lineno)]
        one = results().get(self.text)
        name = nodes.literal(self.text, self.text)
        if one is None:
            return [name, nodes.Text(" [not in the summary yet]")], []
        link = addnodes.pending_xref(
            "",
            name,
            refdomain="std",
            reftype="ref",
            reftarget=place_of(self.text),
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )
        return [link, nodes.Text(f" [{bars_told(one)}]")], []


def bars_told(one: dict) -> str:
    """Return how many bars of an answer hold, and of what size it is."""
    held = sum(bool(bar["holds"]) for bar in one["bars"])
    told = f"{held} of {len(one['bars'])} bars" if one["bars"] else "figures, no bars"
    return f"{told}, quick" if one["quick"] else told


class Measured(SphinxRole):
    """A figure of an answer: ``question; first cells of the row; column``.

    ``growth.weight estimators; KLIEP, 1000, 10; CPU s`` is the cell of that column in
    the first row that begins so, of any table. A dash where there is none yet.
    """

    def run(self):
        """Return the figure as text."""
        made_anew(self.env)
        name, row, column = (part.strip() for part in self.text.split(";"))
        return [nodes.Text(figure(results().get(name), row, column))], []


def figure(one: dict | None, row: str, column: str) -> str:
    """Return the cell of a column in the first row that begins with the cells told."""
    for told in one["tables"] if one else []:
        for cells in told["rows"]:
            # A name may have a comma of its own.
            begins = any(
                ", ".join(said(cell) for cell in cells[:k]) == row
                for k in range(1, len(cells) + 1)
            )
            if begins and column in told["header"]:
                return said(cells[told["header"].index(column)])
    return "-"


class ResultTables(FromResults):
    """The tables of one answer."""

    required_arguments = 1

    def shown(self):
        """Return the tables, and how they were made."""
        name = self.arguments[0]
        one = results().get(name)
        if one is None:
            raise self.error(f"docs/results has no answer of {name}")
        return [*shown_tables(one), nodes.paragraph("", "", *_made(name, one))]


class ResultSummary(FromResults):
    """One line a question: its bars, its cost; also those that were not asked."""

    def shown(self):
        """Return the counts, and the table."""
        rows, found = [], results()
        bars = [bar for one in found.values() for bar in one["bars"]]
        held = sum(bool(bar["holds"]) for bar in bars)
        cpu = sum(one["cpu"] for one in found.values())
        told = f"{len(found)} questions: {held} of {len(bars)} bars hold; "
        told += f"{cpu / 60:.0f} minutes of CPU."
        for name, one in found.items():
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
        rows += [
            [one.full_name, "-", "-", "not asked", "-", "-", "-", "-"]
            for one in questions()
            if one.full_name not in found
        ]
        head = ["question", "bars held", "size", "status", "CPU s", "MB"]
        whole = table([*head, "peers", "data"], rows, (0,))
        return [titled("Every question", nodes.paragraph("", told), linked(whole))]


class ResultShortfalls(FromResults):
    """Every bar that does not hold."""

    def shown(self):
        """Return the table, or that there is none."""
        rows = [
            [name, bar["bar"], said(bar["measured"]), bar["bound"]]
            for name, one in results().items()
            for bar in one["bars"]
            if not bar["holds"]
        ]
        title = "What falls short"
        if not rows:
            return [titled(title, nodes.paragraph("", "Every bar holds."))]
        head = ["question", "bar", "measured", "bound"]
        return [titled(title, linked(table(head, rows, (0,))))]


class ResultSections(FromResults):
    """A section a topic, in it every question with every bar and table."""

    def shown(self):
        """Return the sections."""
        env = self.state.document.settings.env
        standard = env.get_domain("std")
        topics: dict[str, list[nodes.Node]] = {}
        for name, one in results().items():
            topic = name.partition(".")[0]
            section = nodes.section(ids=[place_of(name)])
            standard.note_hyperlink_target(
                place_of(name), env.docname, place_of(name), name
            )
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
                head = ["bar", "measured", "bound", "verdict"]
                section += scrolling(table(head, bars, ()))
            if topic == GROWTH:
                section += _picture(name)
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


def _picture(name: str) -> nodes.image:
    """Return the picture of an answer about growth."""
    about = f"CPU seconds and memory against rows and columns: {name}"
    return nodes.image(uri=f"reference/{name.replace('.', '_')}.svg", alt=about)


def _made(name: str, one: dict) -> list[nodes.Node]:
    """Return how an answer is made again, and what made this one."""
    command = f"python benchmarks/run.py {name}{' --quick' if one['quick'] else ''}"
    versions = ", ".join(f"{k} {v}" for k, v in one.get("versions", {}).items())
    machine = one.get("machine", {})
    told = f": commit {one.get('commit')}; {versions}; Python {machine.get('python')}, "
    told += f"{machine.get('processors')} processors, load {machine.get('load')}; "
    told += f"{said(one['cpu'])} s CPU."
    return [nodes.literal(command, command), nodes.Text(told)]


GROWTH = "growth"


def draw_growth(app) -> None:
    """Draw CPU seconds and memory of every answer about growth."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "0"
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    answers = {
        name: rows_of(one)
        for name, one in results().items()
        if name.startswith(f"{GROWTH}.")
    }
    look_of = looks(row[METHOD] for rows in answers.values() for row in rows)
    for name, rows in answers.items():
        path = folder / f"{name.replace('.', '_')}.svg"
        growth_figure(rows, look_of).savefig(path, metadata={"Date": None})


def setup(app):
    """Offer the directives; pictures of growth are drawn before pages are read."""
    app.connect("builder-inited", draw_growth)
    app.add_directive("result-tables", ResultTables)
    app.add_directive("result-summary", ResultSummary)
    app.add_directive("result-shortfalls", ResultShortfalls)
    app.add_directive("result-sections", ResultSections)
    app.add_role("evidence", Evidence())
    app.add_role("measured", Measured())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
