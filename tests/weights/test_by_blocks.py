"""Tables read block by block get the weights that they would get in memory."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from counterpoise import (
    KLIEP,
    RULSIF,
    ULSIF,
    AutoWeights,
    DiscrepancyWeights,
    DiscriminatorWeights,
    LabelShiftWeights,
    LogLinearKLIEP,
)
from counterpoise.data import Blocks, distribute, memory_budget, sample
from counterpoise.data.blocks import DECISION_SAMPLE_SIZE
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.shift.domain_classifier import logistic

CLOSED = {
    "ulsif": lambda: ULSIF(gamma=0.1, regularization=0.1, random_state=0),
    "rulsif": lambda: RULSIF(gamma=0.2, regularization=0.1, random_state=1),
}
SMOOTH = {
    "full": lambda: LogLinearKLIEP(random_state=0),
    "diag": lambda: LogLinearKLIEP(statistics="diag", random_state=0),
    "linear": lambda: LogLinearKLIEP(statistics="linear", random_state=0),
}
MIXED = {
    "kliep": lambda: KLIEP(gamma=0.3, n_centers=60, tol=1e-9, random_state=0),
    "relative": lambda: KLIEP(
        gamma=0.5, n_centers=40, relative=0.1, tol=1e-9, random_state=0
    ),
}
ODDS = {
    "logistic": lambda: DiscriminatorWeights(
        estimator=logistic(False, 4, tol=1e-12), calibrate=False, random_state=0
    ),
}
ALL = CLOSED | SMOOTH | MIXED | ODDS
UNITS = np.array([1.0, 10.0, 0.01, 1e4])


def two_samples(n=12_000, m=11_000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * UNITS, rng.normal(0.3, 1.0, (m, 4)) * UNITS


def in_blocks(rows, k):
    return Blocks.from_arrays(rows, rows=k)


@pytest.mark.parametrize("name", [*CLOSED, *SMOOTH])
def test_blocks_get_the_weights_of_rows_in_memory(name):
    make = (CLOSED | SMOOTH)[name]
    X, X_target = two_samples()
    whole = make().fit(X, X_target=X_target)
    pieces = make().fit(in_blocks(X, 4_000), X_target=in_blocks(X_target, 3_000))
    close = 1e-9 if name in CLOSED else 1e-6
    np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=close, atol=close)
    assert pieces.solution_.converged
    ratio = pieces.effective_sample_size_ / whole.effective_sample_size_
    assert abs(ratio - 1) < 1e-6
    new = X_target[:50]
    np.testing.assert_allclose(
        pieces.predict_weights(new), whole.predict_weights(new), rtol=1e-6
    )


@pytest.mark.parametrize("name", [*MIXED])
def test_a_mixture_of_kernels_is_that_of_rows_in_memory(name):
    X, X_target = two_samples()
    whole = MIXED[name]().fit(X, X_target=X_target)
    pieces = MIXED[name]().fit(in_blocks(X, 4_000), X_target=in_blocks(X_target, 3_000))
    assert pieces.solution_.converged
    np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=1e-4)
    objectives = [one.solution_.certificate.objective for one in (pieces, whole)]
    np.testing.assert_allclose(*objectives, rtol=1e-8)


@pytest.mark.parametrize("away", [6.0, 1e4])
def test_a_mixture_takes_target_rows_that_the_sample_has_not_seen(away):
    X, X_target = two_samples()
    weight_estimator = MIXED["kliep"]()
    seen = sample(
        in_blocks(X_target, 999), DECISION_SAMPLE_SIZE, weight_estimator._seed()
    ).places
    unseen = np.setdiff1d(np.arange(len(X_target)), seen)[0]
    X_target[unseen] += away * UNITS
    fitted = weight_estimator.fit(
        in_blocks(X, 4_000), X_target=in_blocks(X_target, 999)
    )
    assert fitted.solution_.converged
    assert fitted.weights_.mean() == pytest.approx(1.0)


def test_the_logistic_discriminator_is_fitted_to_every_row():
    X, X_target = two_samples()
    whole = ODDS["logistic"]().fit(X, X_target=X_target)
    pieces = ODDS["logistic"]().fit(
        in_blocks(X, 4_000), X_target=in_blocks(X_target, 3_000)
    )
    new = np.vstack([X, X_target])
    ratios = [one.predict_weights(new) * one.mean_ratio_ for one in (pieces, whole)]
    # The longest odds of a target row are out of fold in memory.
    least = min(ratio.max() for ratio in ratios)
    np.testing.assert_allclose(*(np.minimum(r, least) for r in ratios), rtol=1e-6)
    assert (ratios[0] > least).sum() <= 1


def test_what_was_chosen_on_a_sample_is_fitted_to_every_row():
    X, X_target = two_samples()
    pieces = AutoWeights(random_state=0).fit(
        in_blocks(X, 4_000), X_target=in_blocks(X_target, 3_000)
    )
    assert type(pieces.weight_estimator_) is DiscriminatorWeights
    labels = np.repeat([0, 1], [len(X), len(X_target)])
    whole = logistic(False, 4, tol=1e-12).fit(np.vstack([X, X_target]), labels)
    longest = whole.decision_function(X_target).max()
    ratio = np.exp(np.minimum(whole.decision_function(X), longest))
    mean = ratio.mean()
    np.testing.assert_allclose(
        pieces.weight_estimator_.predict_weights(X), ratio / mean, rtol=1e-6
    )
    reached = np.exp(longest) / mean
    assert pieces.largest_weight_ == pytest.approx(reached, rel=1e-6)
    cut = np.clip(ratio / mean, 1e-4, reached)
    np.testing.assert_allclose(pieces.weights_, cut / cut.mean(), rtol=1e-6)


@pytest.mark.parametrize("name", [*CLOSED, "full", *MIXED, *ODDS])
def test_one_blocking_or_another_gives_the_same_weights(name):
    make = ALL[name]
    X, X_target = two_samples()
    one = make().fit(in_blocks(X, 997), X_target=in_blocks(X_target, 5_000))
    other = make().fit(in_blocks(X, 6_001), X_target=X_target)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-9)


@pytest.mark.parametrize("name", [*CLOSED, "full", *MIXED, *ODDS])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_whoever_computes_gives_the_same_bits(name, scheduler):
    make = ALL[name]
    X, X_target = two_samples(seed=3)
    alone = make().fit(in_blocks(X, 997), X_target=in_blocks(X_target, 997))
    with distribute(scheduler):
        there = make().fit(in_blocks(X, 997), X_target=in_blocks(X_target, 997))
    assert there.weights_.tobytes() == alone.weights_.tobytes()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DiscriminatorWeights(random_state=0),
        lambda: LogLinearKLIEP(n_components=2, random_state=0),
    ],
)
def test_other_methods_decide_on_a_sample_and_weigh_every_row(make):
    X, X_target = two_samples()
    fitted = make().fit(in_blocks(X, 5_000), X_target=in_blocks(X_target, 5_000))
    assert fitted.weights_.shape == (12_000,)
    assert fitted.weights_.mean() == pytest.approx(1.0)
    moved = (fitted.weights_[:, None] * X / UNITS).mean(axis=0)
    np.testing.assert_allclose(moved, 0.3, atol=0.06)


def test_a_table_that_is_smaller_than_the_sample_is_decided_on_whole():
    X, X_target = two_samples(900, 700)
    whole = ULSIF(random_state=0).fit(X, X_target=X_target)
    pieces = ULSIF(random_state=0).fit(
        in_blocks(X, 100), X_target=in_blocks(X_target, 90)
    )
    assert pieces.gamma_ == whole.gamma_
    np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=1e-9)


def test_repeated_rows_are_one_center_of_their_number():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(6_000, 3)).astype(float)
    X_target = rng.integers(0, 3, size=(5_000, 3)).astype(float)
    make = lambda: ULSIF(gamma=0.5, regularization=0.1, n_centers=5, random_state=0)  # noqa: E731
    whole = make().fit(X, X_target=X_target)
    pieces = make().fit(in_blocks(X, 700), X_target=in_blocks(X_target, 300))
    np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=1e-9)


def test_weights_are_written_in_the_order_of_the_rows(tmp_path):
    X, X_target = two_samples(5_000, 4_000)
    fitted = ULSIF(random_state=0).fit(in_blocks(X, 700), X_target=X_target)
    fitted.write_weights(in_blocks(X, 400), tmp_path / "weights.parquet")
    written = pq.read_table(tmp_path / "weights.parquet")
    np.testing.assert_allclose(
        written["weight"].to_numpy(), fitted.weights_, rtol=1e-12
    )
    np.testing.assert_allclose(
        fitted.predict_weights(in_blocks(X, 321)), fitted.weights_, rtol=1e-12
    )


def test_a_small_memory_budget_changes_nothing_but_memory():
    X, X_target = two_samples(8_000, 7_000)
    fits = []
    for budget in (2**30, 2**21):
        with memory_budget(budget):
            fits.append(CLOSED["ulsif"]().fit(in_blocks(X, 999), X_target=X_target))
    np.testing.assert_allclose(fits[0].weights_, fits[1].weights_, rtol=1e-9)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda B, T: ULSIF().fit(B), "X_target is None"),
        (lambda B, T: ULSIF().fit(B, X_target=T, sample_weight=[1.0]), "beside blocks"),
        (lambda B, T: ULSIF(n_centers=None).fit(B, X_target=T), "give a number"),
        (lambda B, T: KLIEP(n_centers=None).fit(B, X_target=T), "give a number"),
        (lambda B, T: KLIEP(solver="away").fit(B, X_target=T), "in memory"),
        (lambda B, T: DiscrepancyWeights().fit(B, X_target=T), "takes no blocks"),
        (lambda B, T: LabelShiftWeights().fit(B, [0], X_target=T), "takes no blocks"),
        (lambda B, T: ULSIF().fit(B, X_target=T[:, :2]), "columns"),
    ],
)
def test_what_blocks_cannot_have_is_refused_by_name(fit, words):
    X, X_target = two_samples(60, 50)
    with pytest.raises((InvalidInputError, InvalidTypeError), match=words):
        fit(in_blocks(X, 20), X_target)
