"""Bets on rows against rows of the reference, each used once."""

import numpy as np
import pytest

from counterpoise.monitor.evidence import InputsEvidence, _shrunk

ALPHA = 0.02


def _found(shift, seed, change=3, d=10, n=2_000, n_chunks=8):
    rng = np.random.default_rng(seed)
    evidence = InputsEvidence(rng.standard_normal((n, d)), seed)
    for t in range(n_chunks):
        rows = rng.standard_normal((300, d))
        if t >= change:
            rows = shift(rows)
        evidence.add(rows)
        if evidence.log_e >= np.log(1 / ALPHA):
            return t - change + 1, evidence
    return 999, evidence


def _half(rows):
    rows[:, 3] += 0.5
    return rows


def _turned(rows):
    rows[:, 3] = 0.8 * rows[:, 2] + 0.6 * rows[:, 3]
    return rows


def _wider(rows):
    rows[:, 3] *= 1.8
    return rows


@pytest.mark.parametrize("change", [_half, _turned, _wider])
def test_a_change_of_mean_spread_or_correlation_is_found(change):
    found = [_found(change, seed) for seed in range(4)]
    assert all(1 <= delay <= 5 for delay, _ in found)


def test_half_a_standard_deviation_is_found_in_the_first_chunk_of_500():
    rng = np.random.default_rng(7)
    for seed in range(5):
        evidence = InputsEvidence(rng.standard_normal((5_000, 10)), seed)
        evidence.add(_half(rng.standard_normal((500, 10))))
        assert evidence.log_e >= np.log(1 / ALPHA)
        assert int(evidence.by_column.argmax()) == 3


def test_without_a_change_there_is_no_alarm():
    assert all(_found(lambda rows: rows, seed, 0)[0] == 999 for seed in range(5))


def test_a_pair_is_fair_whichever_of_the_two_came_from_the_stream():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((400, 3))
    one = InputsEvidence(reference, 0)
    first = rng.standard_normal((25, 3)) + 1.0
    one.add(first)
    wealth = np.exp(one.log_wealth[0])
    np.testing.assert_allclose(wealth, 1.0)
    # The next row, and the row of the reference that it is held against, exchanged.
    held = one.betting[25:26].copy()
    row = one.described(rng.standard_normal((1, 3)))
    paid = []
    for stream, other in ((row, held), (held, row)):
        twin = InputsEvidence(reference, 0)
        twin.add(first)
        twin.betting[25] = other[0]
        twin._bet(stream)
        paid.append(np.exp(twin.log_wealth[0]))
    np.testing.assert_allclose(paid[0] + paid[1], 2.0, rtol=1e-6)


def test_no_row_of_the_reference_is_used_twice_in_a_process():
    rng = np.random.default_rng(0)
    evidence = InputsEvidence(rng.standard_normal((400, 2)), 0)
    for _ in range(30):
        evidence.add(rng.standard_normal((60, 2)))
        assert (evidence.n_taken + 25 <= 200).all()
        assert (np.diff(evidence.number) > 0).all()


def test_a_process_begins_at_a_chunk_when_the_youngest_has_an_eighth():
    rng = np.random.default_rng(0)
    evidence = InputsEvidence(rng.standard_normal((1_600, 2)), 0)
    started = []
    for _ in range(5):
        evidence.add(rng.standard_normal((50, 2)))
        started.append(evidence.n_started)
    assert started == [1, 1, 2, 2, 3]


def test_a_chunk_longer_than_the_betting_half_goes_on_with_a_new_process():
    rng = np.random.default_rng(0)
    evidence = InputsEvidence(rng.standard_normal((400, 2)), 0)
    evidence.add(rng.standard_normal((1_000, 2)))
    assert evidence.n_started == 5
    rows = rng.standard_normal((900, 2))
    rows[700:] += 2.0
    evidence.add(rows)
    assert evidence.log_e > np.log(1 / ALPHA)
    assert evidence.since == 2


def test_since_is_the_chunk_at_which_the_change_began():
    rng = np.random.default_rng(0)
    evidence = InputsEvidence(rng.standard_normal((2_000, 4)), 0)
    for t in range(9):
        rows = rng.standard_normal((250, 4))
        rows[:, 1] += 0.8 * (t >= 7)
        evidence.add(rows)
    assert evidence.since == 8


def test_what_is_noise_is_shrunk_to_nothing():
    np.testing.assert_allclose(
        _shrunk(np.ones(3), np.array([0.5, 1.0, 4.0])), [0, 0, 0.75]
    )


def test_the_same_rows_and_seed_give_the_same_bits():
    rng = np.random.default_rng(0)
    reference, rows = rng.standard_normal((500, 3)), rng.standard_normal((200, 3))
    told = []
    for _ in range(2):
        evidence = InputsEvidence(reference, 3)
        evidence.add(rows)
        told.append(evidence.log_e)
    assert told[0] == told[1]


def test_constant_and_binary_columns_are_taken():
    rng = np.random.default_rng(0)

    def draw(n, share):
        return np.column_stack([np.ones(n), rng.random(n) < share]).astype(float)

    evidence = InputsEvidence(draw(1_000, 0.3), 0)
    evidence.add(draw(400, 0.3))
    assert evidence.log_e < np.log(1 / ALPHA)
    evidence.add(draw(400, 0.7))
    assert evidence.log_e > np.log(1 / ALPHA)
    assert int(evidence.by_column.argmax()) == 1
