"""Weight estimators by name.

The public names, the choices of the command line, the laws and common checks that are
tested, and the README's table read it. What kind of weights a method makes (whether
they are a ratio, need labels, vary much ...) its class says itself, by tags.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Registered:
    """A weight estimator of the library.

    Attributes
    ----------
    name : str
        Of the class.
    module : str
        Where it lives in this room.
    about : str
        What it is, for the README's table.
    commands : mapping of str to parameters
        Its names on the command line, and what each sets; none: labels are needed.
    laws : tuple of parameters
        With which parameters the laws are tested.
    """

    name: str
    module: str
    about: str
    commands: Mapping[str, Parameters] = field(default_factory=dict)
    laws: tuple[Parameters, ...] = ({},)

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(f"counterpoise.weights.{self.module}"), self.name)


# Among weights as good, those that leave the most effective rows.
_SPREAD = {"spread": 0.01}

WEIGHT_ESTIMATORS = (
    Registered(
        "AutoWeights",
        "auto",
        "the simplest of all below that is as good as the best by its held-out score",
        {"auto": {}},
    ),
    Registered(
        "UniformWeights", "base", "weights of one, to compare with", {"uniform": {}}
    ),
    Registered(
        "KLIEP",
        "kliep",
        "mixture of Gaussians by maximum likelihood; corrective Newton (default), "
        "Frank-Wolfe, away-step, pairwise, projected gradient, the published loop; a "
        "million centres in one dimension",
        {"kliep": {}},
        ({}, {"gamma": "median", "solver": "pairwise", "tol": 1e-3}),
    ),
    Registered(
        "LSIF", "least_squares", "least squares with its exact path", {"lsif": {}}
    ),
    Registered("ULSIF", "least_squares", "least squares in closed form", {"ulsif": {}}),
    Registered(
        "RULSIF",
        "least_squares",
        "least squares, relative to both samples: bounded",
        {"rulsif": {}},
    ),
    Registered(
        "KMM",
        "kmm",
        "kernel mean matching with bounds that hold and a ridge by the noise floor",
        {"kmm": {}},
    ),
    Registered(
        "LogLinearKLIEP",
        "log_linear",
        "log-linear and log-quadratic ratios and mixtures of them; text",
        {"log-linear": {"statistics": "linear"}, "log-quadratic": {}},
        ({}, {"statistics": "linear"}),
    ),
    Registered(
        "DiscriminatorWeights",
        "discriminator",
        "any classifier of target against source, cross-fitted, calibrated",
        {"discriminator": {}},
    ),
    Registered(
        "DiscrepancyWeights",
        "discrepancy",
        "least discrepancy, the distance tied to the squared loss of linear and kernel "
        "models; proved against a dual bound; weights of the rows of `fit` alone",
        {"discrepancy": _SPREAD},
        ({}, {"kernel": "rbf"}),
    ),
    Registered(
        "LabelShiftWeights",
        "label_shift",
        "weights by label, where p(y) has moved and p(x given y) has not",
    ),
)
WEIGHT_ESTIMATORS_BY_COMMAND: dict[str, Registered] = {
    command: entry for entry in WEIGHT_ESTIMATORS for command in entry.commands
}


def of_command(command: str, **common: Any) -> Any:
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


def with_parameters(weight_estimator: Any, **parameters: Any) -> Any:
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


def readme_table() -> str:
    """Return the README's table of weight estimators."""
    rows = [f"| `{entry.name}` | {entry.about} |" for entry in WEIGHT_ESTIMATORS]
    return "\n".join(["| weight estimator | what it is |", "|---|---|", *rows])
