"""A bound with all that it rests on."""

from dataclasses import dataclass
from typing import Any

from counterpoise.validation import check_number

BOUNDED_KERNEL = "K(x, x) <= radius**2 at every row, those of the target included"


@dataclass(frozen=True)
class Guarantee:
    """A number that something does not exceed, and what that rests on.

    ``float`` of it is `value`.

    Attributes
    ----------
    value : float
        The bound.
    bounds : str
        What is bounded.
    form : str
        Which statement gave the number.
    assumptions : tuple of str
        All that must hold.
    """

    value: float
    bounds: str
    form: str
    assumptions: tuple[str, ...]

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        assumed = "; ".join(self.assumptions)
        return f"{self.bounds} <= {self.value:.4g} ({self.form}; assuming: {assumed})"


def at_least_zero(**named: Any) -> float:
    """Return the one number that is named, which must not be negative."""
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0)


def positive(**named: Any) -> float:
    """Return the one number that is named, which must be positive."""
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0, closed="neither")
