"""When an alert is raised, how its level is spent, and what it advises."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from counterpoise import InvalidInputError
from counterpoise.data.table import read_table
from counterpoise.monitor.estimates import (
    ExcessError,
    Rise,
    excess_error,
    misses_of_blocks,
    spent,
)
from counterpoise.monitor.evidence import InputsEvidence, RiskEvidence, _shrunk
from counterpoise.monitor.monitor import (
    FEWEST_REFERENCE_ROWS,
    ChunkEvidence,
    new_alerts,
)
from counterpoise.monitor.results import SHARE_OF_ALARM, advice
from counterpoise.monitor.state import (
    ReferenceSchema,
    SeenChunk,
    Tally,
    rows_to_keep,
    with_first_labels,
)


def told(kind, *, inputs_changed=False, estimate_rose=False, covered=None):
    finding = advice(
        kind,
        inputs_changed=inputs_changed,
        estimate_rose=estimate_rose,
        covered=covered,
    )
    return str(finding)


def test_the_level_is_split_over_the_kinds_of_alarm():
    assert SHARE_OF_ALARM == {"inputs": 0.4, "risk": 0.4, "estimate": 0.2}


def test_the_level_is_spent_over_all_chunks():
    shares = [spent(1.0, t) for t in range(1, 51)]
    assert sum(shares) == pytest.approx(0.5)
    assert shares[0] == pytest.approx(1 / 51)


def test_more_than_half_without_reference_rows_stops_and_a_twentieth_asks_for_labels():
    assert told("inputs", covered=0.499).startswith("stop: 50% of the rows")
    assert told("inputs", covered=0.25).startswith("stop: 75% of the rows")
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
        evidence = InputsEvidence(rng.standard_normal((800, 2)), 0)
        evidence.add(rng.standard_normal((size, 2)))
        evidence.add(rng.standard_normal((10, 2)))
        assert evidence.n_started == started


def test_what_is_no_more_than_noise_is_not_bet_on():
    np.testing.assert_array_equal(
        _shrunk(np.ones(3), np.array([0.5, 1.0, 4.0])), [0.0, 0.0, 0.75]
    )


def test_in_the_last_cell_nothing_is_staked():
    evidence = RiskEvidence(np.tile([0.0, 1.0], 500), lambda mean: mean)
    assert not evidence.bets[:, -1].any()
    assert evidence.bets[:, :-1].all()
    evidence.add(np.ones(1_000))
    assert evidence.log_e == evidence.log_reference[-1]


def test_no_bet_costs_more_than_three_quarters():
    evidence = RiskEvidence(np.tile([0.0, 1.0], 500), lambda mean: mean)
    assert (evidence.bets * evidence.means).max() == pytest.approx(0.75)


def test_evidence_of_a_rising_risk_is_the_least_over_all_cells_of_what_bets_pay():
    """The formula of the module, one start and one loss after another."""
    rng = np.random.default_rng(0)
    losses, stream = rng.random(100), [rng.random(20), np.zeros(0), rng.random(300)]
    evidence = RiskEvidence(losses, lambda mean: mean + 0.01)
    for batch in stream:
        evidence.add(batch)
    deviation = losses.std()
    cells = np.r_[np.arange(-16, 26) / 4, np.arange(13, 25) / 2]
    ends = losses.mean() + cells * deviation / 10
    means = np.append(np.minimum(ends + 0.01, 1.0), 1.0)
    assert evidence.means == pytest.approx(means)
    amounts = 0.05 * np.sqrt(2.0) ** np.arange(11) / deviation
    bets = np.minimum(amounts[:, None], 0.75 / means) * (means < 1.0)
    assert evidence.bets == pytest.approx(bets)
    left = np.append(0.0, ends)
    against = np.ones(left.size)
    for i in range(100):
        mean = [(0.5 + losses[:k].sum()) / (k + 1) for k in range(i)]
        variance = (0.25 + ((losses[:i] - mean) ** 2).sum()) / (i + 1)
        stake = min(2.3 / np.sqrt(100 * variance), 0.75)
        against *= 1 - stake * (losses[i] - left)
    assert evidence.log_reference == pytest.approx(np.log(0.5 + 0.5 * against))
    parts = [np.prod(1 + bets * (z[:, None, None] - means), 0) for z in stream[::2]]
    weights = 50 / (np.array([50, 51]) * np.array([51, 52]))
    paid = weights[0] * parts[0] * parts[1] + weights[1] * parts[1]
    wealth = paid.mean(axis=0) + 50 / 52
    by_cell = evidence.log_reference[:-1] + np.log(wealth)[:-1]
    assert evidence.log_e == pytest.approx(min(*by_cell, evidence.log_reference[-1]))
    assert (evidence.n_batches, evidence.n_losses) == (2, 320)


def test_cells_lie_between_zero_and_one_and_no_deviation_is_below_that_of_one_loss():
    none = RiskEvidence(np.zeros(400), lambda mean: mean)
    # The deviation of one loss among 400 is 0.05: a cell is an eighth of 0.0025.
    assert none.means[:3] == pytest.approx(0.0025 * np.array([0.25, 0.5, 0.75]))
    assert none.bets[0, 0] == pytest.approx(1.0)
    every = RiskEvidence(np.ones(400), lambda mean: mean)
    assert every.means[-2:] == pytest.approx([1.0 - 0.25 * 0.0025, 1.0])
    assert none.since == 0


def test_a_change_of_the_risk_is_dated_by_the_batch_from_which_bets_pay_most():
    evidence = RiskEvidence(np.tile([0.0, 1.0], 500), lambda mean: mean)
    for batch in (np.zeros(100), np.tile([0.0, 1.0], 50), np.ones(100), np.ones(100)):
        evidence.add(batch)
    assert evidence.since == 3


def test_a_process_of_the_inputs_learns_from_its_own_rows_alone():
    rng = np.random.default_rng(0)
    evidence = InputsEvidence(rng.standard_normal((800, 2)), 0)
    rows = rng.standard_normal((60, 2))
    evidence.add(rows)
    described = evidence.described(rows)
    assert evidence.n_taken.tolist() == [60]
    assert evidence.sums[0] == pytest.approx(described.sum(axis=0), abs=1e-3)
    assert evidence.squares[0] == pytest.approx((described[:, :2] ** 2).sum(0), 1e-4)
    evidence.add(rng.standard_normal((30, 2)))
    assert evidence.n_taken.tolist() == [90, 30]
    assert evidence.first_chunk.tolist() == evidence.number.tolist() == [1, 2]
    # The second has 370 of 400 rows to bet with, 14 blocks of 25; then a third begins.
    evidence.add(rng.standard_normal((425, 2)))
    assert evidence.first_chunk.tolist() == evidence.number.tolist() == [3]
    assert evidence.n_taken.tolist() == [75]


def _known(values):
    return ReferenceSchema.of(read_table(np.asarray(values, dtype=float)[:, None]))


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
    assert excess_error([(0.999 * edge, 1.0), (-0.999 * edge, 1.0)]) == (0.0, 2)
    found = excess_error([(1.001 * edge, 1.0), (-1.001 * edge, 1.0)])
    assert found.variance == pytest.approx(1.001**2 * np.log(20.0) - 1.0)
    # Q is a sum of squares in units of their own variance, and no variance is negative.
    assert excess_error([(0.4, 0.01), (0.1, 0.01)]).variance == pytest.approx(0.075)
    assert excess_error([(0.0, 9.0), (0.4, 0.01)]) == (0.0, 2)
    assert len(misses_of_blocks(np.arange(300.0))) == 10
    assert misses_of_blocks(np.arange(299.0)) == []


def test_a_block_differs_from_all_rows_by_the_variance_of_a_part_of_them():
    rest = np.random.default_rng(0).standard_normal(303)
    found = misses_of_blocks(rest)
    # The first three of ten blocks have 31 rows, the others 30.
    sizes = np.repeat([31, 30], [3, 7])
    means = [part.mean() for part in np.array_split(rest, 10)]
    assert [miss for miss, _ in found] == pytest.approx(means - rest.mean())
    variances = np.var(rest, ddof=1) * (1 / sizes - 1 / 303)
    assert [variance for _, variance in found] == pytest.approx(variances)


def test_the_variance_of_misses_widens_intervals_with_satterthwaites_degrees():
    rise = Rise(2.0, 0.3, 0.0, 0.0, degrees=20.0, chance=0.07)
    # Without misses the variance is 0.3**2 + 0.07 = 0.16.
    assert rise.ends(0.1) == pytest.approx(2.0 + 0.4 * stats.t.ppf([0.05, 0.95], 20))
    degrees = 0.25**2 / (0.16**2 / 20 + 0.09**2 / 5)
    ends = rise.ends(0.1, ExcessError(0.09, 5))
    assert ends == pytest.approx(2.0 + 0.5 * stats.t.ppf([0.05, 0.95], degrees))
    # Misses of unknown variance count nothing.
    assert excess_error([(9.0, 0.0)]) == (0.0, 0)


def test_a_rise_is_what_is_exceeded_with_one_minus_the_level():
    rise = Rise(2.0, 0.3, 0.5, 0.1, degrees=20.0)
    assert rise.low_rise(0.05) == pytest.approx(0.5 - 0.1 * stats.t.ppf(0.95, 20))


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
    from counterpoise.monitor.state import MonitorState

    chunks = [SeenChunk(k, k, 62_500, "") for k in (1, 2, 3)]
    state = SimpleNamespace(chunks=[])
    for chunk in chunks:
        state.chunks.append(chunk)
        MonitorState.keep_keys(state, chunk, np.zeros(62_500, dtype=np.uint64))
    assert [chunk.keys is None for chunk in chunks] == [True, False, False]


def test_a_column_is_named_where_its_own_bets_would_be_an_alarm():
    from counterpoise.monitor.monitor import columns_with_evidence

    # Two columns, an alert of the inputs at .05 * .4.
    needed = np.log(2 / (0.05 * 0.4))

    def named(*wealth):
        inputs = SimpleNamespace(by_column=np.array(wealth))
        encoder = SimpleNamespace(columns_=["a", "b"])
        state = SimpleNamespace(inputs=inputs, false_alarm_rate=0.05, encoder=encoder)
        return columns_with_evidence(state)

    assert named(needed, 0.0) == ["a"]
    assert named(needed, needed + 1.0) == ["b", "a"]
    assert named(needed - 1e-9, 0.0) == []


def alerts(
    *, wealth=0.0, moved=(), odd=(), log_e=9.0, rose=True, rose_before=False, since=1
):
    """Return the alerts of a chunk by kind, where columns "a" and "b" are monitored."""
    raised = []
    state = SimpleNamespace(
        inputs=SimpleNamespace(
            log_e=log_e, since=since, by_column=np.array([wealth, 0.0])
        ),
        risk=SimpleNamespace(evidence=SimpleNamespace(log_e=log_e, since=since)),
        encoder=SimpleNamespace(columns_=["a", "b"]),
        chunks=[SimpleNamespace(time=time) for time in ("first", "second")],
        batch_times=["labels", "more labels"],
        false_alarm_rate=0.05,
        tolerance=0.02,
        rose=rose_before,
        alerts=raised,
        has_alert=lambda kind: kind in [alert.kind for alert in raised],
    )
    chunk = SeenChunk(1, "now", 100, "")
    found = ChunkEvidence(rose=rose, low_rise=0.03, columns=moved, odd=odd)
    return {alert.kind: alert for alert in new_alerts(state, chunk, found)}


def test_an_alert_of_the_risk_names_the_columns_that_moved_in_the_chunk():
    def named(**found):
        return [alert.columns for alert in alerts(**found).values()]

    # In the order inputs, risk, estimate; "a" has won its own bets.
    assert named(wealth=9.0, moved=("b",), odd=("c",)) == [("a",), ("b",), ("b",)]
    assert named(wealth=9.0, odd=("c",)) == [("a",), ("a",), ("a",)]
    assert named(moved=("b",), odd=("c",)) == [("b",), ("b",), ("b",)]
    assert named(odd=("c",)) == [("c",), ("c",), ("c",)]
    assert named() == [(), (), ()]


def test_an_alert_is_raised_where_evidence_reaches_the_inverse_of_its_level():
    needed = np.log(1 / (0.05 * 0.4))
    assert list(alerts(log_e=needed, rose=False)) == ["inputs", "risk"]
    assert alerts(log_e=np.nextafter(needed, 0.0), rose=False) == {}
    raised = alerts()
    assert list(raised) == ["inputs", "risk", "estimate"]
    assert [alert.since for alert in raised.values()] == ["first", "labels", "now"]
    for since, times in ((0, [None, None]), (2, ["second", "more labels"])):
        found = alerts(since=since, rose=False).values()
        assert [alert.since for alert in found] == times
    for before, action in ((False, "nothing"), (True, "adapt again")):
        found = alerts(rose=False, rose_before=before)
        assert found["inputs"].advice.startswith(action)
    assert raised["risk"].evidence["needed"] == pytest.approx(50.0)
    assert raised["estimate"].evidence == {"low": 0.03, "tolerance": 0.02}
    assert [alert.level for alert in raised.values()] == pytest.approx(
        [0.02, 0.02, 0.01]
    )
