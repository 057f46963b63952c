"""Paths of models in records, pictures and pages."""

import json

import matplotlib as mpl
import numpy as np
import pytest

from counterpoise import Report
from counterpoise.adaptation.guard import choose_mixing
from counterpoise.performance.intervals import folds_of
from counterpoise.performance.metrics import as_metric
from counterpoise.plot import plot_path
from counterpoise.report import render
from counterpoise.svm import WeightedSVC, WeightedSVR

mpl.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    mpl.pyplot.close("all")


def rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n) > 0.5).astype(int)
    return X, y, rng.exponential(1.0, n), rng


@pytest.fixture(scope="module")
def path():
    X, y, w, _ = rows()
    model = WeightedSVC(C=3.0, gamma=0.5).fit(X[:80], y[:80])
    return model.path(w[:80], X_val=X[80:], y_val=y[80:])


def drawn(ax):
    """The intervals that are shaded, and the line."""
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in ax.patches]
    return spans, ax.lines[-1].get_xydata()


def test_the_line_is_the_curve_and_the_shades_its_optimal_intervals(path):
    spans, line = drawn(plot_path(path))
    np.testing.assert_allclose(spans, path.optimal_intervals)
    rng = np.random.default_rng(0)
    curve = path.validation_error
    for theta in rng.random(200):
        k = np.searchsorted(line[:, 0], theta)
        assert line[k, 1] == pytest.approx(curve.at(theta), abs=1e-12)


def test_a_record_is_drawn_like_its_path(path):
    record = Report.from_estimator(path)
    again = Report.from_json(record.to_json())
    assert again == record
    for mine, theirs in zip(
        drawn(plot_path(path)), drawn(plot_path(again)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs)


def test_the_record_tells_the_path_and_its_proof(path):
    section = Report.from_estimator(path)["path"]
    assert section["events"] == path.n_events
    assert section["breakpoints"] == path.thetas.size
    assert section["model"] == "WeightedSVC"
    assert section["residual"] <= 1e-9
    assert section["curve"]["best"] == path.validation_error.minimum
    assert Report.from_estimator(path)["reproduce"]["parameters"]["C"] == 3.0


def test_long_curves_are_thinned_in_a_record_and_keep_their_minimum():
    X, _, _, rng = rows(900)
    y = X[:, 1] + rng.standard_normal(900)
    model = WeightedSVR(C=1.0, gamma=2.0).fit(X[:300], y[:300])
    path = model.path(epsilon=(1.0, 0.01), X_val=X[300:], y_val=y[300:])
    curve = path.validation_error
    assert curve.thetas.size > 400
    told = Report.from_estimator(path)["path"]["curve"]
    assert len(told["thetas"]) <= 400
    uncovered_fraction = curve.thinned(400)
    assert uncovered_fraction.minimum == pytest.approx(curve.minimum, rel=1e-6)
    for theta in np.linspace(0.01, 1.0, 50):
        assert uncovered_fraction.at(theta) == pytest.approx(curve.at(theta), rel=0.02)


def test_a_path_without_validation_rows_has_no_picture(path):
    X, y, w, _ = rows(60)
    bare = WeightedSVC().fit(X, y).path(w)
    assert Report.from_estimator(bare)["path"]["curve"] is None
    with pytest.raises(ValueError, match="without X_val"):
        plot_path(bare)
    with pytest.raises(ValueError, match="no section 'path'"):
        plot_path(Report.from_dict({}))


def test_a_path_in_C_is_drawn_by_its_logarithm():
    X, y, _, _ = rows()
    model = WeightedSVC(gamma=0.5).fit(X[:80], y[:80])
    ax = plot_path(model.path(C=(0.01, 100.0), X_val=X[80:], y_val=y[80:]))
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "C"


def test_a_path_between_equal_ends_is_drawn_without_a_warning(recwarn):
    X, y, _, _ = rows()
    model = WeightedSVC(gamma=0.5).fit(X[:80], y[:80])
    plot_path(model.path(C=(2.0, 2.0), X_val=X[80:], y_val=y[80:]))
    assert not recwarn.list


def test_a_curve_alone_is_drawn_where_one_wants_it(path):
    _, ax = mpl.pyplot.subplots()
    assert plot_path(path.validation_curve("hinge"), ax=ax) is ax
    assert ax.get_ylabel() == "hinge loss"


def test_the_page_shows_the_path(path):
    page = render(Report.from_estimator(path))
    assert "How does the error change along the path?" in page.html
    assert "exact up to rounding" in page.html


def test_the_page_tells_shares_of_the_weights_as_shares():
    X, y, w, _ = rows(120)
    w = w / w.mean()
    model = WeightedSVC(C=1.0, kernel="linear")
    folds = folds_of(None, X, y, is_classifier=True, seed=0)
    metric = as_metric(None, model, y)
    guard = choose_mixing(model, metric, X, y, w, np.ones(120), folds).to_dict()
    chosen = next(e for e in guard["exponents"] if e > 0.0)
    record = Report.from_dict({"guard": {**guard, "chosen": chosen}})
    html = render(record).html
    assert "of the weights, beside equal ones" in html
    assert "weights to the power" not in html
    ax = plot_path(record)
    spans, _ = drawn(ax)
    np.testing.assert_allclose(spans, guard["curve"]["optimal_intervals"])
    json.loads(record.to_json())
