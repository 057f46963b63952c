"""The classifier as scikit-learn, files and careless callers meet it."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from deep.partial_samples import make_partial
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise import InvalidInputError, InvalidTypeError, NoTargetWarning
from counterpoise.deep import PartialDomainClassifier

pytestmark = pytest.mark.filterwarnings(
    "ignore::counterpoise.WeakClassifierWarning",
)
FAST = {"max_iter": 60, "hidden": 16, "learning_rate": 0.1, "random_state": 0}


def model(method="sspda", **parameters):
    return PartialDomainClassifier(method, **{**FAST, **parameters})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::counterpoise.NoTargetWarning")
@parametrize_with_checks(
    [PartialDomainClassifier(max_iter=60, hidden=16, learning_rate=0.1)]
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_absent_classes_are_found_and_left_out():
    X, y, X_target, y_target = make_partial()
    names = np.array([f"class {k}" for k in range(6)])
    found = PartialDomainClassifier(
        hidden=32, max_iter=200, learning_rate=0.1, random_state=0
    )
    found.fit(X, names[y], X_target=X_target)
    assert found.absent_classes_.tolist() == names[3:].tolist()
    assert found.score(X_target, names[y_target]) > 0.95
    assert found.class_prior_.sum() == pytest.approx(1.0)
    present = found.predict_proba(X_target, present_only=True)
    assert (present[:, 3:] == 0.0).all()
    np.testing.assert_allclose(present.sum(axis=1), 1.0)
    assert found.transform(X_target).shape == (len(X_target), 32)
    assert found.solution_.certificate.kind == "none"
    assert found.solution_.converged


def test_global_states_are_left_as_they_were_found():
    X, y, X_target, _ = make_partial()
    torch.set_num_threads(2)
    torch.set_default_dtype(torch.float64)
    try:
        before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
        found = model(random_state=None).fit(X, y, X_target=X_target)
        found.predict(X_target)
        assert torch.equal(before[0], torch.get_rng_state())
        assert before[1] == str(np.random.get_state())  # noqa: NPY002
        assert torch.get_num_threads() == 2
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float32)


def test_without_a_target_the_source_is_learned_alone():
    X, y, _, _ = make_partial()
    with pytest.warns(NoTargetWarning, match="no X_target was given"):
        found = model().fit(X, y)
    assert found.score(X, y) > 0.9
    np.testing.assert_allclose(found.class_prior_, 1 / 6)
    assert found.absent_classes_.size == 0
    assert found.history_[-1].entropy is None
    with pytest.warns(NoTargetWarning):
        alone = model("source").fit(X, y)
    assert np.array_equal(found.predict_proba(X), alone.predict_proba(X))


# Before version 2.6 torch warns of its own call when a tensor is unpickled.
@pytest.mark.filterwarnings("ignore:You are using `torch.load`:FutureWarning")
def test_it_can_be_cloned_and_pickled():
    X, y, X_target, _ = make_partial()
    found = model().fit(X, y, X_target=X_target)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(found.predict_proba(X), again.predict_proba(X))
    anew = clone(found).fit(X, y, X_target=X_target)
    assert np.array_equal(found.predict_proba(X), anew.predict_proba(X))


@pytest.mark.parametrize(
    "kind", [np.float16, np.float32, np.float64, "pandas", "polars"]
)
def test_arrays_of_any_float_type_and_frames_are_taken(kind):
    X, y, X_target, _ = make_partial()
    names = [f"c{k}" for k in range(X.shape[1])]
    if kind == "pandas":
        X, X_target = (pd.DataFrame(part, columns=names) for part in (X, X_target))
    elif kind == "polars":
        X, X_target = (pl.DataFrame(part, schema=names) for part in (X, X_target))
    else:
        X, X_target = X.astype(kind), X_target.astype(kind)
    found = model().fit(X, y, X_target=X_target)
    assert np.isfinite(found.predict_proba(X_target)).all()
    assert hasattr(found, "feature_names_in_") == isinstance(kind, str)


def test_it_works_in_a_pipeline_and_a_grid_search():
    X, y, X_target, y_target = make_partial()
    pipe = make_pipeline(StandardScaler(), model())
    pipe.fit(
        X,
        y,
        partialdomainclassifier__X_target=StandardScaler().fit(X).transform(X_target),
    )
    assert pipe.predict(X_target).shape == y_target.shape
    search = GridSearchCV(model(), {"entropy": [0.0, 0.1]}, cv=2)
    search.fit(X, y, X_target=(X_target,))
    assert search.best_estimator_.class_prior_.shape == (6,)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(
            model().set_fit_request(X_target=True), {"entropy": [0.1]}, cv=2
        )
        routed.fit(X, y, X_target=(X_target,))
        assert routed.best_score_ > 0.5


def test_an_interrupted_training_ends_as_it_would_have(tmp_path):
    X, y, X_target, _ = make_partial()
    whole = model().fit(X, y, X_target=X_target)
    path = tmp_path / "training.pt"
    first = model(checkpoint=path, callback=lambda record: record.iteration >= 35)
    first.fit(X, y, X_target=X_target)
    assert first.n_iter_ == 35
    second = model(checkpoint=path).fit(X, y, X_target=X_target)
    assert second.n_iter_ == 60
    assert np.array_equal(whole.predict_proba(X), second.predict_proba(X))
    for one, other in zip(whole.history_, second.history_, strict=True):
        assert one.loss == other.loss
        assert np.array_equal(one.class_weight, other.class_weight)
    # A training that is over is not begun again.
    third = model(checkpoint=path, callback=pytest.fail).fit(X, y, X_target=X_target)
    assert np.array_equal(whole.predict_proba(X), third.predict_proba(X))


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    X, y, X_target, _ = make_partial()
    path = tmp_path / "training.pt"
    model(checkpoint=path).fit(X, y, X_target=X_target)
    with pytest.raises(
        InvalidInputError, match="of another training: parameters differ"
    ):
        model(checkpoint=path, entropy=0.2).fit(X, y, X_target=X_target)
    with pytest.raises(InvalidInputError, match="rows differ"):
        model(checkpoint=path).fit(X + 1.0, y, X_target=X_target)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidInputError, match="is no checkpoint"):
        model(checkpoint=path).fit(X, y, X_target=X_target)


def test_without_a_seed_a_checkpoint_keeps_its_own(tmp_path):
    X, y, X_target, _ = make_partial()
    path = tmp_path / "training.pt"
    first = model(checkpoint=path, random_state=None).fit(X, y, X_target=X_target)
    again = model(checkpoint=path, random_state=None).fit(X, y, X_target=X_target)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("labels", ["numbers", "strings"])
def test_a_fitted_network_comes_back_from_its_file(tmp_path, labels):
    X, y, X_target, _ = make_partial()
    y = y if labels == "numbers" else np.array([f"class {k}" for k in y])
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    target = pd.DataFrame(X_target, columns=frame.columns)
    found = model().fit(frame, y, X_target=target)
    path = tmp_path / "network.pt"
    found.save_checkpoint(path)
    again = PartialDomainClassifier().load_checkpoint(path)
    assert np.array_equal(found.predict_proba(frame), again.predict_proba(frame))
    assert again.classes_.tolist() == found.classes_.tolist()
    assert again.feature_names_in_.tolist() == list(frame.columns)
    for name in ("class_prior_", "class_weight_", "absent_classes_"):
        assert np.array_equal(getattr(found, name), getattr(again, name)), name
    assert again.n_iter_ == found.n_iter_
    assert len(again.history_) == len(found.history_)
    # Read as tensors, numbers and words alone.
    assert torch.load(path, weights_only=True)["memory"]["done"] == 60


def test_a_checkpoint_of_a_training_is_a_network_too(tmp_path):
    X, y, X_target, _ = make_partial()
    path = tmp_path / "training.pt"
    found = model(checkpoint=path).fit(X, y, X_target=X_target)
    again = PartialDomainClassifier().load_checkpoint(path)
    assert np.array_equal(found.predict_proba(X), again.predict_proba(X))
    np.testing.assert_allclose(found.class_prior_, again.class_prior_, rtol=1e-5)


class Small(torch.nn.Module):
    """A trained extractor of images, with layers that behave unlike in training."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 2),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(4 * 2 * 3, 8),
        )

    def forward(self, rows):
        return self.layers(rows)


