"""Axes, colors, ticks, and an Axes as SVG for the page."""

import re
import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from counterpoise.messages.numbers import LONGEST_LABEL, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Okabe and Ito's colors, which most people can tell apart; the page maps each to a
# shade that suits its background.
INK, MUTED = "#1b1b1f", "#8a8a90"
BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
DASHED = (0, (4, 3))
# Inches.
FIGURE_WIDTH, FIGURE_HEIGHT, SMALL_WIDTH = 4.9, 3.1, 3.8
_LONGEST_TITLE = 36
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
_ON_PAGE = {
    INK: "currentColor",
    MUTED: f"var(--muted, {MUTED})",
    BLUE: f"var(--blue, {BLUE})",
    ORANGE: f"var(--orange, {ORANGE})",
    GREEN: f"var(--green, {GREEN})",
    PURPLE: f"var(--purple, {PURPLE})",
}
_OPENING = (
    '<svg xmlns="http://www.w3.org/2000/svg" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{}" aria-hidden="true" '
    'focusable="false">'
)
_NOT_FOR_A_PAGE = re.compile(
    r"<defs>\s*<style.*?</style>\s*</defs>|<metadata>.*?</metadata>", re.DOTALL
)
_IDS = re.compile(r'\bid="|url\(#|href="#')
_STYLES = re.compile(r'(?<= )style="[^"]*"')
_FONT = re.compile(r"font: ([\d.]+px)[^;\"]*|font-family:[^;\"]*;?\s*")


def svg(
    draw: Callable[["Axes"], object],
    name: str,
    *,
    width: float = FIGURE_WIDTH,
    height: float = FIGURE_HEIGHT,
) -> str:
    """Return a picture as an SVG element to be put into a page.

    The same drawing gives the same bytes. Colors are those of the page, light or dark.

    Parameters
    ----------
    draw : callable
        Gets an Axes.
    name : str
        Of the picture on its page; names inside are derived from it.
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
    _, _, text = out.getvalue().partition("<svg")
    head, _, body = text.partition(">")
    box = re.search(r'viewBox="([^"]*)"', head)
    assert box is not None
    body = _NOT_FOR_A_PAGE.sub("", body).strip()
    body = re.sub(r'<g id="[\w.]+">', "<g>", body)
    # Clips and markers of two pictures must not meet.
    body = _IDS.sub(rf"\g<0>{name}-", body)
    body = _STYLES.sub(lambda style: _page_style(style[0]), body)
    return _OPENING.format(box[1]) + re.sub(r"\n\s*", "\n", body)


def _page_style(style: str) -> str:
    """Return a style with the font and the shades of the page."""
    style = _FONT.sub(lambda font: f"font-size: {font[1]}" if font[1] else "", style)
    for color, shade in _ON_PAGE.items():
        style = style.replace(f": {color}", f": {shade}")
    return style


def matplotlib() -> Any:
    """Return matplotlib, or say how to get it."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib: pip install 'counterpoise[report]'"
        ) from error
    return mpl


def axes(ax: "Axes | None", height: float = 3.5) -> "Axes":
    """Return the Axes given, or a new one."""
    matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.0, height), layout="constrained")[1]


def set_labels(ax: "Axes", x: str | None = None, y: str | None = None) -> None:
    """Write what stands along the axes, as it is."""
    for axis, text in ((ax.xaxis, x), (ax.yaxis, y)):
        if text is not None:
            axis.set_label_text(text)
            axis.label.set_parse_math(False)


def draw_diagonal(ax: "Axes") -> None:
    """Draw the dashed line from corner to corner."""
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=DASHED)


def set_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Write names along the left, the first on top; short ones of a grid of rows."""
    ax.set_yticks(range(len(names)), list(names))
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def short_names(names: Sequence[str]) -> list[str]:
    """Return names as they stand in a picture."""
    return [readable(name, LONGEST_LABEL) for name in names]


def draw_grid(ax: "Axes", axis: str) -> None:
    """Draw faint lines behind the drawing."""
    ax.grid(axis=axis, color=MUTED, alpha=0.25, linewidth=0.6)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def set_title(ax: "Axes", name: str) -> None:
    """Write a column's name above its picture, as it is."""
    # Above the whole picture: there is more room than above the axes.
    text = ax.figure.suptitle(
        readable(name, _LONGEST_TITLE), x=0.01, ha="left", fontsize=11
    )
    text.set_parse_math(False)


def plain_ticks(axis: "Axis") -> None:
    """Write the numbers of a logarithmic axis without mathematical signs."""
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda *_: "")


def percent_ticks(*several: "Axis") -> None:
    """Write shares as percentages, in as many decimals as they need."""
    for axis in several:
        # Negative zero plus zero is zero.
        axis.set_major_formatter(lambda x, _: f"{round(100 * x, 6) + 0.0:.10g} %")
