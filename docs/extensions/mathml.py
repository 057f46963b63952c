"""Mathematics without a script: LaTeX becomes MathML when the site is built."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(writer, node):
    """Write a formula of a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed(writer, node):
    """Write a formula that stands alone; it scrolls by itself where it is wide."""
    writer.body.append('<div class="formula" tabindex="0">')
    writer.body.append(convert(node.astext(), display="block"))
    writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
