"""Seeds: what a user gives as `random_state`, as a generator or a number."""

from typing import Any

import numpy as np

from counterpoise.validation.exceptions import InvalidInput

# Seeds are drawn below this, so that they fit into 32 bits with a sign.
_SEEDS_END = 2**31 - 1


def as_random(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's generator of a `random_state`, or refuse in its words.

    Parameters
    ----------
    random_state : None, int or RandomState

    Examples
    --------
    >>> from counterpoise.validation import as_random
    >>> int(as_random(0).randint(100))
    44
    """
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise InvalidInput(*error.args) from error


def as_seed(random_state: Any) -> int:
    """Return a seed drawn by a `random_state`: always the same one by an integer.

    Parameters
    ----------
    random_state : None, int or RandomState

    Examples
    --------
    >>> as_seed(0) == as_seed(0)
    True
    >>> as_seed("x")
    Traceback (most recent call last):
    counterpoise.validation.InvalidInput: 'x' cannot be used to seed a \
numpy.random.RandomState instance
    """
    return int(as_random(random_state).randint(_SEEDS_END))
