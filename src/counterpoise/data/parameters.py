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
# Rules of parameters: numbers within bounds, words from a list, solvers.
# -----------------------------------------------------------------------------


Closed: TypeAlias = Literal["both", "left", "right", "neither"]
Bound: TypeAlias = float | None
Options: TypeAlias = Sequence[str | None]
RandomState: TypeAlias = int | np.integer | np.random.RandomState | None


@dataclass(frozen=True)
class Number:
    """A number within bounds, as `check_number` takes them."""

    low: Bound = None
    high: Bound = None
    closed: Closed = "both"
    options: Options = ()

    def check(self, name: str, value: object) -> float | str | None:
        """Return the value as a float, or one of `options`."""
        if _is_option(value, self.options):
            return value  # type: ignore[return-value]
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise InvalidTypeError(_message(name, "a number", value, self.options))
        number = float(value)
        # Comparisons with NaN are false, which refuses it.
        low, high = self._ends()
        at_low = number == self.low and self.closed in ("both", "left")
        at_high = number == self.high and self.closed in ("both", "right")
        if not ((number > low or at_low) and (number < high or at_high)):
            endless = self.high is None and not math.isfinite(number)
            wanted = "finite" if endless else self._range()
            raise InvalidInputError(_message(name, wanted, value, self.options))
        return number

    def _ends(self) -> tuple[float, float]:
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    def _range(self) -> str:
        left, right = self.closed in ("both", "left"), self.closed in ("both", "right")
        if self.high is None:
            if self.low is None:
                return "finite"
            positive = self.low == 0 and not left
            return "positive" if positive else f"{_at(left, 'least')} {self.low}"
        if self.low is None:
            return f"{_at(right, 'most')} {self.high}"
        ends = "[" if left else "(", "]" if right else ")"
        return f"in {ends[0]}{self.low}, {self.high}{ends[1]}"


@dataclass(frozen=True)
class Integer:
    """An integer within bounds, both included."""

    low: int | None = None
    high: int | None = None
    options: Options = ()

    def check(self, name: str, value: object) -> int | str | None:
        """Return the value as an int, or one of `options`."""
        if _is_option(value, self.options):
            return value  # type: ignore[return-value]
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise InvalidTypeError(_message(name, "an integer", value, self.options))
        number, bounds = int(value), Number(self.low, self.high)
        low, high = bounds._ends()
        if not low <= number <= high:
            wanted = bounds._range()
            raise InvalidInputError(_message(name, wanted, value, self.options))
        return number


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    options: Sequence[str]

    def check(self, name: str, value: object) -> str:
        """Return the value, which is one of `options`."""
        if _is_option(value, self.options):
            return str(value)
        words = ", ".join(map(repr, self.options))
        raise _error_for(value)(
            f"{name} must be one of {words}, got {_came(value)}"
            f"{did_you_mean(value, self.options)}"
        )


@dataclass(frozen=True)
class SolverChoice:
    """The name of a solver, or a solver object.

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

    def check(self, name: str, value: object) -> None:
        """Refuse what is neither the name of a solver nor a solver object."""
        # A class has these attributes too, but no settings.
        has_parts = all(hasattr(value, one) for one in ("accepts", "begin", "step"))
        is_class = isinstance(value, type)
        if _is_option(value, self.names) or (has_parts and not is_class):
            return
        came = _came(value)
        if isinstance(value, type):
            came = f"the class {value.__name__}: pass an object such as "
            came += f"{value.__name__}()"
        raise _error_for(value)(
            f"{name} must be {self}, got {came}{did_you_mean(value, self.names)}"
        )


Rule: TypeAlias = Number | Integer | Choice | SolverChoice


def check_parameters(estimator: object, rules: Mapping[str, Rule]) -> None:
    """Refuse parameters of an estimator that break a rule, the first that does.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_parameters(SimpleNamespace(tol=-1.0), {"tol": Number(0.0)})
    Traceback (most recent call last):
    counterpoise.errors.InvalidInputError: tol must be at least 0.0, got -1.0
    """
    for name, rule in rules.items():
        rule.check(name, getattr(estimator, name))


@overload
def check_number(
    name: str,
    value: object,
    *,
    low: Bound = ...,
    high: Bound = ...,
    closed: Closed = ...,
) -> float: ...
@overload
def check_number(
    name: str,
    value: object,
    *,
    low: Bound = ...,
    high: Bound = ...,
    closed: Closed = ...,
    options: Options,
) -> float | str | None: ...
def check_number(
    name: str,
    value: object,
    *,
    low: Bound = None,
    high: Bound = None,
    closed: Closed = "both",
    options: Options = (),
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
    return Number(low, high, closed, options).check(name, value)


@overload
def check_integer(
    name: str, value: object, *, low: int | None = ..., high: int | None = ...
) -> int: ...
@overload
def check_integer(
    name: str,
    value: object,
    *,
    low: int | None = ...,
    high: int | None = ...,
    options: Options,
) -> int | str | None: ...
def check_integer(
    name: str,
    value: object,
    *,
    low: int | None = None,
    high: int | None = None,
    options: Options = (),
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
    return Integer(low, high, options).check(name, value)


def check_choice(name: str, value: object, options: Sequence[str]) -> str:
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
    return Choice(options).check(name, value)


def check_solver(name: str, value: object, options: SolverChoice) -> None:
    """Refuse what is neither the name of a solver nor a solver object.

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
    options.check(name, value)


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
    options.check(name, value)
    if isinstance(value, str):
        return make(value)
    lacking = value.accepts.lacking(problem)
    if lacking:
        raise InvalidTypeError(
            f"{name}={_shortened(repr(value))} does not accept this "
            f"{type(problem).__name__}: {'; '.join(lacking)}. {name} must be {options}"
        )
    return value


def _is_option(value: object, options: Options) -> bool:
    # Arrays have no truth value, so only words are compared.
    return (value is None or isinstance(value, str)) and value in options


def _error_for(value: object) -> type[InvalidInputError]:
    return InvalidInputError if isinstance(value, str) else InvalidTypeError


def _at(closed: bool, end: str) -> str:
    return f"at {end}" if closed else {"least": "above", "most": "below"}[end]


def _message(name: str, wanted: str, value: object, options: Options) -> str:
    *most, last = [wanted, *map(repr, options)]
    choices = f"{', '.join(most)} or {last}" if most else last
    return f"{name} must be {choices}, got {_came(value)}{did_you_mean(value, options)}"


def _came(value: object) -> str:
    if isinstance(value, str) or value is None:
        return repr(value)
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        return str(value)
    return f"{_shortened(repr(value))} ({type(value).__name__})"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def did_you_mean(value: object, options: Iterable[str | None]) -> str:
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


def as_random(random_state: RandomState) -> np.random.RandomState:
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


def as_seed(random_state: RandomState) -> int:
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
