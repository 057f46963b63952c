"""Folds and the table of both samples: copies of a row stay together."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.data.two_samples import TwoSamples, content, folds
from counterpoise.shift.domain_classifier import Pool, domain_auc
from counterpoise.shift.support import overlap


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_copies_of_a_row_share_a_fold(form):
    rows = np.repeat(np.random.default_rng(0).normal(size=(60, 2)), 3, axis=0)
    fold = folds(form(rows), 5, 0).reshape(60, 3)
    assert (fold == fold[:, :1]).all()
    assert set(fold[:, 0]) == set(range(5))


def test_few_different_rows_are_dealt_out_one_by_one():
    fold = folds(np.repeat(np.arange(4.0)[:, None], 25, axis=0), 5, 0).reshape(4, 25)
    assert all(len(set(copies)) == 5 for copies in fold)


def test_equal_rows_have_equal_content_whatever_the_sign_of_zero():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])
    number = content(rows)
    assert number[0] == number[1] != number[2]
    assert (content(sparse.csr_array(rows)) == number).all()


def test_a_copy_of_a_row_does_not_help_to_score_it():
    # Drawn alike: what the copies would add is all that could be told apart.
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2, 100, 4))
    thrice = [np.repeat(rows, 5, axis=0) for rows in (X, X_target)]
    assert domain_auc(*thrice, random_state=0) < 0.6
    assert overlap(*thrice, random_state=0).uncovered_fraction < 0.1


def test_the_row_twice_is_scored_as_the_row_of_weight_two():
    rng = np.random.default_rng(1)
    X, X_target = rng.normal(size=(150, 2)), 0.5 + rng.normal(size=(120, 2))
    counts = rng.integers(1, 4, 150)
    weighted = domain_auc(X, X_target, sample_weight=counts / 2, random_state=0)
    repeated = domain_auc(np.repeat(X, counts, axis=0), X_target, random_state=0)
    # The prior of the two classes differs, and with it the penalty of the fit.
    assert weighted == pytest.approx(repeated, abs=0.01)


def test_rounding_does_not_keep_weights_from_being_counts():
    rng = np.random.default_rng(0)
    samples = TwoSamples.of(
        rng.normal(size=(49, 1)), rng.normal(size=(71, 1)), np.full(49, 1.0), None
    )
    assert (samples.source_share * samples.source_mass != 1.0).any()
    assert (Pool.of(samples, 0).weights == 1.0).all()


def test_a_sample_of_one_row_many_times_can_be_scored():
    X = np.random.default_rng(0).normal(size=(300, 2))
    pool = Pool.of(TwoSamples.of(X, np.ones((40, 2))), 0)
    assert pool.n_folds == 5
    assert overlap(X, np.ones((40, 2)), random_state=0).auc > 0.5
