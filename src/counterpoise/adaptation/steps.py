"""The steps of a fit in words, and which of them a fit will take."""

from typing import Any

DIAGNOSING = "diagnosing the shift"
WEIGHING = "weighing the source rows"
CHOOSING = "choosing how much of the weights to use"
FITTING = "fitting the estimator"


def steps_of_fit(model: Any) -> tuple[str, ...]:
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
