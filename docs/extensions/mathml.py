"""Mathematics without a script: LaTeX becomes MathML when the site is built."""

from docutils import nodes
from latex2mathml.converter import convert


def written(latex: str, display: str) -> str:
    r"""Return the MathML of a formula.

    The converter keeps two things as they are spelled: a space at the end of a line
    (a backslash), and the bars of a norm behind a size (``\Big\|``).
    """
    found = convert(" ".join(latex.split("\n")), display=display)
    return found.replace(r">\|<", ">&#x2016;<")


def inline(writer, node):
    """Write a formula of a line."""
    writer.body.append(written(node.astext(), "inline"))
    raise nodes.SkipNode


def displayed(writer, node):
    """Write a formula that stands alone; it scrolls by itself where it is wide."""
    writer.body.append('<div class="formula" tabindex="0">')
    writer.body.append(written(node.astext(), "block"))
    writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
