"""The lists of weight estimators cannot be forgotten: all are made from one "
"registry."""

import ast
from pathlib import Path

import pytest

import counterpoise
from counterpoise.cli.fit import build_weight_estimator
from counterpoise.cli.options import OPTIONS
from counterpoise.weights import registry
from counterpoise.weights.base import WeightEstimator

ROOT = Path(__file__).resolve().parents[2]
ROOM = ROOT / "src" / "counterpoise" / "weights"
NAMES = [entry.name for entry in registry.WEIGHT_ESTIMATORS]
# Classes that several methods share, and no methods themselves.
SHARED = {"WeightEstimator", "LeastSquaresWeights", "_Ridge"}


def classes_in_the_source():
    """Return every class of the room with its bases, by name."""
    found = {}
    for path in sorted(ROOM.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name] = [ast.unparse(base) for base in node.bases]
    return found


def test_every_weighter_in_the_source_is_registered():
    classes = classes_in_the_source()
    weight_estimators = {"WeightEstimator"}
    while True:
        more = {n for n, bases in classes.items() if weight_estimators & set(bases)}
        if more <= weight_estimators:
            break
        weight_estimators |= more
    assert weight_estimators - SHARED == set(NAMES)


@pytest.mark.parametrize(
    "entry", registry.WEIGHT_ESTIMATORS, ids=lambda entry: entry.name
)
def test_a_registered_weighter_is_public_and_built_on_the_base(entry):
    weight_estimator = entry.load()
    assert weight_estimator.__name__ == entry.name
    assert issubclass(weight_estimator, WeightEstimator)
    assert getattr(counterpoise, entry.name) is weight_estimator
    assert entry.laws


def test_names_and_commands_are_registered_once():
    commands = [name for entry in registry.WEIGHT_ESTIMATORS for name in entry.commands]
    assert len(set(NAMES)) == len(NAMES)
    assert len(set(commands)) == len(commands)


def test_the_command_line_offers_every_weighter_that_needs_no_labels():
    assert OPTIONS["weight-estimator"].choices == tuple(
        registry.WEIGHT_ESTIMATORS_BY_COMMAND
    )
    for entry in registry.WEIGHT_ESTIMATORS:
        assert bool(entry.commands) != entry.load().needs_labels


@pytest.mark.parametrize("command", registry.WEIGHT_ESTIMATORS_BY_COMMAND)
def test_a_command_builds_its_weighter_with_its_parameters(command):
    entry = registry.WEIGHT_ESTIMATORS_BY_COMMAND[command]
    built = build_weight_estimator(command, allow_no_overlap=True, seed=3)
    given = built.get_params()
    assert type(built) is entry.load()
    assert {k: given[k] for k in entry.commands[command]} == entry.commands[command]
    assert given.get("random_state", 3) == 3
    assert given.get("allow_no_overlap", True) is True


def test_those_that_take_sparse_rows_are_named_and_ones_come_last():
    assert registry.take_sparse() == (
        "AutoWeights, KLIEP, LogLinearKLIEP, DiscriminatorWeights, DiscrepancyWeights "
        "and UniformWeights"
    )


@pytest.mark.parametrize(
    "entry", registry.WEIGHT_ESTIMATORS, ids=lambda entry: entry.name
)
def test_no_parameter_is_without_effect(entry):
    told = (entry.load().__doc__ or "").lower()
    assert "without effect" not in told
    assert "not used" not in told.replace("(the textbook criterion, not used)", "")
