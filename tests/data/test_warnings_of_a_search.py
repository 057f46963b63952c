"""A search over candidates warns of one thing once."""

import warnings

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from counterpoise import Adapted, estimate_performance
from counterpoise.datasets import make_gaussian_shift

FEW = np.random.default_rng(0).normal(size=(24, 2))


def _heard(search):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        search.fit(FEW, FEW[:, 0], X_target=(FEW[:9] + 0.1,))
    words = [str(one.message) for one in heard]
    return [one for one in words if "too few to choose weights" in one]


def test_a_search_says_the_same_once_a_fit():
    model = Adapted(Ridge(), random_state=0)
    search = GridSearchCV(model, {"estimator__alpha": [0.1, 1.0]}, cv=2)
    assert len(_heard(search)) == 1
    assert len(_heard(search)) == 1
    assert len(_heard(model)) == 1
    assert len(_heard(model)) == 1


def test_a_performance_is_a_table_in_a_notebook():
    shift = make_gaussian_shift(2, n=120, m=90, random_state=0)
    model = Ridge().fit(shift.X, shift.y)
    found = estimate_performance(
        model, shift.X, shift.y, shift.X_target, cv=3, random_state=0
    )
    html = found._repr_html_()
    assert f"{found.doubly_robust.value:.4g}" in html
    assert html.count("<tr>") >= 5
    assert "<script" not in html
