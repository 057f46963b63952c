"""Bars for shares of draws: a kept promise seldom falls short, a broken one does."""

import sys
from pathlib import Path

import pytest
from scipy.stats import binom

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def chance(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    import chance

    return chance


@pytest.mark.parametrize("draws", [1, 4, 6, 12, 40, 200])
@pytest.mark.parametrize("promised", [0.6, 0.8, 0.95])
def test_a_kept_promise_falls_short_once_in_a_hundred_runs(chance, promised, draws):
    least = round(chance.share_at_least(promised, draws) * draws)
    assert binom.cdf(least - 1, draws, promised) < 0.01
    # One more would be asked too much.
    assert binom.cdf(least, draws, promised) >= 0.01
    most = round(chance.share_at_most(1 - promised, draws) * draws)
    assert most == draws - least


@pytest.mark.parametrize(("draws", "least"), [(6, 4), (40, 34), (200, 182)])
def test_what_is_broken_falls_short(chance, draws, least):
    assert chance.share_at_least(0.95, draws) == pytest.approx(least / draws)
    # Intervals half of which miss.
    assert binom.sf(least - 1, draws, 0.5) < (0.35 if draws < 10 else 1e-5)


def test_a_bar_that_nothing_can_miss_is_not_judged(chance, capsys):
    import reporting

    told = reporting.bar("of one draw", 0.0, least=chance.share_at_least(0.9, 1))
    assert told["judged"] is False
    told = reporting.bar("of one draw", 1.0, chance.share_at_most(0.1, 1))
    assert told["judged"] is False
    assert capsys.readouterr().out.count("too few draws to judge") == 2
    assert "judged" not in reporting.bar("of forty", 1.0, least=0.9)
    assert "judged" not in reporting.bar("a ratio", 1.0, 1.0)
