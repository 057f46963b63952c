import numpy as np
import pytest

from counterpoise.datasets import (
    make_articulated_pose,
    make_class_subset,
    make_gaussian_shift,
    make_mixture_shift,
    make_sinc_shift,
    make_uncovered_cluster,
)

MAKERS = [
    (make_sinc_shift, {}, (1,), ()),
    (make_gaussian_shift, {"d": 4}, (4,), ()),
    (make_mixture_shift, {"d": 6}, (6,), ()),
    (make_articulated_pose, {}, (30,), (18,)),
    (make_uncovered_cluster, {"q": 0.5, "d": 3}, (3,), ()),
    (make_class_subset, {"d": 2}, (2,), ()),
]


def arrays(shift):
    return (*shift, shift.ratio_target)


@pytest.mark.parametrize(("make", "arguments", "columns", "outputs"), MAKERS)
def test_the_arrays_have_a_row_each(make, arguments, columns, outputs):
    shift = make(n=7, m=4, random_state=0, **arguments)
    assert shift.X.shape == (7, *columns)
    assert shift.y.shape == (7, *outputs)
    assert shift.X_target.shape == (4, *columns)
    assert shift.y_target.shape == (4, *outputs)
    assert shift.ratio.shape == (7,)
    assert shift.ratio_target.shape == (4,)


@pytest.mark.parametrize(("make", "arguments", "columns", "outputs"), MAKERS)
def test_one_row_a_sample_is_enough(make, arguments, columns, outputs):
    shift = make(n=1, m=1, random_state=0, **arguments)
    assert all(len(array) == 1 for array in arrays(shift))


@pytest.mark.parametrize(("make", "arguments", "columns", "outputs"), MAKERS)
@pytest.mark.parametrize(
    "seed",
    [lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)],
)
def test_the_same_seed_gives_the_same_bytes(make, arguments, columns, outputs, seed):
    one = make(n=7, m=4, random_state=seed(), **arguments)
    other = make(n=7, m=4, random_state=seed(), **arguments)
    assert [a.tobytes() for a in arrays(one)] == [a.tobytes() for a in arrays(other)]


@pytest.mark.parametrize(("make", "arguments", "columns", "outputs"), MAKERS)
def test_another_seed_gives_other_rows(make, arguments, columns, outputs):
    one, other = (make(n=7, m=4, random_state=seed, **arguments) for seed in (5, 6))
    assert not np.any(one.X == other.X)
    assert not np.any(one.X_target == other.X_target)


@pytest.mark.parametrize(("make", "arguments", "columns", "outputs"), MAKERS)
def test_source_and_target_share_no_rows(make, arguments, columns, outputs):
    shift = make(n=7, m=4, random_state=0, **arguments)
    assert not np.isin(shift.X, shift.X_target).any()
