"""Warnings that point at the user's own line."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from threading import Lock
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, ref

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
    >>> from counterpoise.validation import warn_user
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
    warnings.warn(OwnWords(message), category, stacklevel=level)


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
