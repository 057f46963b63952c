"""A search weighs once a fold, and never takes what belongs to other rows."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from counterpoise import RULSIF, Adapted, AutoWeights
from counterpoise.adaptation import adapted as weighings
from counterpoise.adaptation.adapted import FINDINGS_KEPT, FOUND, digest
from counterpoise.datasets import make_gaussian_shift

SHIFT = make_gaussian_shift(2, n=120, m=90, random_state=0)


@pytest.fixture(autouse=True)
def _begin_with_nothing_known() -> Any:
    FOUND.forget()
    yield
    FOUND.forget()


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every weighing that was done."""
    done: list[int] = []
    fit = AutoWeights._fit_samples

    def counted(self: Any, samples: Any, *rest: Any) -> Any:
        done.append(samples.source_weight.size)
        return fit(self, samples, *rest)

    monkeypatch.setattr(AutoWeights, "_fit_samples", counted)
    return done


def _fitted(X: Any = SHIFT.X, target: Any = SHIFT.X_target, **more: Any) -> Adapted:
    return Adapted(Ridge(), random_state=0, **more).fit(X, SHIFT.y, X_target=(target,))


def test_a_grid_search_weighs_once_a_fold_and_chooses_as_before(fits, monkeypatch):
    def searched() -> Any:
        return GridSearchCV(
            Adapted(Ridge(), random_state=0), {"estimator__alpha": [0.1, 10.0]}, cv=2
        ).fit(SHIFT.X, SHIFT.y, X_target=(SHIFT.X_target,))

    with monkeypatch.context() as none_kept:
        none_kept.setattr(weighings, "LARGEST_KEPT", 0)
        before = searched()
    assert fits == [60, 60, 60, 60, 120]
    fits.clear()
    after = searched()
    assert fits == [60, 60, 120]
    for name in ("mean_test_score", "std_test_score"):
        assert np.array_equal(before.cv_results_[name], after.cv_results_[name])
    new = SHIFT.X_target[:9]
    assert np.array_equal(
        before.best_estimator_.predict_weights(new),
        after.best_estimator_.predict_weights(new),
    )


def test_what_is_found_again_can_do_all_that_a_fit_can():
    first, again = _fitted(), _fitted()
    assert again.weight_estimator_ is not first.weight_estimator_
    assert np.array_equal(
        again.weight_estimator_.weights_, first.weight_estimator_.weights_
    )
    assert again.weight_estimator_.score(SHIFT.X, X_target=SHIFT.X_target) == (
        first.weight_estimator_.score(SHIFT.X, X_target=SHIFT.X_target)
    )
    again.weight_estimator_.weights_[:] = 0.0
    assert _fitted().weight_estimator_.weights_.min() > 0.0


@pytest.mark.parametrize(
    "change",
    [
        lambda: _fitted(np.nextafter(SHIFT.X, 9.0)),
        lambda: _fitted(SHIFT.X[::-1].copy()),
        lambda: _fitted(target=SHIFT.X_target[:-1]),
        lambda: _fitted(weight_estimator=AutoWeights(random_state=1)),
        lambda: Adapted(Ridge(), random_state=1).fit(
            SHIFT.X, SHIFT.y, X_target=(SHIFT.X_target,)
        ),
        lambda: Adapted(Ridge(), random_state=0).fit(
            SHIFT.X, SHIFT.y, X_target=(SHIFT.X_target,),
            sample_weight=np.arange(1.0, 121.0),
        ),
    ],
)  # fmt: skip
def test_other_rows_weights_seeds_and_weighters_are_weighed_anew(fits, change):
    _fitted()
    fits.clear()
    change()
    assert len(fits) == 1


def test_without_a_seed_every_fit_draws_anew(fits):
    for _ in range(2):
        Adapted(Ridge()).fit(SHIFT.X, SHIFT.y, X_target=(SHIFT.X_target,))
    assert len(fits) == 2
    assert len(FOUND) == 0


def test_little_is_kept_and_what_was_asked_least_lately_goes():
    for k in range(FINDINGS_KEPT + 3):
        FOUND.put(("rows", str(k)), k, [])
        FOUND.get(("rows", "0"))
    assert len(FOUND) == FINDINGS_KEPT
    assert FOUND.get(("rows", "0")) is not None
    assert FOUND.get(("rows", "1")) is None


def test_the_rows_of_a_fit_are_not_kept():
    _fitted(weight_estimator=RULSIF())
    kept = [found for found, _ in FOUND._found.values()]
    assert [one._samples_ for one in kept if hasattr(one, "_samples_")] == [None]


def test_a_warning_is_given_again_where_the_weights_are_taken_over():
    few = np.random.default_rng(0).normal(size=(12, 2))
    for _ in range(2):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            Adapted(Ridge(), random_state=0).fit(few, few[:, 0], X_target=(few[:9],))
        assert any("too few to choose weights" in str(one.message) for one in heard)


def test_what_cannot_be_told_has_no_digest():
    assert digest(lambda: 0) is None
    assert digest((SHIFT.X, "a")) == digest((SHIFT.X.copy(), "a"))
    assert digest(SHIFT.X) != digest(SHIFT.X.astype("f4"))
