"""Code in the text of a page that is a public name becomes a link to its page."""

from docutils import nodes
from public_names import address, rooms
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class LinkedNames(SphinxTransform):
    """Links of `Adapted` and `Adapted(...)` alike, outside headings and links."""

    default_priority = 200
    known: dict[str, str] | None = None

    def apply(self, **kwargs):
        """Put a reference around every literal that names something public."""
        if LinkedNames.known is None:
            LinkedNames.known = {
                name: address(room, name)
                for room, names in rooms().items()
                for name in names
            }
        for literal in list(self.document.findall(nodes.literal)):
            within = (nodes.title, nodes.reference, addnodes.pending_xref)
            if isinstance(literal.parent, within):
                continue
            text = literal.astext()
            name = text.partition("(")[0].removeprefix("counterpoise.")
            room, _, inside = name.rpartition(".")
            name = inside if room in rooms() else name
            if name not in LinkedNames.known:
                continue
            link = addnodes.pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=LinkedNames.known[name],
                refexplicit=True,
                refwarn=True,
            )
            link["py:module"] = link["py:class"] = None
            literal.replace_self(link)
            link += literal


def setup(app):
    """Look at every page."""
    app.add_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
