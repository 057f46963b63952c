"""Directives that write down the command line from its own parser."""

from docutils import nodes
from docutils.parsers.rst import Directive

from counterpoise.cli import main as command
from counterpoise.cli.options import SHORT_NAMES
from counterpoise.cli.terminal import MEANINGS


def table(
    header: list[str], rows: list[list[str]], code: tuple[int, ...]
) -> nodes.table:
    """Return a table; columns whose numbers are in `code` are set as code."""
    group = nodes.tgroup(cols=len(header))
    for _ in header:
        group += nodes.colspec(colwidth=1)
    head, body = nodes.thead(), nodes.tbody()
    head += _row(header, ())
    for cells in rows:
        body += _row(cells, code)
    group += head
    group += body
    whole = nodes.table(classes=["plain"])
    whole += group
    return whole


def _row(cells: list[str], code: tuple[int, ...]) -> nodes.row:
    row = nodes.row()
    for k, cell in enumerate(cells):
        text = nodes.literal(cell, cell) if k in code and cell else nodes.Text(cell)
        row += nodes.entry("", nodes.paragraph("", "", text))
    return row


class Commands(Directive):
    """Every command with every option, as `--help` has them."""

    def run(self):
        """Return a section a command."""
        parser = command._parser()
        subparsers = parser._subparsers._group_actions[0]
        about = {one.dest: one.help for one in subparsers._choices_actions}
        found = []
        env = self.state.document.settings.env
        standard = env.get_domain("std")
        for name, one in subparsers.choices.items():
            place = f"command-{name}"
            section = nodes.section(ids=[place])
            standard.note_hyperlink_target(place, env.docname, place, name)
            section += nodes.title("", "", nodes.literal(name, name))
            section += nodes.paragraph(
                "", f"{about[name][0].upper()}{about[name][1:]}."
            )
            rows = [
                [_option(action), _told(one, action)]
                for action in one._actions
                if action.dest != "help"
            ]
            section += table(["option", "what it does"], rows, (0,))
            if one.epilog:
                section += nodes.literal_block(one.epilog, one.epilog, language="text")
            found.append(section)
        return found


def _option(action) -> str:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    if action.nargs == 0 or not action.option_strings:
        return names
    shown = action.metavar or action.dest.upper()
    return f"{names} [{shown}]" if action.nargs == "?" else f"{names} {shown}"


def _told(parser, action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


class ExitCodes(Directive):
    """The codes that a command ends with."""

    def run(self):
        """Return the table."""
        rows = [[str(code), meaning] for code, meaning in MEANINGS.items()]
        return [table(["code", "meaning"], rows, (0,))]


class FailIfNames(Directive):
    """The numbers that `--fail-if` knows, and where the record has them."""

    def run(self):
        """Return the table."""
        rows = [[short, path] for short, path in SHORT_NAMES.items()]
        return [table(["name", "in the record"], rows, (0, 1))]


def setup(app):
    """Offer the directives."""
    app.add_directive("commands", Commands)
    app.add_directive("exit-codes", ExitCodes)
    app.add_directive("fail-if-names", FailIfNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
