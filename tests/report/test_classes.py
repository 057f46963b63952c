"""The classes of a partial target: section, picture, chapter."""

import matplotlib

matplotlib.use("Agg")

import json
from types import SimpleNamespace

import numpy as np
import pytest
from deep.partial_samples import make_partial
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

from counterpoise import Adapted, InvalidInputError, PartialWeights, Report
from counterpoise.deep.training import TrainingRecord
from counterpoise.plot import plot_classes
from counterpoise.report import render


@pytest.fixture(scope="module")
def model():
    X, y, X_target, _ = make_partial()
    words = np.array(list("abcdef"))[y]
    # A smooth classifier puts some rows into classes that are not there.
    adapted = Adapted(
        LogisticRegression(C=1e-3), weight_estimator="partial", random_state=0
    )
    return adapted.fit(X, words, X_target=X_target)


@pytest.fixture(scope="module")
def record(model):
    return Report.from_estimator(model)


def test_the_record_has_the_classes(model, record):
    section = record.at("classes")
    assert section["names"] == list("abcdef")
    assert section["absent"] == [False] * 3 + [True] * 3
    assert section["n_absent"] == 3
    assert section["guard"]["kind"] == "partial"
    assert record.at("guard") is None
    np.testing.assert_allclose(section["prior"], model.class_prior_)
    json.dumps(section)


def test_the_page_has_their_chapter(record):
    page = render(record)
    assert "Which classes do the new data have?" in page.html
    assert "3" in page.text()


def test_a_picture_shows_shares_and_marks_what_is_absent(model, record):
    for one in (model, model.weight_estimator_, record):
        ax = plot_classes(one)
        assert [bar.get_width() for bar in ax.patches] == sorted(
            model.class_prior_, reverse=True
        )
        assert len(ax.lines) == 3
        plt.close(ax.figure)


def test_the_weights_over_a_training_are_drawn():
    history = [TrainingRecord(k, 1.0, np.array([1.0, 1.0 / k])) for k in (1, 2, 3)]
    network = SimpleNamespace(
        classes_=np.array([0, 1]),
        class_prior_=np.array([0.9, 0.1]),
        class_weight_=np.array([1.0, 0.1]),
        absent_classes_=np.array([1]),
        history_=history,
    )
    ax = plot_classes(network, kind="training")
    assert [line.get_ydata().tolist() for line in ax.lines] == [
        [1.0, 1.0, 1.0],
        [1.0, 0.5, 1 / 3],
    ]
    plt.close(ax.figure)


def test_rows_of_absent_classes_are_told_from_five_on():
    def overruled(rows):
        found = SimpleNamespace(
            classes_=np.array(["a", "b", "c"]),
            class_prior_=np.array([0.5, 0.5, 0.0]),
            class_weight_=np.array([1.0, 1.0, 0.0]),
            absent_classes_=np.array(["c"]),
            confusion_=np.array([[9, 0, 0], [0, 9, 0], [rows - 1, 1, 0]]),
        )
        from counterpoise.report.sections import classes_section

        return classes_section(found)["overruled"]

    assert overruled(4) == []
    assert overruled(5) == [{"from": "c", "rows": 5, "mostly_to": "a", "share": 0.8}]


def test_what_has_no_classes_is_refused(model):
    with pytest.raises(InvalidInputError, match="no classes to draw"):
        plot_classes(LogisticRegression())
    with pytest.raises(InvalidInputError, match="no training to draw"):
        plot_classes(model, kind="training")
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        plot_classes(model, kind="bars")


def test_a_weighter_alone_has_a_record_too():
    X, y, X_target, _ = make_partial()
    found = PartialWeights(random_state=0).fit(X, y, X_target=X_target)
    assert Report.from_estimator(found).at("classes.n_absent") == 3
