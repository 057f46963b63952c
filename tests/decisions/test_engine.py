"""How much memory a computation may take."""

import pytest

from counterpoise.data import memory_budget
from counterpoise.data.parallel import current_budget


def broken(budget):
    with memory_budget(budget):
        assert current_budget() == budget
        raise RuntimeError


def test_the_budget_is_one_gib_and_what_it_was_again_afterwards():
    assert current_budget() == 2**30
    with memory_budget(10):
        assert current_budget() == 10
        with pytest.raises(RuntimeError):
            broken(20)
        assert current_budget() == 10
    assert current_budget() == 2**30


def test_a_budget_must_be_positive():
    for wrong in (0, -1):
        with (
            pytest.raises(ValueError, match="n_bytes must be positive"),
            memory_budget(wrong),
        ):
            pass
    with memory_budget(1):
        assert current_budget() == 1
