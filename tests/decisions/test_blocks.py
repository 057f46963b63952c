"""Tables in blocks: what is decided on, how estimators are fitted, what is refused."""

from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from counterpoise import AutoWeights
from counterpoise.adaptation.out_of_core import _plan, way_of
from counterpoise.cli.out_of_core import _budget, is_large, working_on_blocks
from counterpoise.data import Blocks, memory_budget, sample
from counterpoise.data.blocks import sample_to_decide_on
from counterpoise.data.parallel import current_budget
from counterpoise.errors import InvalidInputError


def test_ten_thousand_rows_are_decided_on_however_they_are_cut():
    rows = np.arange(40_000.0)[:, None]
    one = sample_to_decide_on(Blocks.from_arrays(rows, rows=999), 5)
    assert len(one) == 10_000
    other = sample_to_decide_on(Blocks.from_arrays(rows, rows=30_000), 5)
    np.testing.assert_array_equal(one, other)
    # By chance: as many of the first half as of the second, within four errors.
    assert abs((one < 20_000).mean() - 0.5) < 0.02
    assert len(sample_to_decide_on(rows[:50], 5)) == 50


def test_rows_of_more_weight_are_drawn_more_often_and_those_of_none_never():
    rows = np.arange(30_000.0)[:, None]

    def predict_weights(part, first):
        return np.repeat([0.0, 1.0, 3.0], 10_000)[first : first + len(part)]

    drawn = sample(
        Blocks.from_arrays(rows, rows=4_000), 1_000, 1, predict_weights=predict_weights
    )
    assert drawn.places.min() >= 10_000
    assert 0.70 < (drawn.places >= 20_000).mean() < 0.78


@pytest.mark.parametrize(
    ("estimator", "budget", "way"),
    [
        (Ridge(), None, "passes"),
        (LinearRegression(), None, "passes"),
        (make_pipeline(StandardScaler(), LogisticRegression()), None, "passes"),
        (LogisticRegression(C=np.inf), None, "passes"),
        (Ridge(), 10, "drawn rows"),
        (Ridge(alpha=[1.0, 2.0]), None, "rows in memory"),
        (LinearRegression(positive=True), None, "rows in memory"),
        (LogisticRegression(class_weight="balanced"), None, "rows in memory"),
        (LogisticRegression(l1_ratio=0.5, solver="saga"), None, "rows in memory"),
        (LogisticRegression(solver="liblinear"), None, "rows in memory"),
        (SGDClassifier(), None, "pieces"),
        (SGDClassifier(early_stopping=True), None, "rows in memory"),
        (SGDClassifier(class_weight="balanced"), None, "rows in memory"),
        (GaussianNB(), None, "pieces"),
        (BernoulliRBM(), None, "rows in memory"),
        (DecisionTreeRegressor(), None, "rows in memory"),
        (KNeighborsRegressor(), 7, "drawn rows"),
    ],
)
def test_how_an_estimator_is_fitted_to_blocks(estimator, budget, way):
    assert way_of(estimator, budget) == way


def test_rows_are_kept_where_three_copies_fit_and_refused_else():
    task = SimpleNamespace(source=Blocks.from_arrays(np.ones((50, 2))))
    with memory_budget(3 * 8 * 50 * 2):
        _plan(task, 50, "no budget")
        with pytest.raises(InvalidInputError, match="max_samples=50 draws"):
            _plan(task, 51, "no budget")


def test_a_model_in_memory_gets_at_most_two_hundred_thousand_rows():
    tree = DecisionTreeRegressor()
    assert _budget(tree, 10**9, 5) == 200_000
    assert _budget(tree, 1_000, 5) == 1_000
    assert _budget(Ridge(), 10**9, 5) is None
    with memory_budget(3 * 8 * 8 * 700):
        assert _budget(tree, 10**9, 5) == 700
    options = Namespace(max_memory=4_000_000)
    with working_on_blocks(options, SimpleNamespace()):
        assert current_budget() == 1_000_000


class RefusesToFit:
    """A weight estimator that is not to be fitted to all rows."""

    def _fit_blocks(self, both):
        raise AssertionError("it was fitted")


@pytest.mark.filterwarnings("ignore::counterpoise.PartialOverlapWarning")
def test_where_target_rows_were_left_out_the_fit_of_the_sample_stands():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(600, 2)), rng.normal(0.3, 0.9, (600, 2))
    whole = AutoWeights(random_state=0).fit(X, X_target=T)
    assert not whole._left_out_
    T[:120] += 9.0
    fitted = AutoWeights(random_state=0).fit(X, X_target=T)
    assert fitted._left_out_
    fitted.weight_estimator_ = whole.weight_estimator_ = RefusesToFit()
    assert fitted._fit_blocks(None) is None
    with pytest.raises(AssertionError, match="it was fitted"):
        whole._fit_blocks(None)


def test_folders_patterns_and_large_files_are_read_in_blocks(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": np.arange(50.0), "b": np.arange(50)}), path)
    text = tmp_path / "table.csv"
    text.write_text("a\n1\n" * 100)
    assert is_large(tmp_path)
    assert is_large(tmp_path / "*.parquet")
    assert not is_large(path)
    assert not is_large(path, 8 * 8 * 100)
    assert is_large(path, 8 * 8 * 100 - 1)
    assert not is_large(text, 1)
    assert not is_large(tmp_path / "none.parquet", 1)
