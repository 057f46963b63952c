"""One parameter, one sentence: what a weight estimator's parameter means, all say "
"alike."""

import re

import pytest

from counterpoise.weights.registry import WEIGHT_ESTIMATORS

# How the description of a parameter begins, whoever has it.
GLOSSARY = {
    "tol": "Gap to reach",
    "max_iter": "Largest number of steps",
    "max_time": "Seconds after which no further step begins",
    "callback": "Called with the progress after every step; True ends the search.",
    "exponent": "Power to which the weights are raised; 0 makes them uniform.",
    "allow_no_overlap": "Whether to go on where most of the target has no source rows "
    "near.",
    "random_state": "Seed of ",
    "standardize": "Whether columns are divided by their pooled scale, the root of the "
    "mean of the two variances.",
    "gamma": "Width of the ",
    "relative": "Share of the target in the denominator of the ratio",
    "regularization": r"Penalty :math:`\lambda`",
}
# Those whose parameter is another thing, and what.
EXCEPTIONS = {
    ("DiscriminatorWeights", "tol"): "of a classifier, about which nothing is proved",
    ("LSIF", "callback"): "the path has breakpoints, no steps of a search",
    ("DiscrepancyWeights", "gamma"): "of a polynomial it is a factor and no width",
}
# Parameters of one name that every method defines for itself.
OWN = {
    "n_centers": "rows of the target, few that stand for them, or bumps over labels",
    "solver": "every problem has solvers of its own",
    "alpha": "of weights, or of slopes",
    "max_weight": "of a row: relative to the mean, or its share of the whole",
}


def described(weight_estimator):
    """Return the descriptions of the parameters by name, from the docstring."""
    found = re.search(
        r"    Parameters\n    -+\n(.*?)(?:\n\n    \w+\n    -+\n|\Z)",
        weight_estimator.__doc__ or "",
        re.S,
    )
    out, names = {}, ()
    for line in found.group(1).split("\n") if found else ():
        head = re.match(r"    (\w[\w, ]*?)(?: : .*)?$", line)
        if head:
            names = head.group(1).split(", ")
        else:
            for name in names:
                out[name] = f"{out.get(name, '')} {line.strip()}".strip()
    return out


ALL = {entry.name: described(entry.load()) for entry in WEIGHT_ESTIMATORS}


@pytest.mark.parametrize("entry", WEIGHT_ESTIMATORS, ids=lambda entry: entry.name)
def test_every_parameter_is_described_and_nothing_else(entry):
    assert set(ALL[entry.name]) == set(entry.load()().get_params(deep=False))


@pytest.mark.parametrize("name", ALL)
def test_a_parameter_begins_with_its_sentence(name):
    for parameter, told in ALL[name].items():
        if parameter in GLOSSARY and (name, parameter) not in EXCEPTIONS:
            assert told.startswith(GLOSSARY[parameter]), (parameter, told)


def test_what_several_weighters_have_is_in_the_glossary():
    names = [parameter for told in ALL.values() for parameter in told]
    shared = {name for name in names if names.count(name) > 1}
    assert shared - set(OWN) == set(GLOSSARY)


def test_exceptions_are_exceptions():
    for (name, parameter), reason in EXCEPTIONS.items():
        assert not ALL[name][parameter].startswith(GLOSSARY[parameter])
        assert reason
