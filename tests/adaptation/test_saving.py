"""Model files: whatever was fitted can be kept, and earlier versions' are read."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import Adapted, DiscriminatorWeights, UniformWeights, load_model
from counterpoise.shift.domain_classifier import (
    boosted,
    logistic,
    product_logistic,
    squared_logistic,
    two_gaussians,
)
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters


def test_every_weighter_that_may_be_in_a_file_is_known_to_a_fresh_process(tmp_path):
    pytest.importorskip("skops")
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 2)), rng.normal(0.3, size=(30, 2))
    model = Adapted(Ridge(), weight_estimator=UniformWeights())
    model.fit(X, X[:, 0], X_target=X_target)
    names = []
    for entry in WEIGHT_ESTIMATORS:
        weight_estimator = with_parameters(
            entry.load(), random_state=0, allow_no_overlap=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.weight_estimator_ = weight_estimator.fit(
                X, X[:, 0], X_target=X_target
            )
        model.save(tmp_path / f"{entry.name}.skops")
        names.append(entry.name)
    told = (
        "import sys; from counterpoise import load_model; "
        "print(*(type(load_model(path).weight_estimator_).__name__ for path in "
        "sys.argv[1:]))"
    )
    paths = [str(tmp_path / f"{name}.skops") for name in names]
    done = subprocess.run(
        [sys.executable, "-c", told, *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == names, done.stderr


@pytest.mark.parametrize(
    "classifier",
    [
        logistic(False, 2),
        squared_logistic(2),
        product_logistic(2, 1.0),
        two_gaussians(by_ranks=False),
        two_gaussians(by_ranks=True),
        boosted(),
    ],
    ids=["plain", "squares", "products", "Gaussians", "ranks", "trees"],
)
def test_whatever_classifier_the_weights_come_from_the_model_can_be_kept(
    classifier, tmp_path
):
    pytest.importorskip("skops")
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(80, 2)), rng.normal(0.3, size=(60, 2))
    weight_estimator = DiscriminatorWeights(
        estimator=classifier, random_state=0, allow_no_overlap=True
    )
    model = Adapted(Ridge(), weight_estimator, random_state=0)
    model.fit(X, X[:, 0], X_target=(X_target,)).save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.predict_weights(X_target), model.predict_weights(X_target)
    )
