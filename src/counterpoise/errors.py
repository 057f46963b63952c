"""Exceptions and warnings of the library."""

import dis
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from threading import Lock
from types import FrameType, TracebackType
from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary, ref

# -----------------------------------------------------------------------------
# Errors about what somebody gave, known by their type.
# -----------------------------------------------------------------------------


class InvalidInputError(ValueError):
    """What was given cannot be used: a table, a label, a parameter.

    Raised by the parts that see what a user gives: the rooms from `validation` up, and
    the kernel. What is below them has passed their checks, and raises `ValueError`
    where it has not: a fault of the program. The command line chooses its exit code so.
    """


class InvalidTypeError(InvalidInputError, TypeError):
    """What was given is of a kind that cannot be used; a `TypeError` too."""


# Where users import them from; messages show this name.


# -----------------------------------------------------------------------------
# Who raised an error: by the innermost frame of its traceback.
# -----------------------------------------------------------------------------


_RAISE = dis.opmap["RAISE_VARARGS"]


def was_raised_by(error: BaseException, package: str) -> bool:
    """Return whether a `raise` in a package made the error.

    An error that comes out of an operation there, or out of another library that was
    called from there, was not raised by it.

    Examples
    --------
    >>> from counterpoise.data.parameters import check_integer
    >>> try:
    ...     check_integer("n", -1, low=0)
    ... except ValueError as error:
    ...     was_raised_by(error, "counterpoise"), was_raised_by(error, "sklearn")
    (True, False)
    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     was_raised_by(error, "counterpoise")
    False
    """
    last = error.__traceback__
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    module = str(last.tb_frame.f_globals.get("__name__", ""))
    return _raises(last) and (module == package or module.startswith(f"{package}."))


