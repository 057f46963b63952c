"""`--fail-if` compares a number with a limit, and nothing else."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.cli.options import Condition, holding, read_conditions
from counterpoise.cli.terminal import UsageError

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@given(
    comparison=st.sampled_from(sorted(COMPARISONS)),
    value=st.floats(-10, 10),
    limit=st.floats(-10, 10),
)
def test_a_condition_holds_when_python_says_so(comparison, value, limit):
    (condition,) = read_conditions([f"ess {comparison} {limit!r}"], ["ess"])
    assert condition.holds({"ess": value}) == COMPARISONS[comparison](value, limit)


@pytest.mark.parametrize(
    "text",
    [
        "ess",
        "ess<",
        "<0.2",
        "ess<0.2<0.5",
        "ess=0.2",
        "__import__('os')",
        "ess<nan",
        "ess<1e",
        "ess<0.2;auc>1",
        "",
    ],
)
def test_anything_else_is_wrong_use(text):
    with pytest.raises(UsageError, match="a name, a comparison and a number"):
        read_conditions([text], ["ess"])


def test_an_unknown_name_lists_those_that_are_known():
    with pytest.raises(UsageError, match="no 'size'; it knows auc, ess"):
        read_conditions(["size<1"], ["ess", "auc"])


def test_several_conditions_can_be_given_in_one_or_by_repeating():
    conditions = read_conditions(
        ["ess<0.2, auc>0.9", "uncovered_fraction>=0.5"],
        ["ess", "auc", "uncovered_fraction"],
    )
    assert [c.name for c in conditions] == ["ess", "auc", "uncovered_fraction"]


def test_a_number_that_is_not_defined_counts_as_holding():
    condition = Condition("score", ">", 1.0)
    assert condition.holds({"score": None})
    assert holding([condition], {"score": None}) == [
        "score>1 counts as holding: it is not defined here"
    ]