def test_an_extractor_is_tuned_at_a_tenth_of_the_rate_and_left_as_it_was(tmp_path):
    X, y, X_target, _ = make_partial()
    X, X_target = X.reshape(-1, 1, 3, 4), X_target.reshape(-1, 1, 3, 4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        extractor = Small()
    before = [part.clone() for part in extractor.parameters()]
    found = model(extractor=extractor).fit(X, y, X_target=X_target)
    assert all(map(torch.equal, before, extractor.parameters()))
    assert found.transform(X_target).shape == (len(X_target), 8)
    shares = [group["share"] for group in found.network_.groups()]
    assert shares == [0.1, 1.0]
    one_by_one = np.vstack([found.predict_proba(row[None]) for row in X_target[:5]])
    np.testing.assert_allclose(one_by_one, found.predict_proba(X_target[:5]), rtol=1e-5)
    path = tmp_path / "network.pt"
    found.save_checkpoint(path)
    again = model(extractor=extractor).load_checkpoint(path)
    assert np.array_equal(found.predict_proba(X), again.predict_proba(X))
    with pytest.raises(InvalidInputError, match="another network"):
        model().load_checkpoint(path)
    with pytest.raises(InvalidInputError, match="rows have the shape"):
        found.predict(X.reshape(-1, 1, 4, 3))
    with pytest.raises(InvalidInputError, match="extractor does not take rows"):
        model(extractor=extractor).fit(
            X[:, :, :2, :2], y, X_target=X_target[:, :, :2, :2]
        )


def test_bad_input_is_named():
    X, y, X_target, _ = make_partial()
    with pytest.raises(InvalidInputError, match="X_target has 11"):
        model().fit(X, y, X_target=X_target[:, :11])
    with pytest.raises(InvalidInputError, match="y has 1 class"):
        model().fit(X, np.ones(len(X)), X_target=X_target)
    hole = X.copy()
    hole[3, 2] = np.nan
    with pytest.raises(InvalidInputError, match="row 3"):
        model().fit(hole, y, X_target=X_target)
    label = y.astype(float)
    label[5] = np.nan
    with pytest.raises(InvalidInputError, match="row 5"):
        model().fit(X, label, X_target=X_target)
    for name, value, told in (
        ("method", "sspa", "did you mean 'sspda'"),
        ("schedule", "early", "schedule must be one of"),
        ("class_weight", [1.0, 2.0], "class_weight has 2 rows, classes_ has 6"),
        ("class_weight", "fixed", "class_weight must be one of"),
        ("class_weight", {7: 1.0}, r"class_weight names \[7\], not in y"),
        ("max_iter", 0, "max_iter must be at least 1"),
        ("warm_up", 1.0, r"warm_up must be in \[0.0, 1.0\)"),
        ("monitor", "accuracy", "monitor must be None or 'entropy'"),
        ("patience", 3, "patience needs monitor"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            model(**{name: value}).fit(X, y, X_target=X_target)
    for name in ("extractor", "callback", "class_balanced"):
        with pytest.raises(InvalidTypeError, match=name):
            model(**{name: 3}).fit(X, y, X_target=X_target)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        model().load_checkpoint("nowhere.pt")


def test_nothing_else_loads_torch_and_its_absence_names_the_extra():
    code = (
        "import sys\n"
        "import counterpoise, counterpoise.adaptation, counterpoise.report\n"
        "from counterpoise import *\n"
        "assert 'torch' not in sys.modules\n"
        "sys.modules['torch'] = None\n"
        "try:\n"
        "    counterpoise.deep\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 'pip install "counterpoise[deep]"' in out.stdout
