"""Which predicted rows are said to be thin."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from counterpoise import Adapted, DiscriminatorWeights, load_model
from counterpoise.cli.outputs import coverage_columns
from counterpoise.errors import PartialOverlapWarning


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, far = rng.normal(size=(1000, 2)), rng.normal([2.0, 0.0], 1.0, (800, 2))
    weight_estimator = DiscriminatorWeights(random_state=0)
    model = Adapted(Ridge(), weight_estimator=weight_estimator, random_state=0)
    path = tmp_path_factory.mktemp("saved") / "model.skops"
    with pytest.warns(PartialOverlapWarning, match="hardly any source rows"):
        model.fit(X, X[:, 0], X_target=far)
    model.save(path)
    return X, far, load_model(path)


def test_a_saved_model_tells_rows_that_few_source_rows_are_like(shifted):
    X, far, model = shifted
    assert model.is_uncovered(X).mean() == pytest.approx(0.005, abs=0.003)
    assert model.is_uncovered(far[far[:, 0] > 3.0]).mean() > 0.9
    # Of a thousand source rows 995 weigh no more.
    limit = np.sort(model.weight_estimator_.weights_)[994]
    assert (model.is_uncovered(far) == (model.predict_weights(far) > limit)).all()
    # Their ratios are known all the same.
    assert model.is_extrapolation(far).mean() < 0.05
    no_target = Adapted(Ridge(), missing_target="ignore").fit(X, X[:, 0])
    assert not no_target.is_uncovered(far).any()


def test_thin_rows_are_said_where_they_are_more_than_one_in_twenty(shifted, tmp_path):
    X, far, model = shifted
    said = []
    for rows, told in ((X, False), (far, True)):
        said.clear()
        found = coverage_columns(model, rows, tmp_path, asked=True, notice=said.append)
        assert list(found) == ["weight", "uncovered", "extrapolation"]
        assert any("thinly covered" in one for one in said) is told
    share = 100 * found["uncovered"].mean()
    assert any(
        f"{int(found['uncovered'].sum())} of 800 rows ({share:.1f}" in s for s in said
    )
