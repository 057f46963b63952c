"""Checks of parameters and random seeds."""

import difflib
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from counterpoise.errors import InvalidInputError, InvalidTypeError

# -----------------------------------------------------------------------------
# Parameters: numbers within bounds and words from a list.
# -----------------------------------------------------------------------------


Closed: TypeAlias = Literal["both", "left", "right", "neither"]


@overload
def check_number(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: Closed = "both",
) -> float: ...
@overload
def check_number(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: Closed = "both",
    options: Sequence[str | None],
) -> float | str | None: ...
def check_number(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    closed: Closed = "both",
    options: Sequence[str | None] = (),
) -> float | str | None:
    """`value` as a float within bounds.

    Parameters
    ----------
    name : str
        What errors call the parameter.
    value : object
        What came. Booleans and NaN are no numbers here; numpy scalars are.
    low, high : float or None
        The bounds. None: none, and not infinite (`high=math.inf` allows that).
    closed : {"both", "left", "right", "neither"}
        Which bounds are allowed values.
    options : sequence of str or None
        Words that stand for a rule instead of a number; they pass as they are.

    Returns
    -------
    float, or one of `options`

    Examples
    --------
    >>> check_number("gamma", 2, low=0, closed="neither")
    2.0
    >>> check_number("gamma", -1.0, low=0, closed="neither")
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: gamma must be positive, got -1.0
    """
    if _is_option(value, options):
        return value
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise InvalidTypeError(_message(name, "a number", value, options))
    number = float(value)
    if not _inside(number, low, high, closed):
        endless = high is None and not math.isfinite(number)
        wanted = "finite" if endless else _range(low, high, closed)
        raise InvalidInputError(_message(name, wanted, value, options))
    return number


@overload
def check_integer(
    name: str, value: Any, *, low: int | None = None, high: int | None = None
) -> int: ...
@overload
def check_integer(
    name: str,
    value: Any,
    *,
    low: int | None = None,
    high: int | None = None,
    options: Sequence[str | None],
) -> int | str | None: ...
def check_integer(
    name: str,
    value: Any,
    *,
    low: int | None = None,
    high: int | None = None,
    options: Sequence[str | None] = (),
) -> int | str | None:
    """`value` as an int within bounds, both included.

    Parameters
    ----------
    name : str
        What errors call the parameter.
    value : object
        What came. Booleans and floats are no integers, numpy's integers are.
    low, high : int or None
        The smallest and the largest allowed value; None: no bound.
    options : sequence of str or None
        Words that stand for a rule instead of a number; they pass as they are.

    Returns
    -------
    int, or one of `options`

    Examples
    --------
    >>> check_integer("n_centers", 0, low=1, options=["auto", None])
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: n_centers must be at least 1, 'auto' or \
None, got 0
    """
    if _is_option(value, options):
        return value
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise InvalidTypeError(_message(name, "an integer", value, options))
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise InvalidInputError(
            _message(name, _range(low, high, "both"), value, options)
        )
    return number


def check_choice(name: str, value: Any, options: Sequence[str]) -> str:
    """`value`, which is one of the words in `options`.

    Parameters
    ----------
    name : str
        What errors call the parameter.
    value : object
        What came.
    options : sequence of str
        The words allowed.

    Returns
    -------
    str

    Examples
    --------
    >>> check_choice("solver", "pairwize", ["away", "pairwise"])
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: solver must be one of 'away', 'pairwise', \
got 'pairwize' (did you mean \
'pairwise'?)
    """
    if _is_option(value, options):
        return str(value)
    error = InvalidInputError if isinstance(value, str) else InvalidTypeError
    words = ", ".join(map(repr, options))
    raise error(
        f"{name} must be one of {words}, got {_came(value)}"
        f"{did_you_mean(value, options)}"
    )


@dataclass(frozen=True)
class Number:
    """What a parameter may be: a number within bounds, as `check_number` takes them."""

    low: float | None = None
    high: float | None = None
    closed: Closed = "both"
    options: Sequence[str | None] = ()


@dataclass(frozen=True)
class Integer:
    """What a parameter may be: a whole number within bounds."""

    low: int | None = None
    high: int | None = None
    options: Sequence[str | None] = ()


@dataclass(frozen=True)
class Choice:
    """What a parameter may be: one of some words."""

    options: Sequence[str]


@dataclass(frozen=True)
class SolverChoice:
    """What a parameter may be: the name of a solver, or a solver object.

    Parameters
    ----------
    names : sequence of str
    kinds : sequence of type
        Classes whose objects serve, as messages list them. An object of any other
        class with `accepts`, `begin` and `step` is taken if it accepts the problem.
    """

    names: Sequence[str]
    kinds: Sequence[type]

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.names))
        kinds = ", ".join(kind.__name__ for kind in self.kinds)
        return f"one of {names} or a solver object ({kinds})"


