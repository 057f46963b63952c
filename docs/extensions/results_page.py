"""The page of results."""


def setup(app):
    """Nothing yet."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}
