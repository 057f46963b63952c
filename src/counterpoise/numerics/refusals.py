"""Errors about what somebody gave, known by their type."""


class InvalidInput(ValueError):  # noqa: N818
    """What was given cannot be used: a table, a label, a parameter.

    Any other error is a fault of the program; the command line chooses its exit code
    so.
    """


class InvalidType(InvalidInput, TypeError):  # noqa: N818
    """What was given is of a kind that cannot be used; a `TypeError` too."""


# Where users import them from; messages show this name.
InvalidInput.__module__ = InvalidType.__module__ = "counterpoise.validation"
