"""When an alert is raised, how its level is spent, and what it advises."""

import numpy as np
import pytest

from counterpoise import InvalidInputError
from counterpoise.data.table import read_table
from counterpoise.monitor.alerts import FEWEST_REFERENCE_ROWS
from counterpoise.monitor.chunks import KnownColumns
from counterpoise.monitor.estimates import missed, misses_of_blocks, spent
from counterpoise.monitor.evidence import InputsEvidence, RiskEvidence, _shrunk
from counterpoise.monitor.results import SHARE_OF_ALARM, advice
from counterpoise.monitor.state import SeenChunk, Tally, rows_to_keep, with_first_labels


def told(kind, *, inputs_changed=False, estimate_rose=False, covered=None):
    return advice(
        kind,
        inputs_changed=inputs_changed,
        estimate_rose=estimate_rose,
        covered=covered,
    )


def test_the_level_is_split_over_the_kinds_of_alarm():
    assert SHARE_OF_ALARM == {"inputs": 0.4, "risk": 0.4, "estimate": 0.2}


def test_the_level_is_spent_over_all_chunks():
    shares = [spent(1.0, t) for t in range(1, 51)]
    assert sum(shares) == pytest.approx(0.5)
    assert shares[0] == pytest.approx(1 / 51)


def test_more_than_half_without_reference_rows_stops_and_a_twentieth_asks_for_labels():
    assert told("inputs", covered=0.499).startswith("stop")
    assert told("inputs", covered=0.5).startswith("label rows")
    assert told("inputs", covered=0.949).startswith("label rows")
    assert told("inputs", covered=0.95).startswith("nothing")


def test_a_risk_that_rose_alone_asks_for_labels_and_with_the_inputs_for_weights():
    assert told("risk").startswith("label rows")
    assert told("risk", inputs_changed=True).startswith("adapt again")
    assert told("inputs", estimate_rose=True).startswith("adapt again")
    assert told("estimate").startswith("adapt again")


def test_a_process_begins_when_the_youngest_has_used_an_eighth():
    rng = np.random.default_rng(0)
    for size, started in ((50, 2), (49, 1)):
        evidence = InputsEvidence.against(rng.standard_normal((800, 2)), 0)
        evidence.add(rng.standard_normal((size, 2)))
        evidence.add(rng.standard_normal((10, 2)))
        assert evidence.n_started == started


def test_what_is_no_more_than_noise_is_not_bet_on():
    np.testing.assert_array_equal(
        _shrunk(np.ones(3), np.array([0.5, 1.0, 4.0])), [0.0, 0.0, 0.75]
    )


def test_in_the_last_cell_nothing_is_staked():
    evidence = RiskEvidence.against(np.tile([0.0, 1.0], 500), lambda mean: mean)
    assert not evidence.bets[:, -1].any()
    assert evidence.bets[:, :-1].all()
    evidence.add(np.ones(1_000))
    assert evidence.log_e == evidence.log_reference[-1]


def test_no_bet_costs_more_than_three_quarters():
    evidence = RiskEvidence.against(np.tile([0.0, 1.0], 500), lambda mean: mean)
    assert (evidence.bets * evidence.means).max() == pytest.approx(0.75)


def _known(values):
    return KnownColumns.of(read_table(np.asarray(values, dtype=float)[:, None]))


def test_a_unit_has_changed_where_half_lies_outside_and_sizes_differ_five_times():
    known = _known(np.linspace(1.0, 3.0, 101))

    def odd(values):
        return known.oddities(read_table(np.asarray(values, dtype=float)[:, None]))

    assert odd([10.0, 10.0, 2.0, 10.0])
    assert odd([0.4] * 4)
    assert not odd([9.99] * 4)
    # The median is what is outside: half of the rows do not make it so.
    assert odd([40.0, 40.0, 2.0, 2.0])
    assert not odd([40.0, 2.0, 2.0, 2.0])


def test_wide_tables_keep_fewer_rows():
    assert rows_to_keep(10_000, 10) == 5_000
    assert rows_to_keep(700, 10) == 700
    assert rows_to_keep(10_000, 952) == 400
    assert rows_to_keep(10_000, 52) == 3_750


