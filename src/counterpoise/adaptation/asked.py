"""What is asked of a fit: parameters, checked, and the steps that they lead to."""

from collections.abc import Callable
from typing import Any

from counterpoise.adaptation.label_shift.adapting import BY_INPUTS, EITHER, LABELS
from counterpoise.adaptation.partial.weights import PartialWeights
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    check_choice,
    check_integer,
    check_number,
)

# Ways to weigh that have a name.
NAMED_WEIGHTERS = (BY_INPUTS, LABELS, EITHER, "partial")

# The steps of a fit, as they are announced.
DIAGNOSING = "diagnosing the shift"
WEIGHING = "weighing the source rows"
CHOOSING = "choosing how much of the weights to use"
FITTING = "fitting the estimator"


class AskedOfFit:
    """The parameters of `Adapted`, and what they mean."""

    weighter: Any
    guard: bool | str
    budget: int | None
    calibration: float
    missing_target: str
    verbose: int
    callback: Callable[[str, int, int], Any] | None

    def _asks_for(self, name: str) -> bool:
        return isinstance(self.weighter, str) and self.weighter == name

    def _is_partial(self) -> bool:
        return self._asks_for("partial") or isinstance(self.weighter, PartialWeights)

    def _is_guarded(self) -> bool:
        if self._is_partial():
            # It has a guard of its own.
            return False
        if isinstance(self.guard, str):
            return isinstance(self.weighter, str)
        return self.guard

    def _check_parameters(self) -> None:
        if isinstance(self.weighter, str):
            check_choice("weighter", self.weighter, NAMED_WEIGHTERS)
        elif self.weighter is not None and not hasattr(self.weighter, "weigh"):
            raise InvalidType(
                'weighter must be "auto", "labels", "either", "partial", None or an '
                "estimator with `weigh`, got "
                f"{type(self.weighter).__name__}"
            )
        if not isinstance(self.guard, bool):
            check_choice("guard", self.guard, ("auto",))
        check_integer("budget", self.budget, low=1, options=(None,))
        check_number("calibration", self.calibration, low=0.0, high=1.0, closed="left")
        if self.calibration > 0.0 and self._is_partial():
            raise InvalidInput(
                "calibration needs weights of rows without labels, and PartialWeights "
                "weighs by class: choose calibration=0"
            )
        if self.calibration > 0.0 and self._asks_for(LABELS):
            raise InvalidInput(
                'calibration needs weights of rows without labels, and "labels" weighs '
                "by them: choose calibration=0"
            )
        check_integer("verbose", self.verbose, low=0)
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(
                f"callback must be callable or None, got {self.callback!r}"
            )
        check_choice("missing_target", self.missing_target, ("warn", "ignore", "raise"))


def steps_of_fit(model: AskedOfFit) -> tuple[str, ...]:
    """Return what a fit to both samples will announce, in order.

    Parameters
    ----------
    model : Adapted

    Examples
    --------
    >>> from counterpoise import Adapted
    >>> steps_of_fit(Adapted(weighter=None))
    ('diagnosing the shift', 'fitting the estimator')
    >>> len(steps_of_fit(Adapted()))
    4
    """
    if model.weighter is None:
        return DIAGNOSING, FITTING
    if not model._is_guarded():
        return DIAGNOSING, WEIGHING, FITTING
    return DIAGNOSING, WEIGHING, CHOOSING, FITTING
