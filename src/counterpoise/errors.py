"""Exceptions and warnings of the library."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Literal, TypeAlias

# -----------------------------------------------------------------------------
# Errors about input. Any other error is a fault of the program, and the command line
# chooses its exit code by the type.
# -----------------------------------------------------------------------------


class InvalidInputError(ValueError):
    """A table, a label or a parameter of the user cannot be used.

    The code below the input checks raises `ValueError` instead.
    """


class InvalidTypeError(InvalidInputError, TypeError):
    """An input has a type that cannot be used."""


# -----------------------------------------------------------------------------
# Warnings.
# -----------------------------------------------------------------------------


_PACKAGE = f"{Path(__file__).parent}{os.sep}"


class CounterpoiseWarning(UserWarning):
    """Base class of the warnings that counterpoise defines."""


class NoTargetWarning(CounterpoiseWarning):
    """`X_target` was not given: all weights are one and nothing is adapted."""


class PartialOverlapWarning(CounterpoiseWarning):
    """Some target rows lie where the source has no rows."""


class WeakClassifierWarning(CounterpoiseWarning):
    """The source classifier is unsure of the target: adaptation amplifies errors."""


def warn_user(message: str, category: type[Warning] = CounterpoiseWarning) -> None:
    """Warn at the line that called into counterpoise.

    Examples
    --------
    >>> import warnings
    >>> from counterpoise.errors import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("two rows are alike")
    >>> str(caught[0].message)
    'two rows are alike'
    """
    frame: FrameType | None = sys._getframe()
    level = stacklevel = 1
    while frame is not None:
        level += 1
        if frame.f_code.co_filename.startswith(_PACKAGE):
            stacklevel = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=stacklevel)


@contextmanager
def suppress_warnings(*categories: type[Warning], message: str = "") -> Iterator[None]:
    """Suppress warnings of the calls inside.

    Parameters
    ----------
    *categories : types of warnings
        None: all.
    message : str
        A pattern that the message begins with.
    """
    with warnings.catch_warnings():
        for category in categories or (Warning,):
            warnings.filterwarnings("ignore", message, category)
        yield


@contextmanager
def collect_warnings() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Collect the warnings of the calls inside instead of emitting them."""
    collected: list[tuple[str, type[Warning]]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield collected
        finally:
            collected += [(str(one.message), one.category) for one in caught]


# -----------------------------------------------------------------------------
# Errors of estimators, and of samples that do not overlap.
# -----------------------------------------------------------------------------


OverlapMeasure: TypeAlias = Literal["uncovered_fraction", "unsupported_fraction"]

_FOUND = {
    "uncovered_fraction": "lie where only the outermost source rows are",
    "unsupported_fraction": "have no source row within reach of the kernel",
}


@contextmanager
def estimator_errors() -> Iterator[None]:
    """Raise the `ValueError` or `TypeError` of an estimator as `InvalidInputError`.

    For calls of a user's estimator, metric or splitter with the user's data: the
    error keeps its message and its notes.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> try:
    ...     with estimator_errors():
    ...         LinearRegression().fit([[float("nan")]], [1.0])
    ... except InvalidInputError as error:
    ...     print(str(error).splitlines()[0])
    Input X contains NaN.
    """
    try:
        yield
    # `NotFittedError` is an AttributeError too, which `hasattr` relies on.
    except (InvalidInputError, AttributeError):
        raise
    except (ValueError, TypeError) as error:
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        refusal = kind(*error.args)
        for note in getattr(error, "__notes__", ()):
            refusal.add_note(note)
        raise refusal from error


class NoOverlapError(InvalidInputError):
    """Most target rows lie outside the support of the source.

    Parameters
    ----------
    share : float
        Share of the target rows, between 0 and 1, that the source does not reach.
    measure : {"uncovered_fraction", "unsupported_fraction"}
        How these rows are counted. "uncovered_fraction": their domain score exceeds
        nearly all scores of source rows. "unsupported_fraction": fewer than one source
        row is expected within the width of the kernel.
    auc : float or None
        AUC of the domain classifier; None if it was not computed.
    columns : str
        A description of the columns that make the samples disjoint; may be empty.

    Examples
    --------
    >>> print(NoOverlapError(0.91, "uncovered_fraction", auc=0.998))
    91.0% of the target rows lie where only the outermost source rows are (AUC of \
source against target 0.998): no weights make the source stand for them. \
allow_no_overlap=True goes on all the same.
    """

    def __init__(
        self,
        share: float,
        measure: OverlapMeasure,
        auc: float | None = None,
        columns: str = "",
    ) -> None:
        # Worker processes pickle the error with these arguments.
        super().__init__(share, measure, auc, columns)
        self.share = share
        self.measure = measure
        self.auc = auc
        self.columns = columns

    def __str__(self) -> str:
        apart = (
            ""
            if self.auc is None
            else f" (AUC of source against target {self.auc:.3f})"
        )
        return (
            f"{self.share:.1%} of the target rows {_FOUND[self.measure]}{apart}: no "
            f"weights make the source stand for them. {self.columns}"
            f"{' ' if self.columns else ''}allow_no_overlap=True goes on all the same."
        )