def test_fewer_than_fifty_reference_rows_are_refused():
    from sklearn.linear_model import LinearRegression

    from counterpoise import ModelMonitor

    X = np.arange(50.0)[:, None]
    model = LinearRegression().fit(X, X[:, 0])
    assert FEWEST_REFERENCE_ROWS == 50
    ModelMonitor(model, X=X, y=X[:, 0])
    with pytest.raises(InvalidInputError, match="at least 50"):
        ModelMonitor(model, X=X[1:], y=X[1:, 0])


def test_misses_count_from_the_quantile_of_chance_on():
    # The 95 % quantile of chi-squared with two degrees of freedom is 2 log 20.
    edge = np.sqrt(np.log(20.0))
    assert missed([(0.999 * edge, 1.0), (-0.999 * edge, 1.0)]) == (0.0, 2)
    found = missed([(1.001 * edge, 1.0), (-1.001 * edge, 1.0)])
    assert found.variance == pytest.approx(1.001**2 * np.log(20.0) - 1.0)
    assert len(misses_of_blocks(np.arange(300.0))) == 10
    assert misses_of_blocks(np.arange(299.0)) == []


def test_a_chunk_of_thirty_labels_tells_how_far_its_estimate_missed():
    chunk = SeenChunk(1, None, 100, "", estimated={"error_rate": (0.2, 0.01)})
    assert chunk.miss("error_rate") is None
    chunk.tallies["error_rate"] = Tally(29, 14.0, 14.0)
    assert chunk.miss("error_rate") is None
    chunk.tallies["error_rate"] = Tally(30, 15.0, 15.0)
    miss, variance = chunk.miss("error_rate")
    assert miss == pytest.approx(0.3)
    assert variance == pytest.approx(0.01 + 0.25 / 29)


def test_a_row_that_has_been_is_not_counted_again():
    from counterpoise.monitor.state import is_new, keys_of_rows

    keys = np.array([7, 8, 8, 9, 10], dtype=np.uint64)
    seen = SeenChunk(1, "w1", 2, "", keys=np.array([9, 7], dtype=np.uint64))
    given_up = SeenChunk(2, "w2", 1, "")
    assert is_new([seen, given_up], keys).tolist() == [False, True, False, False, True]
    assert is_new([given_up], keys).tolist() == [True, True, False, True, True]
    equal = keys_of_rows(np.ones((3, 2)), ["a"] * 3)
    assert is_new([], equal).all()


def test_of_two_labels_of_one_id_the_first_counts():
    keys = np.array([7, 8, 7, 8, 9], dtype=np.uint64)
    labels, otherwise = with_first_labels(keys, [None, 1.0, 0.0, 2.0, np.nan])
    assert labels[:4].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert np.isnan(labels[4])
    assert otherwise == 1
    assert with_first_labels(keys[:0], [])[0].size == 0


def test_keys_of_a_megabyte_are_kept():
    from types import SimpleNamespace

    from counterpoise.monitor.state import MonitorState

    chunks = [SeenChunk(k, k, 62_500, "") for k in (1, 2, 3)]
    state = SimpleNamespace(chunks=[])
    for chunk in chunks:
        state.chunks.append(chunk)
        MonitorState.keep_keys(state, chunk, np.zeros(62_500, dtype=np.uint64))
    assert [chunk.keys is None for chunk in chunks] == [True, False, False]


def test_a_column_is_named_where_its_own_bets_would_be_an_alarm():
    from types import SimpleNamespace

    from counterpoise.monitor.alerts import telling_columns

    # Two columns, an alert of the inputs at .05 * .4.
    needed = np.log(2 / (0.05 * 0.4))

    def named(*wealth):
        inputs = SimpleNamespace(by_column=np.array(wealth))
        encoder = SimpleNamespace(columns_=["a", "b"])
        state = SimpleNamespace(inputs=inputs, false_alarm_rate=0.05, encoder=encoder)
        return telling_columns(state)

    assert named(needed, 0.0) == ["a"]
    assert named(needed, needed + 1.0) == ["b", "a"]
    assert named(needed - 1e-9, 0.0) == []