def _raises(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_code[frame.tb_lasti] == _RAISE


# -----------------------------------------------------------------------------
# Warnings that point at the user's own line.
# -----------------------------------------------------------------------------


# Calls pass through these packages on their way here (what is worked out when it is
# first asked for, through functools); no line of theirs is the user's.
_NOT_THE_USER = ("counterpoise", "sklearn", "joblib", "functools")

_NUMBERS = re.compile(r"[\d.,%]+")
# What each search has said in its fit that goes on.
_TOLD: WeakKeyDictionary[Any, tuple[Any, set[tuple[type[Warning], str]]]] = (
    WeakKeyDictionary()
)

_GATHERED: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar(
    "gathered", default=None
)

# What this thread holds back: how the words begin, and the categories.
_HELD: ContextVar[tuple[tuple[str, tuple[type[Warning], ...]], ...]] = ContextVar(
    "held_back", default=()
)
_LOCK = Lock()
# One entry for each call that may put filters in.
_UNDER_WAY: list[None] = []


class OwnWords(str):
    """The words of a warning of ours, which tell it from those of other packages."""

    __slots__ = ()


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into the library, however deep the finding.

    Lines of scikit-learn are passed over too: a fit inside its cross-validation is
    warned about where the cross-validation was called. A search over candidates says
    the same once, whatever numbers differ from fold to fold.

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
    gathering = _GATHERED.get()
    if gathering is not None:
        if not _is_held_back(message, category):
            gathering.append((message, category))
        return
    level, frame = 1, sys._getframe()
    search = None
    while frame.f_back is not None and _package(frame.f_globals) in _NOT_THE_USER:
        if frame.f_code.co_name == "fit" and _is_search(frame.f_globals):
            search = frame
        level, frame = level + 1, frame.f_back
    if search is not None and _was_told(search, category, message):
        return
    words = message if isinstance(message, OwnWords) else OwnWords(message)
    warnings.warn(words, category, stacklevel=level)


class _OfThisThread(type):
    """Categories of warnings that are so only for whoever holds them back.

    A filter stands in a list that all threads share and that other packages copy, put
    aside and put back. So the filter itself asks whether the thread that warns is
    inside a `held_back`: a copy that stays behind somewhere holds nothing back.
    """

    words: str

    def __subclasscheck__(cls, category: type) -> bool:
        return any(
            words == cls.words and issubclass(category, kinds)
            for words, kinds in _HELD.get()
        )


@cache
def _filter(words: str) -> tuple[Any, ...]:
    """Return the one filter for warnings that begin with such words."""
    category = _OfThisThread("HeldBack", (Warning,), {"words": words})
    pattern = re.compile(words, re.IGNORECASE) if words else None
    return ("ignore", pattern, category, None, 0)


@contextmanager
def held_back(*categories: type[Warning], message: str = "") -> Iterator[None]:
    """Hold warnings back that come from inside, in this thread alone.

    `warnings.catch_warnings` puts back the list that it found: where threads come and
    go, that of another's inside. Here a filter of one's own is put in front, and is
    taken out again.

    Parameters
    ----------
    *categories : types of warnings
        None: all.
    message : str
        A pattern that their words begin with.
    """
    held = (message, categories or (Warning,))
    _HELD.set((*_HELD.get(), held))
    own, filters = _filter(message), warnings.filters
    with filters_left_clean():
        filters.insert(0, own)  # type: ignore[attr-defined]
        try:
            yield
        finally:
            # Whoever came first may go first.
            _HELD.set(tuple(one for one in _HELD.get() if one is not held))
            for there in {id(one): one for one in (filters, warnings.filters)}.values():
                with suppress(ValueError):
                    there.remove(own)  # type: ignore[attr-defined]


@contextmanager
def filters_left_clean() -> Iterator[None]:
    """Leave no filter of `held_back` behind when the last call under way has ended.

    Another package's `catch_warnings` in another thread can put back a list that had
    one. Public calls that run other packages are inside.
    """
    with _LOCK:
        _UNDER_WAY.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _UNDER_WAY.pop()
            if not _UNDER_WAY:
                for one in [*warnings.filters]:
                    if isinstance(one[2], _OfThisThread):
                        warnings.filters.remove(one)  # type: ignore[attr-defined]


def _is_held_back(message: str, category: type[Warning]) -> bool:
    """Return whether this thread holds such a warning back."""
    return any(
        re.match(words, message, re.IGNORECASE) is not None
        and issubclass(category, kinds)
        for words, kinds in _HELD.get()
    )


@contextmanager
def gathered() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Gather our own warnings of what runs inside, to be told later.

    Those of other packages are told as they come.
    """
    told: list[tuple[str, type[Warning]]] = []
    token = _GATHERED.set(told)
    try:
        yield told
    finally:
        _GATHERED.reset(token)


def _is_search(module: dict[str, object]) -> bool:
    return str(module.get("__name__", "")).startswith("sklearn.model_selection._search")


def _was_told(search: FrameType, category: type[Warning], message: str) -> bool:
    """Return whether a search has said so before, and note that it has.

    The copy of the estimator that a fit of a search begins with tells that fit from
    the next one.
    """
    owner, copied = (search.f_locals.get(name) for name in ("self", "base_estimator"))
    if owner is None or copied is None:
        return False
    said = (category, _NUMBERS.sub("", message))
    begun, told = _TOLD.get(owner, (None, set()))
    if begun is None or begun() is not copied:
        begun, told = ref(copied), set()
    known = said in told
    told.add(said)
    _TOLD[owner] = begun, told
    return known


def is_own(warning: Warning | str) -> bool:
    """Return whether a warning was given by `warn_user`."""
    words = warning.args[0] if isinstance(warning, Warning) and warning.args else None
    return isinstance(words, OwnWords)


def _package(module: dict[str, object]) -> str:
    return str(module.get("__name__", "")).partition(".")[0]


# -----------------------------------------------------------------------------
# What the library warns about and refuses before it computes.
#
# A refusal is known by its type: `InvalidInputError` is about what somebody gave, and
# any other error is a fault of the program. So the command line chooses its exit code.
# -----------------------------------------------------------------------------


OverlapMeasure: TypeAlias = Literal["uncovered_fraction", "unsupported_fraction"]

_FOUND = {
    "uncovered_fraction": "lie where only the outermost source rows are",
    "unsupported_fraction": "have no source row within reach of the kernel",
}


@contextmanager
def refusals_of_estimators() -> Iterator[None]:
    """Let what scikit-learn says against the data that it gets be a refusal.

    It knows no type of its own for that. Around calls of somebody's estimator, metric
    or splitter a `ValueError` or `TypeError` that scikit-learn raises becomes an
    `InvalidInputError` with the same words and notes. What comes out of an operation,
    of code of ours or of anybody else is no message about the data and passes as it is.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> try:
    ...     with refusals_of_estimators():
    ...         LinearRegression().fit([[float("nan")]], [1.0])
    ... except InvalidInputError as error:
    ...     print(str(error).splitlines()[0])
    Input X contains NaN.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        # An AttributeError besides says that a model is not fitted, for `hasattr`.
        if isinstance(error, InvalidInputError | AttributeError):
            raise
        if not was_raised_by(error, "sklearn"):
            raise
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        refusal = kind(*error.args)
        for note in getattr(error, "__notes__", ()):
            refusal.add_note(note)
        raise refusal from error


class NoTargetWarning(UserWarning):
    """`X_target` was not given: all weights are one and nothing is adapted."""


class NoOverlapError(InvalidInputError):
    """Most of the target lies where the source has no rows.

    Parameters
    ----------
    share : float
        Share of the target rows, between 0 and 1, that the source does not reach.
    measure : {"uncovered_fraction", "unsupported_fraction"}
        How they were counted. "uncovered_fraction": their domain score exceeds nearly
        all scores of source rows. "unsupported_fraction": less than one source row is
        expected within the width of the kernel.
    auc : float or None
        How well a classifier tells the two samples apart; None if none was asked.
    columns : str
        Which columns make the samples disjoint, in words; empty if none do.

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
        # The arguments themselves go up, so that the error survives pickling
        # on its way back from a worker process.
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


class PartialOverlapWarning(UserWarning):
    """Some target rows lie where the source has no rows."""


class WeakClassifierWarning(UserWarning):
    """The source classifier is unsure of the target: adaptation amplifies errors."""
