"""The page that helps to choose has every weight estimator, learner and solver."""

import re
from pathlib import Path

import pytest
from docs.test_reference import public_names

from counterpoise.networks.base import NETWORK_SOLVERS
from counterpoise.optim.registry import solver_classes
from counterpoise.optim.stiefel.solvers import ORTHOGONAL_SOLVERS
from counterpoise.selection.subset_selector import SOLVER_NAMES
from counterpoise.subspaces.discriminant import SOLVERS_OF_DISTANCES
from counterpoise.weights.discrepancy import DISCREPANCY_SOLVERS
from counterpoise.weights.kliep import KLIEP_SOLVERS
from counterpoise.weights.kmm import MATCHING_SOLVERS
from counterpoise.weights.registry import WEIGHT_ESTIMATORS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
TEXT = (ROOT / "docs" / "which_method.md").read_text()


def section(title):
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    "name", [*(one.name for one in WEIGHT_ESTIMATORS), "PartialWeights"]
)
def test_every_weighter_has_its_assumption_and_what_speaks_for_and_against(name):
    assert section("Weights").count(f"\n| `{name}` |") == 2


def learners():
    rooms = {"learners", "subspaces"}
    for room, names in public_names.rooms().items():
        for name in names:
            value = public_names.thing(room, name)
            if room in rooms and public_names.kind(value) == "estimator":
                yield name


@pytest.mark.parametrize(
    "name", [*learners(), "TransductiveSVC", "deep.PartialDomainClassifier"]
)
def test_every_learner_is_there(name):
    assert f"`{name}`" in section("Learners")


@pytest.mark.parametrize("name", [kind.__name__ for kind in solver_classes("general")])
def test_every_public_solver_is_there(name):
    assert f"| `convex.{name}` |" in section("Solvers")


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        ("KLIEP", KLIEP_SOLVERS),
        ("KMM", MATCHING_SOLVERS),
        ("DiscrepancyWeights", DISCREPANCY_SOLVERS),
        ("SubsetSelector", SOLVER_NAMES),
        ("solve_orthogonal", ("auto", *ORTHOGONAL_SOLVERS)),
        ("ConvexNetworkRegressor", NETWORK_SOLVERS),
    ],
)
def test_every_choice_of_a_solver_is_there(owner, names):
    lines = section("Solvers").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(f"| `{owner}` |"))
    last = first + 1
    while lines[last].startswith("| | "):
        last += 1
    told = set(re.findall(r'`"([\w-]+)"`', "\n".join(lines[first:last])))
    assert told == set(names)


def test_the_choices_of_distances_are_those_of_frames_and_one_more():
    assert set(SOLVERS_OF_DISTANCES) - {"auto", *ORTHOGONAL_SOLVERS} == {"fantope"}
    assert '`"fantope"`' in section("Solvers")


def test_every_question_that_a_page_names_is_one_of_the_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from asking import questions

    known = {one.full_name for one in questions()}
    named = {
        (path.name, name)
        for path in PAGES
        for name in re.findall(r"\{evidence\}`([^`]+)`", path.read_text())
    }
    assert len(named) > 40
    assert {one for one in named if one[1] not in known} == set()
