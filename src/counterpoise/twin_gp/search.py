"""Selection of kernel widths."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from counterpoise.data.parameters import check_choice, check_number
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.twin_gp.problem import TwinRows, width_rule

# -----------------------------------------------------------------------------
# Hyper-parameters by held-out rows, the same for every candidate.
# -----------------------------------------------------------------------------


SPLIT_KINDS = ("holdout", "kfold", "groups")
SEARCH_FOLDS = 5
# One part in so many is held out.
HOLDOUT = 4
# Candidates whose neighbors are tried after the first round.
FOLLOWED = 3
# A best value at the end of its axis matters if the next one inside is so much worse.
FLAT_AXIS = 0.005


@dataclass(frozen=True)
class Axis:
    """Values of a parameter, in ascending order, and those of the first round."""

    values: tuple[float, ...]
    first: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The best candidate, all others, and what may be wrong with it.

    Attributes
    ----------
    best : dict
    score : float
        Mean held-out distance of the best.
    results : dict of arrays
        `param_<name>` and `score`, an entry a candidate.
    edges : tuple of str
        Parameters whose best value is the last that was offered, and clearly better
        than the one before.
    exhausted : bool
        Whether the budget ended the search before its best point's neighbors were
        all tried.
    """

    best: dict[str, float]
    score: float
    results: dict[str, Array]
    edges: tuple[str, ...]
    exhausted: bool


def splits(
    rows: TwinRows, kind: str, seed: int, grouped: bool
) -> list[tuple[Indices, Indices]]:
    """Return rows to fit to and rows to score, by chance, groups never cut.

    Examples
    --------
    >>> rows = TwinRows(np.zeros((8, 1)), np.zeros((8, 1)), np.ones(8), np.arange(8))
    >>> [(len(fit), len(held)) for fit, held in splits(rows, "holdout", 0, False)]
    [(6, 2)]
    """
    check_choice("search", kind, SPLIT_KINDS)
    if kind == "groups" and not grouped:
        raise InvalidInputError('search="groups" needs groups, one a row')
    names, group = np.unique(rows.group, return_inverse=True)
    n_parts = min(HOLDOUT if kind == "holdout" else SEARCH_FOLDS, names.size)
    if n_parts < 2:
        raise InvalidInputError(
            f"search needs at least 2 different rows or groups, got {names.size}"
        )
    part = (np.random.default_rng(seed).permutation(names.size) % n_parts)[group]
    held = [0] if kind == "holdout" else range(n_parts)
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in held]


def distances(Y: Array, predicted: Array) -> Array:
    """Return how far every answer is off, the Euclidean distance over all outputs."""
    out: Array = np.linalg.norm(Y - predicted, axis=1)
    return out


def held_out_score(
    rows: TwinRows,
    parts: list[tuple[Indices, Indices]],
    answers: Callable[[TwinRows, Array], Array],
    weighted: bool,
) -> float:
    """Return the mean distance of held-out answers, by weight or each row once."""
    total = weight = 0.0
    for fit, held in parts:
        out = rows.take(held)
        far = distances(out.Y, answers(rows.take(fit), out.X))
        share = out.weight if weighted else np.ones(len(out))
        total += float(share @ far)
        weight += float(share.sum())
    return total / weight


def search(
    axes: Mapping[str, Axis],
    score: Callable[[dict[str, float]], float],
    tied: Mapping[str, str] | None = None,
    budget: int = 120,
) -> SearchOutcome:
    """Return the best of a third of a grid and of what lies around its best points.

    The first round takes every third point of the grid of first values, so that each
    value of each parameter meets every value of any other; then the neighbors of the
    best three, on all axes, until none is better or the budget is used up. Grids of no
    more than 30 points are tried whole.

    Parameters
    ----------
    axes : mapping
    score : callable
        Takes a candidate, returns what to make small; infinite where it fails.
    tied : mapping
        Axes that follow another one in the first round.
    budget : int
        Largest number of candidates.
    """
    tied = tied or {}
    names = list(axes)
    tried: dict[tuple[int, ...], float] = {}

    def ask(point: tuple[int, ...]) -> None:
        if point not in tried and len(tried) < budget:
            tried[point] = score(_named(axes, point))

    free = [name for name in names if name not in tied]
    grid = list(product(*(range(len(axes[name].first)) for name in free)))
    whole = len(grid) <= 30
    for place in grid:
        if whole or sum(place) % 3 == 0:
            chosen = dict(zip(free, place, strict=True))
            chosen |= {name: chosen[other] for name, other in tied.items()}
            ask(tuple(a.values.index(a.first[chosen[n]]) for n, a in axes.items()))
    followed: set[tuple[int, ...]] = set()
    for wide in (FOLLOWED, 1):
        while len(tried) < budget:
            ranked = sorted(tried, key=lambda point: (tried[point], point))
            fresh = [point for point in ranked[:wide] if point not in followed]
            if not fresh:
                break
            for point in fresh:
                followed.add(point)
                for neighbor in _neighbors(axes, point):
                    ask(neighbor)
            if wide > 1:
                break
    best = min(tried, key=lambda point: (tried[point], point))
    results = {
        f"param_{name}": np.array([axis.values[point[k]] for point in tried])
        for k, (name, axis) in enumerate(axes.items())
    }
    return SearchOutcome(
        _named(axes, best),
        tried[best],
        results | {"score": np.array(list(tried.values()))},
        _edges(axes, tried, best),
        any(point not in tried for point in _neighbors(axes, best)),
    )


