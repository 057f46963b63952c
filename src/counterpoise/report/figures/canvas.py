"""Drawings: axes, styles and their data tables."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from counterpoise.errors import InvalidInputError
from counterpoise.report.formatting import LONGEST_LABEL, Cell, Sentence, readable
from counterpoise.report.report import Record

# -----------------------------------------------------------------------------
# From an Axes to SVG that is the same bytes every time, light and dark.
# -----------------------------------------------------------------------------


# Okabe and Ito's colours, which most people can tell apart; the page maps each to a
# shade that suits its background.
INK, MUTED = "#1b1b1f", "#8a8a90"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
_ON_PAGE = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    BLUE: f"var(--blue, {BLUE})",
    ORANGE: f"var(--orange, {ORANGE})",
    GREEN: f"var(--green, {GREEN})",
    PURPLE: f"var(--purple, {PURPLE})",
}
FIGURE_WIDTH, FIGURE_HEIGHT = 4.9, 3.1

_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11.0,
    "axes.labelsize": 11.0,
    # Small screens make the numbers along an axis larger.
    "axes.labelpad": 8.0,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "legend.fontsize": 10.0,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 2.0,
}
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_VIEW_BOX = re.compile(r'<svg[^>]*?viewBox="([^"]*)"[^>]*>', re.DOTALL)
_WHOLE_PAGE_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_GROUP = re.compile(r'<g id="[\w.]+">')
# matplotlib escapes both in every text.
_TAG = re.compile(r"<[^<>]+>")
_REFERENCE = re.compile(r'\bid="|url\(#|href="#')
_STYLES = re.compile(r'style="([^"]*)"')
_FONT = re.compile(r"font: ([\d.]+px)[^;]*|font-family:[^;]*;\s*")
_UNTURNED = re.compile(r' transform="rotate\(-0 [^)]*\)"')


def svg(
    draw: Callable[[Any], Any], name: str, *, width: float = FIGURE_WIDTH, height: float
) -> str:
    """Return a picture as an SVG element to be put into a page.

    Parameters
    ----------
    draw : callable
        Gets an Axes.
    name : str
        Of the picture on its page: what is inside is named after it.
    width, height : float
        Inches.
    """
    mpl = matplotlib()
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_visible(False)
        ax = figure.add_subplot()
        ax.patch.set_visible(False)
        draw(ax)
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(out, metadata=nothing)
    return _for_a_page(out.getvalue(), name)


def _for_a_page(text: str, name: str) -> str:
    text = _PROLOGUE.sub("", text, count=1).strip()
    text = _WHOLE_PAGE_STYLE.sub("", _METADATA.sub("", text))
    opening = (
        r'<svg xmlns="http://www.w3.org/2000/svg" '
        r'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="\1" aria-hidden="true" '
        r'focusable="false">'
    )
    text = _VIEW_BOX.sub(opening, text, count=1)
    text = _TAG.sub(lambda tag: _tag(tag[0], name), _GROUP.sub("<g>", text))
    return re.sub(r"\n\s*", "\n", text)


def _tag(tag: str, name: str) -> str:
    """Return an opening tag with the page's shades, and with names of its own."""
    # Clips and markers of two pictures must not meet.
    tag = _REFERENCE.sub(rf"\g<0>{name}-", tag)
    tag = _STYLES.sub(lambda found: f'style="{_style(found[1])}"', tag)
    return _UNTURNED.sub("", tag)


def _style(told: str) -> str:
    """Return a style with the page's font and shades."""
    told = _FONT.sub(lambda font: f"font-size: {font[1]}" if font[1] else "", told)
    for color, shade in _ON_PAGE.items():
        told = told.replace(f": {color}", f": {shade}")
    return told


def matplotlib() -> Any:
    """Return matplotlib, or say how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib: pip install 'counterpoise[report]'"
        ) from error
    return mpl


def axes(ax: Any, height: float = 3.5) -> Any:
    """Return the Axes given, or a new one."""
    matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.0, height), layout="constrained")
    return ax


def label(name: str) -> str:
    """Return a name as it stands in a picture."""
    return readable(name, LONGEST_LABEL)


def name_ticks(ax: Any, names: list[str]) -> None:
    """Write names from data along the left, as they are."""
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)


def plain_ticks(axis: Any) -> None:
    """Write the numbers of a logarithmic axis without mathematical signs."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def percent_ticks(axis: Any) -> None:
    """Write shares as percentages."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))


def _percent(value: float) -> str:
    """Return a tick's share in as many decimals as it needs, never as a power."""
    # Negative zero plus zero is zero.
    decimals = f"{round(100 * value, 6) + 0.0:.6f}"
    return f"{decimals.rstrip('0').rstrip('.')} %"


# -----------------------------------------------------------------------------
# A picture with its words: title, explanation, caption, and its data as a table.
# -----------------------------------------------------------------------------


# Lines of a table of data that a curve is shown by.
_MOST_LINES = 26


@dataclass(frozen=True)
class DataTable:
    """Numbers in rows under a header.

    Attributes
    ----------
    header : tuple of str
    rows : tuple of tuples of cells
    note : str
        What else is to be said.
    prose : bool
        Whether cells are sentences, which a narrow screen shows one below another.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Its place on the page.
    title : str
        What it answers.
    explanation : Sentence
        How to read it, for somebody who never saw one.
    caption : Sentence
        What it shows here, with its numbers.
    pictures : tuple of str
        SVG elements.
    data : DataTable
    """

    name: str
    title: str
    explanation: Sentence
    caption: Sentence
    pictures: tuple[str, ...]
    data: DataTable


def record_of(fitted: Any) -> Record:
    """Return a record as it is, or that of a fitted object."""
    return fitted if isinstance(fitted, Record) else Record.of(fitted)


def section_of(fitted: Any, name: str) -> Any:
    """Return a section that a picture is drawn from.

    Raises
    ------
    ValueError
        Where there is nothing to draw.
    """
    record = record_of(fitted)
    if name not in record:
        raise InvalidInputError(f"there is no section {name!r} to draw from")
    return record[name]


def thinned(rows: Sequence[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """Return some of the rows of a long table, the first and the last among them."""
    last = len(rows) - 1
    if last < _MOST_LINES:
        return tuple(rows)
    places = sorted({round(k * last / (_MOST_LINES - 1)) for k in range(_MOST_LINES)})
    return tuple(rows[k] for k in places)


# -----------------------------------------------------------------------------
# A table of the page.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TitledTable:
    """A table with a heading and a sentence.

    Attributes
    ----------
    name : str
        Its place on the page.
    title : str
    about : Sentence
    data : DataTable
    folded : bool
        Whether it is shown on demand alone.
    wide : bool
        Whether it takes a row of the page by itself.
    in_text : bool
        Whether the report as plain text has it too.
    """

    name: str
    title: str
    about: Sentence
    data: DataTable
    folded: bool = False
    wide: bool = False
    in_text: bool = False
