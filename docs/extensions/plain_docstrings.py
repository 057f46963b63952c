"""In a docstring |x| is a length and weights_ an attribute, not markup."""

from docutils.parsers.rst.states import Inliner


def taken_as_text(inliner, match, lineno):
    """Return what starts the markup as it stands, and go on behind it."""
    end = match.end("start") if match.group("start") else match.end("refend")
    return match.string[:end], [], match.string[end:], []


def setup(app):
    """Take two kinds of markup out of the reader, which nothing here uses."""
    for start in ("|", "_", "__"):
        Inliner.dispatch[start] = taken_as_text
    return {"parallel_read_safe": True, "parallel_write_safe": True}