def _named(axes: Mapping[str, Axis], point: tuple[int, ...]) -> dict[str, float]:
    pairs = zip(axes.items(), point, strict=True)
    return {name: axis.values[k] for (name, axis), k in pairs}


def _neighbors(
    axes: Mapping[str, Axis], point: tuple[int, ...]
) -> list[tuple[int, ...]]:
    out = []
    for position, axis in enumerate(axes.values()):
        for step in (-1, 1):
            k = point[position] + step
            if 0 <= k < len(axis.values):
                out.append((*point[:position], k, *point[position + 1 :]))
    return out


def _edges(
    axes: Mapping[str, Axis],
    tried: Mapping[tuple[int, ...], float],
    best: tuple[int, ...],
) -> tuple[str, ...]:
    """Return the axes at whose end the best lies, and is clearly better than inside."""
    out = []
    for position, (name, axis) in enumerate(axes.items()):
        k, last = best[position], len(axis.values) - 1
        if last == 0 or k not in (0, last):
            continue
        inside = (*best[:position], 1 if k == 0 else last - 1, *best[position + 1 :])
        if tried.get(inside, np.inf) > (1.0 + FLAT_AXIS) * tried[best]:
            out.append(name)
    return tuple(out)


# -----------------------------------------------------------------------------
# Kernel widths and ridges: what the parameters say, and what a search offers.
# -----------------------------------------------------------------------------


# Widths in units of the rule's, of which a search tries FIRST first.
RHO_X = (0.12, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0)
RHO_Y = (0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.7, 3.0, 5.5, 10.0)
FIRST_X, FIRST_Y = (0.5, 1.0, 2.0, 3.0), (0.35, 0.5, 1.0, 3.0)
RIDGE = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Below this rounding decides.
SMALLEST_RIDGE = 1e-8


COUNTS = (2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0)
THETAS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.85)


def check_widths(numbers: Mapping[str, object], *, warn_of_ridges: bool = True) -> None:
    """Refuse widths and ridges that are not positive; warn of too small a ridge."""
    for name, value in numbers.items():
        if name.startswith("gamma"):
            check_number(name, value, low=0.0, closed="neither", options=[None])
        elif name.startswith("ridge"):
            ridge = check_number(name, value, low=0.0, closed="neither")
            if ridge < SMALLEST_RIDGE and warn_of_ridges:
                warn_user(
                    f"{name} = {ridge:g} is below {SMALLEST_RIDGE:g}: rounding may "
                    "decide the answers"
                )


def search_axes(names: Collection[str], rows: TwinRows) -> dict[str, Axis]:
    """Return the values to choose from for each of these numbers."""
    axes = {
        "ridge_x": Axis(RIDGE, (1e-4, 1e-3, 1e-2, 1e-1)),
        "ridge_y": Axis(RIDGE, (1e-4, 1e-3, 1e-2, 1e-1)),
        "theta": Axis(THETAS, (0.3,)),
        "n_neighbors": Axis(COUNTS, COUNTS),
    }
    if "gamma_x" in names:
        axes["gamma_x"] = gamma_axis(rows.X, rows.weight, RHO_X, FIRST_X)
    if "gamma_y" in names:
        axes["gamma_y"] = gamma_axis(rows.Y, rows.weight, RHO_Y, FIRST_Y)
    return {name: axes[name] for name in names}


def gamma_axis(
    A: Array, weight: Array, rho: tuple[float, ...], first: tuple[float, ...]
) -> Axis:
    """Return widths as multiples of the rule's, in ascending order of rho."""
    rule = width_rule(A, weight)
    return Axis(tuple(rule / r**2 for r in rho), tuple(rule / r**2 for r in first))
