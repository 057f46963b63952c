"""Assignments over a range of sparsities."""

import numpy as np
import pytest
from optim.assignment.random_assignments import graph

from counterpoise.selection import SelectionPath, SubsetSelector


def fitted(**given):
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    selector = SubsetSelector(smoothness=0.02, **given)
    return selector.fit(X, candidates=X[:10], graph=graph(40, 0))


def test_a_path_holds_what_single_fits_find():
    selector = fitted(sparsity=0.3)
    path = selector.path()
    assert isinstance(path, SelectionPath)
    assert path.sparsities.shape == (12,)
    assert path.sparsities[-1] == 1.0
    assert (np.diff(path.sparsities) > 0).all()
    assert path.assignments.shape == (12, 40, 10)
    np.testing.assert_allclose(path.lambdas, path.sparsities * selector.lambda_max_)
    np.testing.assert_array_equal(path.labels, path.assignments.argmax(axis=2))
    np.testing.assert_array_equal(path.active, path.assignments.max(axis=1) > 1e-3)
    for k, sparsity in enumerate(path.sparsities):
        assert path.solutions[k].converged
        alone = fitted(sparsity=float(sparsity)).solution_.certificate
        there = path.solutions[k].certificate
        assert there.objective == pytest.approx(alone.objective, rel=2e-4)
    assert path.active[-1].sum() == 1
    for word in range(10):
        where = path.sparsities[path.active[:, word]]
        if where.size:
            assert path.enters[word] == where.max()
        else:
            assert np.isnan(path.enters[word])


def test_any_sparsity_of_a_path_is_a_fitted_selector():
    selector = fitted(sparsity=0.3)
    path = selector.path([0.5, 0.05])
    assert path.sparsities.tolist() == [0.05, 0.5]
    there = path.at(0.5)
    assert there.sparsity == 0.5
    np.testing.assert_array_equal(there.assignment_, path.assignments[1])
    assert there.lambda_ == path.lambdas[1]
    between = path.at(0.2)
    alone = fitted(sparsity=0.2)
    assert between.solution_.certificate.objective == pytest.approx(
        alone.solution_.certificate.objective, rel=2e-4
    )
    assert selector.sparsity == 0.3
    assert there.predict(there.words_).max() < len(there.selected_)


def test_a_fit_by_an_absolute_penalty_has_a_path_too():
    by_share = fitted(sparsity=0.3)
    path = fitted(penalty=0.01).path([0.1])
    assert path.lambdas[0] == pytest.approx(0.1 * by_share.lambda_max_)
    assert path.at(0.1).lambda_max_ == pytest.approx(by_share.lambda_max_)


@pytest.mark.parametrize("sparsities", [[], [-0.1, 0.5], [np.nan]])
def test_sparsities_that_are_none_are_refused(sparsities):
    with pytest.raises(ValueError, match="sparsities"):
        fitted().path(sparsities)


def test_words_that_must_be_there_are_active_all_along():
    R = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [0.2, 0.3, 9.0]])
    selector = SubsetSelector("precomputed").fit(R, must_include=[2])
    path = selector.path([0.1, 0.5])
    assert path.active[:, 2].all()
    assert path.enters[2] == 0.5
    assert path.at(0.5).active_.tolist() == np.flatnonzero(path.active[1]).tolist()


def test_another_fit_does_not_change_a_path():
    rng = np.random.default_rng(0)
    selector = SubsetSelector(sparsity=0.2).fit(rng.random((12, 2)))
    path = selector.path([0.1, 0.5])
    before = path.at(0.3).assignment_
    selector.fit(rng.random((7, 2)))
    np.testing.assert_array_equal(path.at(0.3).assignment_, before)
