"""What was found of two samples before: a search weighs once a fold.

A grid search fits many candidates to the same rows of each fold, and diagnosis and
weights depend on the rows alone. They are kept by a digest of everything that they
depend on, and found again only where all of it is the same to the byte.
"""

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from threading import Lock
from typing import Any
from uuid import uuid4

from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.validation.warning import gathered, warn_user
from counterpoise.weights.base import WeightEstimator

# A search of five folds needs twelve: a diagnosis and weights of each, and of all.
FINDINGS_KEPT = 24
# The rows of a fit are not kept, but weights and centres are: not of larger samples.
LARGEST_KEPT = 200_000

_Key = tuple[str, str]
# Under which samples keep the digest of what they hold.
_CONTENT = ("content",)


class _Findings:
    """The last findings, by their keys; the one that was asked least lately goes."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Key, tuple[Any, list[Any]]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _Key) -> tuple[Any, list[Any]] | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: _Key, found: Any, told: list[Any]) -> None:
        with self._lock:
            self._found[key] = found, told
            while len(self._found) > FINDINGS_KEPT:
                self._found.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)


FOUND = _Findings()


def remember_content(
    samples: SamplesAsRead, X: Any, X_target: Any, random_state: Any
) -> None:
    """Write down what the samples hold, where it can be told and asked for again.

    Without a seed nothing is kept: every fit draws anew.
    """
    n, m = samples.source_weight.size, samples.target_weight.size
    if isinstance(random_state, int) and max(n, m) <= LARGEST_KEPT:
        samples.found[_CONTENT] = digest(
            (X, X_target, samples.source_weight, samples.units, random_state)
        )


def remember_in_this_run(samples: SamplesAsRead) -> None:
    """Let samples that were read once be diagnosed and weighed once, while they live.

    For who fits several estimators to them with one seed.
    """
    samples.found.setdefault(_CONTENT, uuid4().hex)


def diagnosed(samples: SamplesAsRead, find: Callable[[], Any]) -> Any:
    """Return the diagnosis of the samples, by `find` unless it is known."""
    return _once(samples, "diagnosis", find, lambda found: found)


def weighed(
    samples: SamplesAsRead, weighter: Any, y: Any, find: Callable[[], Any]
) -> Any:
    """Return a weighter fitted to the samples, by `find` unless one like it is known.

    Only our own weighters, which are known to depend on nothing else.
    """
    if not isinstance(weighter, WeightEstimator):
        return find()
    of_labels = y if getattr(weighter, "needs_labels", False) else None
    own = digest((type(weighter).__qualname__, weighter.get_params(), of_labels))
    if own is None:
        return find()
    found = _once(samples, own, find, lambda one: deepcopy(one.without_rows()))
    if found._samples_ is None:
        # A copy of one that was fitted to rows of the same content, in their order.
        found = deepcopy(found)
        found._samples_ = samples.counted
    return found


def digest(content: Any) -> str | None:
    """Return a hash of everything that objects hold; None where it cannot be told.

    Equal bytes alone give equal hashes; equal objects may be told apart, which costs
    time and nothing else.

    Examples
    --------
    >>> digest([1.0, "a"]) == digest([1.0, "a"]), digest(lambda: 0) is None
    (True, True)
    """
    hashed = _Hash()
    try:
        pickle.Pickler(hashed, protocol=5).dump(content)
    except Exception:
        # Functions of the user's own, generators and the like.
        return None
    return hashed.sha.hexdigest()


class _Hash:
    """A file that keeps nothing but the hash of what was written."""

    def __init__(self) -> None:
        self.sha = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha.update(data)
        return len(data)


def _once(
    samples: SamplesAsRead,
    what: str,
    find: Callable[[], Any],
    kept: Callable[[Any], Any],
) -> Any:
    """Return what was found before, with what was told then; else find it."""
    content = samples.found.get(_CONTENT)
    if content is None:
        return find()
    known = FOUND.get((content, what))
    if known is not None:
        found, told = known
        for message, category in told:
            warn_user(message, category)
        return found
    with gathered() as told:
        found = find()
    FOUND.put((content, what), kept(found), told)
    for message, category in told:
        warn_user(message, category)
    return found
