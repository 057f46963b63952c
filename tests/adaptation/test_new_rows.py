"""What is said of rows that come after the fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterpoise import Adapted
from counterpoise.data import TableEncoder


def drawn(n, seed, levels=("Yes", "No")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"x": rng.normal(size=n), "member": rng.choice(np.array(levels), n)}
    )


@pytest.fixture(scope="module")
def model():
    codes = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["member"]), remainder="passthrough"
    )
    X = drawn(200, 0)
    estimator = make_pipeline(codes, Ridge())
    return Adapted(estimator, random_state=0).fit(X, X["x"], X_target=drawn(150, 1))


def test_rows_with_a_category_that_neither_sample_had_are_not_covered(model):
    rows = drawn(40, 2)
    assert not model.is_extrapolation(rows).any()
    rows.loc[:9, "member"] = "yes"
    assert model.is_extrapolation(rows).tolist() == [True] * 10 + [False] * 30


def test_where_categories_are_rare_new_ones_come_by_chance():
    many = [f"street {k}" for k in range(300)]
    encoder = TableEncoder().fit(drawn(200, 0, many), drawn(200, 1, many))
    assert not encoder.has_new_category(drawn(50, 2, many)).any()