def check_solver(name: str, value: Any, options: SolverChoice) -> None:
    """Refuse what is neither the name of a solver nor a solver object.

    Parameters
    ----------
    name : str
        What errors call the parameter.
    value : object
        What came.
    options : SolverChoice

    Examples
    --------
    >>> from counterpoise.optim import FrankWolfe
    >>> options = SolverChoice(["auto", "away"], [FrankWolfe])
    >>> check_solver("solver", FrankWolfe("away", "armijo"), options)
    >>> check_solver("solver", "awy", options)
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: solver must be one of 'auto', 'away' or a \
solver object (FrankWolfe), got 'awy' (did you mean 'away'?)
    """
    if _is_option(value, options.names) or _is_solver(value):
        return
    error = InvalidInputError if isinstance(value, str) else InvalidTypeError
    came = _came(value)
    if isinstance(value, type):
        came = f"the class {value.__name__}: pass an object such as {value.__name__}()"
    raise error(
        f"{name} must be {options}, got {came}{did_you_mean(value, options.names)}"
    )


def resolve_solver(
    name: str,
    value: Any,
    options: SolverChoice,
    make: Callable[[str], Any],
    problem: object,
) -> Any:
    """Return the solver for a problem: made from its name, or the object itself.

    Parameters
    ----------
    name : str
        What errors call the parameter.
    value : str or Solver
        What came.
    options : SolverChoice
    make : callable
        Returns the solver of a name.
    problem : Problem

    Returns
    -------
    Solver
        An object accepts the problem; `InvalidTypeError` names what is missing if not.
    """
    check_solver(name, value, options)
    if isinstance(value, str):
        return make(value)
    lacking = value.accepts.lacking(problem)
    if lacking:
        raise InvalidTypeError(
            f"{name}={_shortened(repr(value))} does not accept this "
            f"{type(problem).__name__}: {'; '.join(lacking)}. {name} must be {options}"
        )
    return value


def _is_solver(value: Any) -> bool:
    # A class has these attributes too, but no settings.
    parts = ("accepts", "begin", "step")
    return not isinstance(value, type) and all(hasattr(value, one) for one in parts)


Rule: TypeAlias = Number | Integer | Choice | SolverChoice


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Refuse parameters of an estimator that break a rule, the first that does.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_parameters(SimpleNamespace(tol=-1.0), {"tol": Number(0.0)})
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: tol must be at least 0.0, got -1.0
    """
    for name, rule in rules.items():
        value = getattr(estimator, name)
        if isinstance(rule, Choice):
            check_choice(name, value, rule.options)
        elif isinstance(rule, SolverChoice):
            check_solver(name, value, rule)
        elif isinstance(rule, Integer):
            check_integer(
                name, value, low=rule.low, high=rule.high, options=rule.options
            )
        else:
            check_number(
                name,
                value,
                low=rule.low,
                high=rule.high,
                closed=rule.closed,
                options=rule.options,
            )


def _is_option(value: Any, options: Sequence[str | None]) -> bool:
    # Arrays have no truth value, so only words are compared.
    return (value is None or isinstance(value, str)) and value in options


def _inside(
    number: float, low: float | None, high: float | None, closed: Closed
) -> bool:
    # Comparisons with NaN are false, which refuses it.
    above = number > (-math.inf if low is None else low) or (
        low is not None and closed in ("both", "left") and number == low
    )
    below = number < (math.inf if high is None else high) or (
        high is not None and closed in ("both", "right") and number == high
    )
    return above and below


def _range(low: float | None, high: float | None, closed: Closed) -> str:
    left, right = closed in ("both", "left"), closed in ("both", "right")
    if low is None and high is None:
        return "finite"
    if high is None:
        positive = low == 0 and not left
        return "positive" if positive else f"{'at least' if left else 'above'} {low}"
    if low is None:
        return f"{'at most' if right else 'below'} {high}"
    return f"in {'[' if left else '('}{low}, {high}{']' if right else ')'}"


def _message(name: str, wanted: str, value: Any, options: Sequence[str | None]) -> str:
    *most, last = [wanted, *map(repr, options)]
    choices = f"{', '.join(most)} or {last}" if most else last
    return f"{name} must be {choices}, got {_came(value)}{did_you_mean(value, options)}"


def _came(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return repr(value)
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        return str(value)
    return f"{_shortened(repr(value))} ({type(value).__name__})"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def did_you_mean(value: Any, options: Iterable[str | None]) -> str:
    """Return a question after the option that is most like a wrong one, case aside.

    Nothing where none is like it.

    Examples
    --------
    >>> did_you_mean("Age", ["age", "wage"]), did_you_mean("x", ["y"])
    (" (did you mean 'age'?)", '')
    """
    if not isinstance(value, str):
        return ""
    words = {option.casefold(): option for option in options if option is not None}
    close = difflib.get_close_matches(value.casefold(), words, n=1)
    return f" (did you mean {words[close[0]]!r}?)" if close else ""


# -----------------------------------------------------------------------------
# Seeds: what a user gives as `random_state`, as a generator or a number.
# -----------------------------------------------------------------------------


# Seeds are drawn below this, so that they fit into 32 bits with a sign.
_SEEDS_END = 2**31 - 1


def as_random(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's generator of a `random_state`, or refuse in its words.

    Parameters
    ----------
    random_state : None, int or RandomState

    Examples
    --------
    >>> from counterpoise.data.parameters import as_random
    >>> int(as_random(0).randint(100))
    44
    """
    from sklearn.utils import check_random_state

    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise InvalidInputError(*error.args) from error


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
    counterpoise.errors.InvalidInputError: 'x' cannot be used to seed a \
numpy.random.RandomState instance
    """
    return int(as_random(random_state).randint(_SEEDS_END))
