"""Exact validation curves equal brute force."""

import itertools
import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from counterpoise.svm import KernelQuantileRegressor, WeightedSVC, WeightedSVR
from counterpoise.svm.path import Trace, average_curve, flips

N_THETAS = 1000


def decisions(path, X, thetas):
    """The pairwise functions of all models, computed one by one."""
    return [path.at(float(theta))._functions(X) for theta in thetas]


@pytest.mark.parametrize("C", [0.02, 0.1, 3.0, 300.0])
@pytest.mark.parametrize("centers", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_of_wrong_labels_equals_brute_force(C, centers, weighted):
    X, y = make_blobs(130, 3, centers=centers, cluster_std=4.0, random_state=4)
    rng = np.random.default_rng(0)
    w = rng.exponential(1.0, 60)
    v = rng.random(70) if weighted else np.ones(70)
    model = WeightedSVC(C=C, gamma=0.05).fit(X[:60], y[:60])
    path = model.path(sample_weight=w, X_val=X[60:], y_val=y[60:], sample_weight_val=v)
    if C < 1.0 and centers == 2:
        assert path.jumps.size > 0
    curve = path.validation_error
    thetas = rng.random(N_THETAS // 4)
    for theta, f in zip(thetas, decisions(path, X[60:], thetas), strict=True):
        if np.abs(f).min() < 1e-9:
            continue
        wrong = path.at(theta)._answers(f) != y[60:]
        assert curve.at(theta) == pytest.approx(v @ wrong / v.sum(), abs=1e-12)
        assert curve.minimum <= curve.at(theta) + 1e-12
    low, high = path.best_interval
    assert 0.0 <= low < high <= 1.0
    assert curve.at(0.5 * (low + high)) == pytest.approx(curve.minimum)
    assert any(one == path.best_interval for one in path.optimal_intervals)


@pytest.mark.parametrize("seed", range(6))
def test_curves_hold_where_rows_depend_on_one_another(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 2)).astype(float)
    y = (X.sum(axis=1) + rng.integers(-1, 2, 60) > 3).astype(int)
    X_val, y_val = rng.uniform(0, 4, (40, 2)), rng.integers(0, 2, 40)
    model = WeightedSVC(C=10.0, kernel="linear").fit(X, y)
    path = model.path(sample_weight=rng.exponential(1.0, 60), X_val=X_val, y_val=y_val)
    curve = path.validation_curve("hinge")
    sign = 2.0 * y_val - 1.0
    for theta in np.append(rng.random(50), path.thetas):
        f = path.at(float(theta)).decision_function(X_val)
        loss = np.maximum(0.0, 1.0 - sign * f).mean()
        assert curve.at(float(theta)) == pytest.approx(loss, abs=1e-8)


@pytest.mark.parametrize("C", [0.05, 10.0])
def test_the_hinge_curve_equals_brute_force(C):
    X, y = make_blobs(130, 3, centers=2, cluster_std=4.0, random_state=2)
    rng = np.random.default_rng(0)
    model = WeightedSVC(C=C, gamma=0.05).fit(X[:60], y[:60])
    path = model.path(
        sample_weight=rng.exponential(1.0, 60), X_val=X[60:], y_val=y[60:]
    )
    curve = path.validation_curve("hinge")
    sign = 2.0 * y[60:] - 1.0
    for theta in rng.random(100):
        f = path.at(theta).decision_function(X[60:])
        loss = np.maximum(0.0, 1.0 - sign * f).mean()
        assert curve.at(theta) == pytest.approx(loss, abs=1e-10)


@pytest.mark.parametrize("moved", ["sample_weight", "C", "epsilon"])
@pytest.mark.parametrize("loss", ["absolute", "epsilon"])
def test_curves_of_regressors_equal_brute_force(moved, loss):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(100)
    ends = {
        "sample_weight": rng.exponential(1.0, 60),
        "C": (0.05, 30.0),
        "epsilon": (0.8, 0.02),
    }[moved]
    model = WeightedSVR(gamma=1.0).fit(X[:60], y[:60])
    path = model.path(**{moved: ends}, X_val=X[60:], y_val=y[60:])
    curve = path.validation_curve(loss)
    low, high = (0.0, 1.0) if moved == "sample_weight" else sorted(ends)
    tube = 0.1 if loss == "epsilon" else 0.0
    for theta in rng.uniform(low, high, 60):
        off = np.abs(y[60:] - path.at(theta).predict(X[60:]))
        expected = np.maximum(off - tube, 0.0).mean()
        assert curve.at(theta) == pytest.approx(expected, abs=1e-10)
        assert curve.minimum <= expected + 1e-12


def test_the_pinball_curve_equals_brute_force():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((90, 2))
    y = X[:, 0] + rng.standard_normal(90)
    model = KernelQuantileRegressor(quantile=0.2, gamma=0.5).fit(X[:50], y[:50])
    path = model.path(C=(0.1, 10.0), X_val=X[50:], y_val=y[50:])
    curve = path.validation_curve("pinball")
    for C in rng.uniform(0.1, 10.0, 40):
        r = y[50:] - path.at(C).predict(X[50:])
        expected = np.maximum(0.2 * r, -0.8 * r).mean()
        assert curve.at(C) == pytest.approx(expected, abs=1e-10)


def test_a_path_as_a_record_is_plain_json():
    X, y = make_blobs(60, 3, centers=2, cluster_std=4.0, random_state=1)
    model = WeightedSVC(gamma=0.05).fit(X, y)
    path = model.path(C=(0.1, 10.0), X_val=X, y_val=y)
    record = json.loads(json.dumps(path.to_dict(), allow_nan=False))
    assert record["parameter"] == "C"
    assert record["n_events"] == path.n_events
    assert record["validation"]["minimum"] == path.validation_error.minimum


def test_a_loaded_path_has_the_same_curve():
    X, y = make_blobs(60, 3, centers=3, cluster_std=4.0, random_state=1)
    w = np.random.default_rng(0).random(60)
    path = WeightedSVC(gamma=0.05).fit(X, y).path(sample_weight=w, X_val=X, y_val=y)
    loaded = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(
        loaded.validation_error.values, path.validation_error.values
    )
    assert loaded.certify(0.4).residual <= 1e-9


def test_events_tell_where_every_row_goes():
    X, y = make_blobs(60, 3, centers=3, cluster_std=4.0, random_state=1)
    w = np.random.default_rng(0).exponential(1.0, 60)
    model = WeightedSVC(gamma=0.05, decision_function_shape="ovo").fit(X, y)
    path = model.path(sample_weight=w)
    events = path.events()
    assert len(events) == path.n_events > 10
    end = path.at(1.0)
    for k, machine in enumerate(model.machines_):
        last = {e["row"]: e["to"] for e in events if e["machine"] == k}
        a = end.solutions_[k][0]
        for row, place in last.items():
            i = int(np.flatnonzero(machine.rows == row)[0])
            inside = 1e-12 < a[i] < w[row] - 1e-12
            assert (place == "margin") == inside
            assert place != "below" or a[i] == 0.0


def test_without_validation_rows_there_is_no_curve():
    X, y = make_blobs(40, 3, centers=2, random_state=1)
    path = WeightedSVC().fit(X, y).path(C=(0.1, 1.0))
    with pytest.raises(ValueError, match="without X_val"):
        _ = path.validation_error


@pytest.mark.parametrize("loss", ["error", "hinge"])
def test_the_mean_of_folds_is_the_mean_at_every_theta(loss):
    X, y = make_blobs(90, 3, centers=2, cluster_std=4.0, random_state=4)
    w = np.random.default_rng(0).exponential(1.0, 90)
    fold = np.arange(90) % 3
    curves = []
    for k in range(3):
        inside, outside = fold != k, fold == k
        model = WeightedSVC(C=0.5, gamma=0.05).fit(X[inside], y[inside])
        path = model.path(sample_weight=w[inside], X_val=X[outside], y_val=y[outside])
        curves.append(path.validation_curve(loss))
    mean = average_curve(curves, [1.0, 2.0, 3.0])
    for theta in np.random.default_rng(1).random(50):
        expected = np.average([one.at(theta) for one in curves], weights=[1, 2, 3])
        assert mean.at(theta) == pytest.approx(expected, abs=1e-12)
        assert mean.minimum <= expected + 1e-12
    with pytest.raises(ValueError, match="one loss"):
        average_curve(
            [curves[0], path.validation_curve("error" if loss == "hinge" else "hinge")]
        )


@pytest.mark.parametrize("centers", [2, 3])
def test_predictions_at_many_thetas_are_those_of_the_models(centers):
    X, y = make_blobs(130, 3, centers=centers, cluster_std=4.0, random_state=4)
    rng = np.random.default_rng(1)
    w = rng.exponential(1.0, 60)
    path = WeightedSVC(C=0.1, gamma=0.05).fit(X[:60], y[:60]).path(w)
    thetas = np.append(rng.random(60), [0.0, 1.0])
    found = path.predict(X[60:], thetas)
    for theta, row in zip(thetas, found, strict=True):
        model = path.at(theta)
        sure = np.abs(model._functions(X[60:])).min(axis=1) > 1e-9
        assert (row[sure] == model.predict(X[60:])[sure]).all()
    # Between two switches in a row nothing changes.
    switches = np.concatenate([[0.0], path.switches(X[60:]), [1.0]])
    assert switches.size > 3
    for low, high in itertools.pairwise(switches):
        if high - low < 1e-12:
            continue
        ends = path.predict(X[60:], low + (high - low) * np.array([0.1, 0.5, 0.9]))
        assert (ends[0] == ends[1]).all()
        assert (ends[0] == ends[2]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        path.predict(X[60:], [0.5, 1.5])


def test_responses_at_many_thetas_are_those_of_the_models():
    X, y = make_blobs(90, 3, centers=3, cluster_std=4.0, random_state=4)
    path = WeightedSVR(C=2.0, gamma=0.05).fit(X[:60], y[:60]).path(C=(2.0, 0.1))
    thetas = np.array([2.0, 1.3, 0.5, 0.1])
    found = path.predict(X[60:], thetas)
    for theta, row in zip(thetas, found, strict=True):
        np.testing.assert_allclose(row, path.at(theta).predict(X[60:]), atol=1e-9)


def test_a_point_that_jumps_over_and_comes_back_within_a_piece_is_seen():
    # Two pieces; at 0.5 the first point jumps from -1 to 1 and falls to -1 again, the
    # second goes on without a jump, and the third changes sides exactly there.
    trace = Trace(
        np.array([0.0, 0.5]),
        1.0,
        np.array([[-1.0, 1.0, -0.5], [1.0, 0.5, 0.0]]),
        np.array([[0.0, -1.0, 1.0], [-4.0, -2.0, 1.0]]),
        np.array([-1.0, -0.5, 0.5]),
    )
    found = flips(trace)
    assert found.sides.tolist() == [-1.0, 1.0, -1.0]
    assert list(zip(found.points.tolist(), found.thetas.tolist(), strict=True)) == [
        (0, 0.5),
        (2, 0.5),
        (0, 0.75),
        (1, 0.75),
    ]
