"""`--fail-if "ess<0.2"`: a name, a comparison, a number."""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from counterpoise.cli.exits import WrongUse

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(
    r"\s*([A-Za-z_][\w.]*)\s*(<=|>=|==|!=|<|>)\s*"
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)


@dataclass(frozen=True)
class Condition:
    """A comparison of a number of the record with a limit.

    Attributes
    ----------
    name : str
        Which number of the record.
    comparison : str
        "<", "<=", ">", ">=", "==" or "!=".
    limit : float
    """

    name: str
    comparison: str
    limit: float

    def holds(self, numbers: Mapping[str, float | None]) -> bool:
        """Tell whether it holds; of a number that is not defined it does."""
        value = numbers[self.name]
        return value is None or _COMPARISONS[self.comparison](value, self.limit)

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"


def read_conditions(texts: Collection[str], names: Collection[str]) -> list[Condition]:
    """Return the conditions of `--fail-if`, each of a name that there is.

    Parameters
    ----------
    texts : strings
        Conditions; commas separate several in one.
    names : strings
        The numbers that the command computes.

    Examples
    --------
    >>> [str(c) for c in read_conditions(["ess < .2, auc>=0.9"], ["ess", "auc"])]
    ['ess<0.2', 'auc>=0.9']
    """
    found = []
    for text in (part for given in texts for part in given.split(",")):
        match = _FORM.fullmatch(text)
        if match is None:
            raise WrongUse(
                f"--fail-if takes a name, a comparison and a number, such as "
                f"'ess<0.2', got {text.strip()!r}"
            )
        name, comparison, limit = match.groups()
        if name not in names:
            raise WrongUse(
                f"--fail-if knows no {name!r}; it knows {', '.join(sorted(names))}"
            )
        found.append(Condition(name, comparison, float(limit)))
    return found


def holding(
    conditions: Collection[Condition], numbers: Mapping[str, float | None]
) -> list[str]:
    """Return, in words, the conditions that hold.

    Examples
    --------
    >>> holding([Condition("ess", "<", 0.2)], {"ess": 0.1})
    ['ess<0.2 holds: it is 0.1']
    """
    return [
        f"{condition} counts as holding: it is not defined here"
        if numbers[condition.name] is None
        else f"{condition} holds: it is {numbers[condition.name]:.6g}"
        for condition in conditions
        if condition.holds(numbers)
    ]
