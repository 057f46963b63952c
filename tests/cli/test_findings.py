"""What is said of the weights is what is proved of them."""

import io

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from counterpoise import Adapted, AutoWeights, DiscriminatorWeights
from counterpoise.cli.record import of_record
from counterpoise.cli.terminal import Block, show
from counterpoise.datasets import make_sinc_shift
from counterpoise.report import Report


def chosen(fitted):
    blocks = of_record(Report.from_estimator(fitted))
    return "\n".join(next(one for one in blocks if one.title == "Chosen").lines)


@pytest.fixture(scope="module")
def shift():
    return make_sinc_shift(random_state=0)


def test_nothing_is_said_to_be_proved_of_a_classifier(shift):
    fitted = DiscriminatorWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    said = chosen(fitted)
    assert "nothing is proved for this method; held-out log-loss" in said
    assert f"{fitted.log_loss_:.4g}" in said
    assert "proof holds" not in said


def test_too_few_rows_to_choose_by_are_told(shift):
    with pytest.warns(UserWarning, match="too few"):
        fitted = AutoWeights(random_state=0).fit(
            shift.X[:12], X_target=shift.X_target[:12]
        )
    said = chosen(fitted)
    assert "too few rows to choose by cross-validation" in said
    assert "standard error" not in said
    assert "all weights are one" in said


@pytest.mark.parametrize(
    "weight_estimator", ["auto", DiscriminatorWeights(random_state=0)]
)
def test_a_summary_has_no_seconds_and_no_proof_where_there_is_none(
    shift, weight_estimator
):
    model = Adapted(LinearRegression(), weight_estimator, random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    solution = model.weight_estimator_.solution_
    told = model.summary()
    object.__setattr__(solution, "seconds", 1e6)
    assert model.summary() == told
    if solution.certificate.kind == "none":
        assert "nothing is proved" in told
        assert "converged" not in told
    else:
        assert f"gap {solution.certificate.gap:.2e} at tol {solution.tol:g}" in told
    assert np.isfinite(model.exponent_)


def test_small_chances_are_not_written_as_powers_of_ten():
    feature = {
        "name": "age", "effect": 1.0, "smd": 1.0, "ks": 0.5, "total_variation": None,
        "target_missing": 0.0, "source_missing": 0.0, "new_share": 0.0,
        "adjusted_p_value": 1e-72,
    }  # fmt: skip
    blocks = of_record(Report.from_dict({"shift": {"features": [feature]}}))
    (row,) = next(one for one in blocks if one.title.startswith("Moved")).rows
    assert row[-1].replace("\u00a0", " ") == "< 0.0001"


def test_a_number_and_its_sign_stay_on_one_line():
    said = "How sure: " + "between 93.6\u00a0% and 95.7\u00a0% " * 12
    stream = io.StringIO()
    show([Block("", (said,))], stream)
    for line in stream.getvalue().splitlines():
        assert not line.lstrip().startswith("%")
        assert "\u00a0" not in line
