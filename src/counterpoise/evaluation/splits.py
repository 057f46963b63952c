"""Which rows are held out together."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    check_integer,
    refusals_of_estimators,
)

USUAL_FOLDS = 5
# Rows in the order of time err together in so many runs of neighbours.
RUNS_OF_NEIGHBORS = 30
# Neighbouring rows are near-duplicates below this share of the squared distance of
# rows drawn by chance: a first-order autocorrelation above 0.9.
NEAR_NEIGHBORS = 0.1
_FEWEST_ROWS_TO_TELL = 50


def folds_of(
    cv: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    is_classifier: bool,
    seed: int = 0,
) -> list[tuple[Indices, Indices]]:
    """Return pairs of places: rows to fit to, rows held out.

    Parameters
    ----------
    cv : None, int, "blocks", splitter or iterable of pairs
        None: five folds. A number: as many folds, drawn by chance and stratified by
        class; rows of a group stay together. "blocks": five runs of neighbouring rows,
        for rows in the order of time. Anything else is used as it is.
    X, y : arrays or frames with a row each
        Only their lengths and the classes matter to the rules of this function.
    groups : array of shape (n,) or None
        Rows of one group are held out together.
    is_classifier : bool
        Whether `y` holds classes.
    seed : int
        Of the folds drawn by chance.

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0]
    >>> folds_of("blocks", y, y, is_classifier=False)[0]
    (array([1, 2, 3]), array([0]))
    """
    n = _length(X)
    if isinstance(cv, str) and cv != "blocks":
        raise InvalidInput(
            f'cv must be a number, "blocks", a splitter or pairs, got {cv!r}'
        )
    # Our own splitters look at no entry of X, and some would refuse a frame of strings.
    seen: Any = np.arange(n)[:, None]
    if isinstance(cv, str):
        if groups is not None:
            raise InvalidInput('cv="blocks" cuts through groups: give one or the other')
        splitter: Any = KFold(min(USUAL_FOLDS, n))
    elif cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        n_folds = USUAL_FOLDS if cv is None else int(cv)
        check_integer("cv", n_folds, low=2)
        splitter = _by_chance(min(n_folds, n), y, groups, is_classifier, seed)
    elif hasattr(cv, "split") or isinstance(cv, Iterable):
        splitter, seen = check_cv(cv, y, classifier=is_classifier), X
    else:
        raise InvalidType(
            f'cv must be a number, "blocks", a splitter or pairs, got {cv!r}'
        )
    with refusals_of_estimators():
        return [
            (np.asarray(kept), np.asarray(held_out))
            for kept, held_out in splitter.split(seen, y, groups)
        ]


def folds_within(
    folds: list[tuple[Indices, Indices]], rows: Indices
) -> list[tuple[Indices, Indices]]:
    """Return the folds of some rows alone, by their places among these rows.

    Parameters
    ----------
    folds : list of pairs
        By places among all rows.
    rows : array of places, ascending
        Those that are left.

    Examples
    --------
    >>> folds_within([(np.array([0, 1]), np.array([2, 3]))], np.array([1, 3]))
    [(array([0]), array([1]))]
    """
    inside = []
    for kept, out in folds:
        # A row may be drawn twice by the user's own splitter: keep both.
        pair = tuple(
            np.searchsorted(rows, part[np.isin(part, rows)]) for part in (kept, out)
        )
        if pair[0].size and pair[1].size:
            inside.append((pair[0], pair[1]))
    if not inside:
        raise InvalidInput("cv leaves no fold with rows to fit to and rows to hold out")
    return inside


def alike_rows(cv: Any, groups: Any, rows: Indices) -> Indices | None:
    """Return numbers of groups of rows that err together; None where each errs alone.

    The user's groups; with ``cv="blocks"`` runs of neighbours, thirty of them.

    Examples
    --------
    >>> alike_rows(None, ["a", "b", "a"], np.array([0, 2]))
    array([0, 0])
    """
    if groups is not None:
        numbers: Indices = np.unique(np.asarray(groups)[rows], return_inverse=True)[1]
        return numbers
    if isinstance(cv, str):
        return np.arange(rows.size) * min(RUNS_OF_NEIGHBORS, rows.size) // rows.size
    return None


def neighbors_alike(X: Array) -> bool:
    """Return whether neighbouring rows are near-duplicates, as in a time series.

    Random folds then hold out rows whose neighbours were fitted to, and flatter every
    model. Columns in ascending or descending order are left out: a table may be sorted.

    Examples
    --------
    >>> steps = np.random.default_rng(0).normal(size=(200, 2))
    >>> neighbors_alike(steps.cumsum(axis=0)), neighbors_alike(steps)
    (True, False)
    """
    if X.shape[0] < _FEWEST_ROWS_TO_TELL:
        return False
    steps = np.diff(X, axis=0)
    ordered = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
    spread = X.std(axis=0)
    used = ~ordered & (spread > 0)
    if not used.any():
        return False
    scaled = X[:, used] / spread[used]
    apart = scaled - scaled[np.random.default_rng(0).permutation(len(scaled))]
    near = np.median(np.einsum("ij,ij->i", *[np.diff(scaled, axis=0)] * 2))
    far = np.median(np.einsum("ij,ij->i", apart, apart))
    return bool(near < NEAR_NEIGHBORS * far)


def _by_chance(
    n_folds: int, y: Any, groups: Any, is_classifier: bool, seed: int
) -> Any:
    # A class with fewer rows than folds cannot be in all of them.
    stratify = is_classifier and np.ndim(y) == 1 and _rarest(y) >= n_folds
    if groups is not None:
        of_groups = StratifiedGroupKFold if stratify else GroupKFold
        return of_groups(
            min(n_folds, len(np.unique(groups))), shuffle=True, random_state=seed
        )
    by_rows = StratifiedKFold if stratify else KFold
    return by_rows(n_folds, shuffle=True, random_state=seed)


def _rarest(y: Any) -> int:
    return int(np.unique(np.asarray(y), return_counts=True)[1].min())


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
