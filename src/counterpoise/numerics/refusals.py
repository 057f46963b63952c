"""Errors about what somebody gave, known by their type."""


class InvalidInput(ValueError):  # noqa: N818
    """What was given cannot be used: a table, a label, a parameter.

    Raised by the parts that see what a user gives: the rooms from `validation` up, and
    the kernel. What is below them has passed their checks, and raises `ValueError`
    where it has not: a fault of the program. The command line chooses its exit code so.
    """


class InvalidType(InvalidInput, TypeError):  # noqa: N818
    """What was given is of a kind that cannot be used; a `TypeError` too."""


# Where users import them from; messages show this name.
InvalidInput.__module__ = InvalidType.__module__ = "counterpoise.validation"
