"""Weight estimators by name.

The public names, the choices of the command line and the common tests read it. What
kind of weights a method makes (a ratio, by labels, of high variance) its class says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from counterpoise.weights.base import WeightEstimator

Made = TypeVar("Made")

Parameters = Mapping[str, object]


@dataclass(frozen=True)
class Registered:
    """A weight estimator of the library.

    Attributes
    ----------
    name : str
        Of the class.
    module : str
        Its module in `counterpoise.weights`.
    commands : mapping of str to parameters
        Its names on the command line, and what each sets; none: labels are needed.
    laws : tuple of parameters
        With which parameters the common properties are tested.
    """

    name: str
    module: str
    commands: Mapping[str, Parameters] = field(default_factory=dict)
    laws: tuple[Parameters, ...] = ({},)

    def load(self) -> type["WeightEstimator"]:
        """Return the class."""
        module = import_module(f"counterpoise.weights.{self.module}")
        found: type[WeightEstimator] = getattr(module, self.name)
        return found


WEIGHT_ESTIMATORS = (
    Registered("AutoWeights", "auto", {"auto": {}}),
    Registered("UniformWeights", "base", {"uniform": {}}),
    Registered(
        "KLIEP",
        "kliep",
        {"kliep": {}},
        ({}, {"gamma": "median", "solver": "pairwise", "tol": 1e-3}),
    ),
    Registered("LSIF", "least_squares", {"lsif": {}}),
    Registered("ULSIF", "least_squares", {"ulsif": {}}),
    Registered("RULSIF", "least_squares", {"rulsif": {}}),
    Registered("KMM", "kmm", {"kmm": {}}),
    Registered(
        "LogLinearKLIEP",
        "log_linear",
        {"log-linear": {"statistics": "linear"}, "log-quadratic": {}},
        ({}, {"statistics": "linear"}),
    ),
    Registered("DiscriminatorWeights", "discriminator", {"discriminator": {}}),
    # Among weights as good, those that leave the most effective rows.
    Registered(
        "DiscrepancyWeights",
        "discrepancy",
        {"discrepancy": {"spread": 0.01}},
        ({}, {"kernel": "rbf"}),
    ),
    Registered("LabelShiftWeights", "label_shift"),
)
WEIGHT_ESTIMATORS_BY_COMMAND: dict[str, Registered] = {
    command: entry for entry in WEIGHT_ESTIMATORS for command in entry.commands
}


def of_command(command: str, **common: object) -> "WeightEstimator":
    """Return the weight estimator that a name on the command line means.

    Parameters
    ----------
    command : str
        A key of `WEIGHT_ESTIMATORS_BY_COMMAND`.
    **common
        Parameters of most weight estimators; one that has not gets none of them.
    """
    entry = WEIGHT_ESTIMATORS_BY_COMMAND[command]
    return with_parameters(entry.load(), **{**common, **entry.commands[command]})


def with_parameters(
    weight_estimator: Callable[..., Made], **parameters: object
) -> Made:
    """Return a weight estimator of a class with those of the parameters that it has."""
    known = signature(weight_estimator).parameters
    return weight_estimator(**{k: v for k, v in parameters.items() if k in known})


def take_sparse() -> str:
    """Return the names of those that take sparse rows, as the end of a list in words.

    What always gives ones comes last: nobody looks for it.
    """
    classes = [entry.load() for entry in WEIGHT_ESTIMATORS]
    names = [
        one.__name__
        for one in sorted(classes, key=lambda one: one.gives_ones)
        if one._accepts_sparse
    ]
    return f"{', '.join(names[:-1])} and {names[-1]}"
