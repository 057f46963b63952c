"""Both samples as read, and what follows from them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from counterpoise.data import TableEncoder
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import TwoSamples, canonical_order, pooled_scale
from counterpoise.errors import InvalidInputError


def _two(n: int = 30, m: int = 20, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d))


def test_an_array_and_the_frame_of_it_are_read_alike():
    pandas = pytest.importorskip("pandas")
    X, X_target = _two()
    names = ("a", "b", "c")
    frames = (pandas.DataFrame(one, columns=names) for one in (X, X_target))
    arrays, read = Samples.read(X, X_target), Samples.read(*frames)
    assert_array_equal(arrays.source, X)
    assert_array_equal(read.target, X_target)
    assert arrays.names is None
    assert read.matrix_names == names
    assert read.encoder is None


def test_what_has_been_read_passes_through():
    samples = Samples.read(*_two())
    assert Samples.read(samples, None) is samples
    assert Samples.read(samples, None, form="numbers") is samples


@pytest.mark.parametrize("form", ["tables", "numbers", "encoded"])
@pytest.mark.parametrize("weights", [(np.ones(30), None), (None, np.ones(20))])
def test_weights_beside_what_has_been_read_are_refused(form, weights):
    samples = Samples.read(*_two())
    with pytest.raises(InvalidInputError, match="have their weights"):
        Samples.read(samples, None, *weights, form=form)


def test_a_mixed_table_is_encoded_by_one_encoder_of_both():
    source = [[1.0, "a"], [2.0, "b"], [None, "a"]]
    target = [[3.0, "c"], [4.0, "a"]]
    samples = Samples.read(source, target)
    encoder = TableEncoder().fit(source, target)
    assert samples.encoder is samples.encoder
    assert samples.encoder.names_ == encoder.names_
    assert_array_equal(samples.source, encoder.transform(source))
    assert_array_equal(samples.target, encoder.transform(target))
    assert samples.matrix_names is None


def test_sparse_matrices_stay_sparse():
    X, X_target = _two()
    samples = Samples.read(sparse.csr_array(X), X_target)
    assert samples.is_sparse
    assert sparse.issparse(samples.target)
    assert samples.range is None


def test_rows_that_count_stand_in_their_canonical_order_with_their_counts():
    X, X_target = _two()
    weight = np.ones(30)
    weight[[3, 7]] = 0.0, 2.0
    samples = Samples.read(X, X_target, weight)
    rows, aims = samples.places
    there = np.flatnonzero(weight)
    assert_array_equal(rows, there[canonical_order(X[there], weight[there])])
    assert_array_equal(samples.counted.source, X[rows])
    assert_array_equal(samples.counted.target, X_target[aims])
    assert_array_equal(samples.counted.source_share, weight[rows] / weight.sum())
    assert_array_equal(samples.scale, pooled_scale(samples.counted))


def test_fractional_weights_count_by_what_they_are_worth():
    weight = np.full(30, 0.5)
    weight[0] = 1.0
    counts, ones = Samples.read(*_two(), weight).counts
    assert counts.sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert_array_equal(ones, np.ones(20))


@pytest.mark.parametrize("weighted", [False, True])
def test_some_ordered_rows_are_ordered_again(weighted: bool):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(200, 2)).astype(float)
    X_target = rng.integers(0, 3, size=(150, 2)).astype(float)
    weight = rng.random(200) if weighted else None
    counted = Samples.read(X, X_target, weight).counted
    part = counted.take(rng.random(200) < 0.7, rng.random(150) < 0.7)
    again = Samples.of_ordered(part)
    anew = Samples.of_matrices(
        again.source, again.target, again.source_weight, again.target_weight
    )
    assert_array_equal(anew.places[0], again.places[0])
    assert_array_equal(anew.places[1], again.places[1])
    for name in TwoSamples.__dataclass_fields__:
        assert_array_equal(getattr(anew.counted, name), getattr(again.counted, name))
