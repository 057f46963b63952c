"""What the arguments of a data set must be, and the generator behind its draws."""

from math import isfinite
from numbers import Real
from typing import TypeAlias, TypeGuard

import numpy as np

from counterpoise.numerics.refusals import InvalidInput

Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: Seed) -> np.random.Generator:
    """Return the generator to draw from, the same for the same integer."""
    if isinstance(random_state, np.random.RandomState):
        # Seeding from its stream moves it on, so a second call draws anew.
        return np.random.default_rng(random_state.randint(0, 2**31, size=4).tolist())
    seed = isinstance(random_state, int | np.integer) and random_state >= 0
    if seed or random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise InvalidInput(
        "random_state must be None, an integer of at least 0, a numpy Generator "
        f"or a RandomState, got {random_state!r}"
    )


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is not an integer of at least `least`."""
    if not (_number(value) and isinstance(value, int | np.integer) and value >= least):
        raise InvalidInput(
            f"{name} must be an integer of at least {least}, got {value!r}"
        )


def check_finite(name: str, value: object) -> None:
    """Refuse what is not a finite number."""
    if not _number(value):
        raise InvalidInput(f"{name} must be a finite number, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse what is not a finite number above zero."""
    if not (_number(value) and value > 0):
        raise InvalidInput(f"{name} must be positive, got {value!r}")


def check_nonnegative(name: str, value: object) -> None:
    """Refuse what is not a finite number of at least zero."""
    if not (_number(value) and value >= 0):
        raise InvalidInput(f"{name} must be at least 0, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Refuse what is not a number between zero and one."""
    if not (_number(value) and 0 <= value <= 1):
        raise InvalidInput(f"{name} must be between 0 and 1, got {value!r}")


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
