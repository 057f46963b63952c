"""Model files: whatever was fitted can be kept, and earlier versions' are read."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import Adapted, DiscriminatorWeights, UniformWeights, load_model
from counterpoise.linalg.kernels import Kernel
from counterpoise.shift.domain_classifier import (
    boosted,
    logistic,
    product_logistic,
    squared_logistic,
    two_gaussians,
)
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters

MODELS = Path(__file__).parent / "models"


def test_a_model_that_was_saved_before_its_types_moved_is_read():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("skops")
    model = load_model(MODELS / "mixed_table_of_0_1_0.skops")
    few = pandas.DataFrame(
        {
            "size": [np.nan, -0.5, 1.0],
            "colour": ["red", "blue", "green"],
            "when": pandas.to_datetime(["2024-02-01", "2024-07-05", "2024-12-24"]),
        }
    )
    # What version 0.1.0 said of these rows.
    np.testing.assert_allclose(
        model.predict_weights(few),
        [0.786357595534049, 0.9647623962054082, 1.4267358899446698],
    )
    np.testing.assert_allclose(
        model.predict_interval(few, 0.8)[0], [-1.7738382234168468, 1.9796554641263162]
    )
    assert model.diagnose(few.loc[[0, 1, 2] * 10]).n_target == 30


def test_every_weighter_that_may_be_in_a_file_is_known_to_a_fresh_process(tmp_path):
    pytest.importorskip("skops")
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 2)), rng.normal(0.3, size=(30, 2))
    model = Adapted(Ridge(), weight_estimator=UniformWeights())
    model.fit(X, X[:, 0], X_target=X_target)
    names = []
    for entry in WEIGHT_ESTIMATORS:
        weight_estimator = with_parameters(entry.load(), random_state=0, force=True)
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
        estimator=classifier, random_state=0, force=True
    )
    model = Adapted(Ridge(), weight_estimator, random_state=0)
    model.fit(X, X[:, 0], X_target=(X_target,)).save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.predict_weights(X_target), model.predict_weights(X_target)
    )


def test_a_discrepancy_whose_kernel_had_another_name_is_read():
    pytest.importorskip("skops")
    weight_estimator = load_model(
        MODELS / "discrepancy_of_0_1_0.skops"
    ).weight_estimator_
    assert weight_estimator.hypotheses_ == Kernel("linear", coef0=1.0, constant=1.0)


def test_a_discriminator_of_an_earlier_version_weighs_as_it_did():
    pytest.importorskip("skops")
    weight_estimator = load_model(
        MODELS / "discriminator_of_0_1_0.skops"
    ).weight_estimator_
    # What version 0.1.0 said of these rows.
    np.testing.assert_allclose(
        weight_estimator.predict_weights([[0.0], [1.0]]),
        [0.7752786595785962, 1.236302105239693],
    )
