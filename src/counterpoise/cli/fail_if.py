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

# Numbers of the record by the short names of --fail-if.
SHORT_NAMES = {
    "auc": "shift.auc",
    "auc_low": "shift.auc_low",
    "auc_high": "shift.auc_high",
    "mmd": "shift.mmd",
    "mmd_p_value": "shift.mmd_p_value",
    "thin": "shift.thin",
    "covered": "shift.covered",
    "n_source": "data.source.rows",
    "n_target": "data.target.rows",
    "ess": "weights.effective_share",
    "largest_weight": "weights.largest",
    "exponent": "model.exponent",
    "gain": "guard.gain",
    "score": "headline.value",
    "score_low": "headline.low",
    "score_high": "headline.high",
    "source_score": "headline.source",
    "label_change_p": "headline.label_change_p",
    "skill": "headline.baseline.skill",
}
ALL_NUMBERS = tuple(SHORT_NAMES)
SHIFT_NUMBERS = ALL_NUMBERS[:9]
WEIGHT_NUMBERS = ("n_source", "n_target", "ess", "largest_weight")
FIT_NUMBERS = ALL_NUMBERS[:13]
SCORE_NUMBERS = (*SHIFT_NUMBERS, *ALL_NUMBERS[13:])


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
                f"'{example(names)}', got {text.strip()!r}"
            )
        name, comparison, limit = match.groups()
        if name not in names:
            raise WrongUse(
                f"--fail-if knows no {name!r}; it knows {', '.join(sorted(names))}"
            )
        found.append(Condition(name, comparison, float(limit)))
    return found


def example(names: Collection[str]) -> str:
    """Return a condition of a name that there is.

    Examples
    --------
    >>> example(["auc", "ess"]), example(["auc"])
    ('ess<0.2', 'auc>0.8')
    """
    if "alarms" in names:
        return "alarms>0"
    return "ess<0.2" if "ess" in names else "auc>0.8"


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
