"""What a user asks of a network, read from its parameters and checked."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.validation import InvalidInput, InvalidType, check_number

# A mean given as one number holds to this share of the spread of y.
EQUAL_MEANS = 1e-6


@dataclass(frozen=True)
class AskedMean:
    """Where a mean has to lie, in the user's units.

    Attributes
    ----------
    low, high : float
    exact : bool
        Whether one number was given: its price has a sign.
    """

    low: float
    high: float
    exact: bool = False

    def ends(self, spread: float) -> tuple[float, float]:
        """Return both ends; one number is met to a millionth of the spread of y."""
        give = EQUAL_MEANS * spread if self.exact else 0.0
        return self.low - give, self.high + give


@dataclass(frozen=True)
class Asked:
    """All constraints of a network by what they speak of, with their names.

    Attributes
    ----------
    class_bounds : dict of int to float
        By the code of the class.
    group_means : dict of int to AskedMean
        By the code of the group.
    target_mean : AskedMean or None
    everywhere, on_rows : dict of int to int
        Sign by column: monotone everywhere, or between rows and rows one spread away.
    names : dict
        Of (parameter, key) to the name that users see.
    """

    class_bounds: Mapping[int, float] = field(default_factory=dict)
    group_means: Mapping[int, AskedMean] = field(default_factory=dict)
    target_mean: AskedMean | None = None
    everywhere: Mapping[int, int] = field(default_factory=dict)
    on_rows: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        some = self.class_bounds or self.group_means or self.everywhere or self.on_rows
        return bool(some) or self.target_mean is not None


def constraint_name(parameter: str, key: Hashable) -> str:
    """Return the name of one constraint of several: ``group_means['north']``."""
    return f"{parameter}[{plain(key)!r}]"


def plain(label: Any) -> Any:
    """Return a label without numpy around it."""
    return label.item() if isinstance(label, np.generic) else label


def read_class_bounds(given: Any, classes: Any) -> dict[int, float]:
    """Return the bound of every class that has one, by its code.

    Parameters
    ----------
    given : None, float or dict of class to float
    classes : sequence
    """
    if given is None:
        return {}
    known = [plain(one) for one in classes]
    if isinstance(given, Mapping) and not given:
        raise InvalidInput("class_error_bound is empty: name a class, or give None")
    if not isinstance(given, Mapping):
        bound = check_number("class_error_bound", given, low=0.0)
        return dict.fromkeys(range(len(known)), bound)
    out = {}
    for label, bound in given.items():
        if plain(label) not in known:
            raise InvalidInput(
                f"class_error_bound names {plain(label)!r}, classes are {known}"
            )
        name = constraint_name("class_error_bound", label)
        out[known.index(plain(label))] = check_number(name, bound, low=0.0)
    return out


def read_interval(name: str, given: Any) -> AskedMean:
    """Return a mean or a pair of ends, checked."""
    if isinstance(given, tuple | list | np.ndarray):
        if len(given) != 2:
            raise InvalidInput(
                f"{name} must be a mean or a pair (low, high), got {len(given)} numbers"
            )
        low = check_number(f"{name}[0]", given[0], low=-math.inf, high=math.inf)
        high = check_number(f"{name}[1]", given[1], low=-math.inf, high=math.inf)
        if not low <= high or not (math.isfinite(low) or math.isfinite(high)):
            raise InvalidInput(
                f"{name} must be a pair (low, high) with low <= high, not both "
                f"infinite, got ({low:g}, {high:g})"
            )
        return AskedMean(low, high)
    mean = check_number(name, given)
    return AskedMean(mean, mean, exact=True)


def read_group_intervals(given: Any, labels: Sequence[Any]) -> dict[int, AskedMean]:
    """Return the interval of every group that has one, by its code among `labels`."""
    if isinstance(given, Mapping) and not given:
        raise InvalidInput("group_means is empty: name a group, or give None")
    if not isinstance(given, Mapping):
        raise InvalidType(
            "group_means must be a dict of group to mean or (low, high), got "
            f"{type(given).__name__}"
        )
    known = [plain(one) for one in labels]
    out = {}
    for group, mean in given.items():
        if plain(group) not in known:
            raise InvalidInput(
                f"group_means names {plain(group)!r}, which no row of positive weight "
                "has in `groups`"
            )
        out[known.index(plain(group))] = read_interval(
            constraint_name("group_means", group), mean
        )
    return out


def read_column_signs(
    parameter: str, given: Any, n_columns: int, names: Sequence[str] | None
) -> dict[int, int]:
    """Return 1 or -1 by column, as scikit-learn's `monotonic_cst` gives them.

    Parameters
    ----------
    parameter : str
    given : None, dict of column to 1, 0 or -1, or sequence of n_columns of these
        Columns by name, or by number where they have none.
    n_columns : int
    names : sequence of str or None
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        known: list[Any] = list(range(n_columns)) if names is None else list(names)
        pairs = []
        for column, sign in given.items():
            if plain(column) not in known:
                raise InvalidInput(
                    f"{parameter} names {plain(column)!r}, columns are {known}"
                )
            pairs.append((known.index(plain(column)), sign))
    else:
        signs = list(given) if np.ndim(given) == 1 else [given]
        if len(signs) != n_columns or np.ndim(given) != 1:
            raise InvalidInput(
                f"{parameter} must be a dict, or have one entry a column: X has "
                f"{n_columns} columns, got {len(signs)} entries"
            )
        pairs = list(enumerate(signs))
    for column, sign in pairs:
        if plain(sign) not in (-1, 0, 1):
            label = column if names is None else names[column]
            raise InvalidInput(
                f"{constraint_name(parameter, label)} must be 1, 0 or -1, got {plain(sign)!r}"
            )
    return {column: int(sign) for column, sign in pairs if sign != 0}
