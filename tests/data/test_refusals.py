"""What scikit-learn checks of a user's arguments is refused by our own types."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise
from counterpoise import Adapted, UniformWeights
from counterpoise.cli.terminal import BAD_DATA, code_of
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.svm import WeightedSVC
from counterpoise.weights.registry import WEIGHT_ESTIMATORS

X = np.random.default_rng(0).normal(size=(40, 2))
Y = X[:, 0]
# Whose fit draws nothing.
UNSEEDED = {"UniformWeights", "DiscrepancyWeights", "KMM", "LogLinearKLIEP"}
OF_TWO_SAMPLES = ("diagnose", "domain_auc", "mmd", "overlap")
OF_ONE_TABLE = ("DirectTwinGP", "TwinGP", "WeightedGPR", "WeightedKNN")
FITTED = {
    "Adapted": lambda: Adapted(Ridge(), missing_target="ignore").fit(X, Y),
    "UniformWeights": lambda: UniformWeights().fit(X, X_target=X),
    "WeightedSVC": lambda: WeightedSVC().fit(X, Y > 0),
}
ASKED = {
    "Adapted": "predict_weights",
    "UniformWeights": "predict_weights",
    "WeightedSVC": "predict",
}


def refused(act, kind=InvalidInputError):
    with pytest.raises(kind) as found:
        act()
    assert code_of(found.value) == BAD_DATA
    return str(found.value)


def seeded_calls(seed):
    for one in WEIGHT_ESTIMATORS:
        if one.name not in UNSEEDED:
            yield lambda one=one: one.load()(random_state=seed).fit(X, Y, X_target=X)
    for name in OF_ONE_TABLE:
        made = getattr(counterpoise.twin_gp, name)(random_state=seed, search="holdout")
        yield lambda made=made: made.fit(X, Y)
    for name in OF_TWO_SAMPLES:
        more = {"n_permutations": 3} if name == "mmd" else {}
        call = getattr(counterpoise, name)
        yield lambda call=call, more=more: call(X, X, random_state=seed, **more)
    yield lambda: counterpoise.shift.discrepancy_spectrum(
        X, X, random_state=seed, n_permutations=3
    )
    yield lambda: Adapted(Ridge(), random_state=seed).fit(X, Y, X_target=X)
    model = Ridge().fit(X, Y)
    yield lambda: counterpoise.select_rows_to_label(model, X, X, 1, random_state=seed)


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        ("x", "'x' cannot be used to seed a numpy.random.RandomState instance"),
        (-1, "Seed must be between 0 and 2**32 - 1"),
    ],
)
def test_what_is_no_seed_is_refused_wherever_it_is_given(seed, words):
    for act in seeded_calls(seed):
        assert refused(act) == words


@pytest.mark.parametrize("name", FITTED)
def test_columns_that_an_estimator_does_not_know_are_refused(name):
    fitted = FITTED[name]()
    told = refused(lambda: getattr(fitted, ASKED[name])(X[:, :1]))
    assert told == f"X has 1 features, but {name} is expecting 2 features as input."


def test_other_names_of_columns_are_refused():
    known, other = (pd.DataFrame(X, columns=list(names)) for names in ("ab", "ac"))
    fitted = UniformWeights().fit(known, X_target=known)
    told = refused(lambda: fitted.predict_weights(other))
    assert told.startswith("The feature names should match those that were passed")


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ((X, Y[:-1]), InvalidInputError, "inconsistent numbers of samples: [40, 39]"),
        ((X, 3), InvalidTypeError, "Input should have at least 1 dimension"),
        ((3, Y), InvalidTypeError, "Input should have at least 1 dimension"),
        ((None, Y), InvalidTypeError, "object of type 'NoneType' has no len()"),
    ],
)
def test_what_has_not_a_row_for_every_label_is_refused(given, kind, words):
    assert words in refused(lambda: Adapted(Ridge()).fit(*given), kind)


@pytest.mark.parametrize(
    ("labels", "words"),
    [(np.ones((40, 2)), "y should be a 1d array"), (Y, "Unknown label type")],
)
def test_what_cannot_be_classes_is_refused(labels, words):
    assert words in refused(lambda: WeightedSVC().fit(X, labels))


def test_several_columns_are_no_labels_of_a_classifier():
    model = Adapted(LogisticRegression())
    told = refused(lambda: model.fit(X, np.ones((40, 2), int), X_target=X))
    assert "y should be a 1d array" in told
