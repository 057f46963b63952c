"""Models without a fold are fitted once where the guard and the estimate need them."""

from typing import Any

from sklearn.tree import DecisionTreeRegressor

from counterpoise import Adapted, estimate_performance
from counterpoise.datasets import make_gaussian_shift

SHIFT = make_gaussian_shift(2, n=150, m=120, random_state=0)


class _Counted(DecisionTreeRegressor):
    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def _estimated(fold_models: dict[bytes, Any] | None = None) -> tuple[Any, int]:
    model = Adapted(_Counted(min_samples_leaf=20, random_state=0), random_state=0)
    model._fold_models = fold_models
    model.fit(SHIFT.X, SHIFT.y, X_target=SHIFT.X_target)
    assert not model.adapted_
    before = _Counted.fits
    found = estimate_performance(
        model, SHIFT.X, SHIFT.y, SHIFT.X_target, cv=5, random_state=0
    )
    return found, _Counted.fits - before


def test_the_estimate_takes_the_guards_models_and_says_the_same():
    alone, fits = _estimated()
    together, fewer = _estimated({})
    assert (fits, fewer) == (5, 0)
    assert alone.to_dict() == together.to_dict()
