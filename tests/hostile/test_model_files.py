"""Model files that somebody made by hand: a sentence, never a crash or a flood."""

import io
import json
import warnings
from itertools import count
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from counterpoise import (
    Adapted,
    InvalidInputError,
    InvalidTypeError,
    UniformWeights,
    load_model,
)
from counterpoise.adaptation import model_io as unpacking
from counterpoise.adaptation.model_io import check_contents
from counterpoise.cli.main import main
from counterpoise.data import memory_budget

pytest.importorskip("skops")
ESTIMATORS = {
    "boosting": None,
    "forest": RandomForestClassifier(3, random_state=0),
    "linear": LogisticRegression(),
    "machine": SVC(),
    "bagging": BaggingClassifier(n_estimators=2, max_features=2, random_state=0),
}


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, (X[:, 0] > 0).astype(int), rng.normal(0.3, size=(60, 3))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return where a model of each kind is."""
    folder = tmp_path_factory.mktemp("models")
    X, y, X_target = rows()
    for name, estimator in ESTIMATORS.items():
        model = Adapted(estimator, UniformWeights(), random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, X_target=X_target).save(folder / f"{name}.skops")
    return folder


def crafted(path, out, arrays=None, schema=None):
    """Write a model file again, its arrays or its schema changed by hand."""
    with ZipFile(path) as file, ZipFile(out, "w", ZIP_DEFLATED) as made:
        for name in file.namelist():
            content = file.read(name)
            if name.endswith(".npy") and arrays is not None:
                array = np.load(io.BytesIO(content))
                changed = arrays(array.copy())
                stream = io.BytesIO()
                np.save(stream, array if changed is None else changed)
                content = stream.getvalue()
            if name == "schema.json" and schema is not None:
                content = schema(content.decode()).encode()
            made.writestr(name, content)
    return out


def of_table(field, value, at=0):
    """Return a change of one field of one inner node, in every table of nodes."""

    def change(array):
        if array.dtype.names is None or field not in array.dtype.names:
            return None
        array[field][at] = value
        return array

    return change


NODES = {
    "a circle of boosting": ("boosting", of_table("left", 0)),
    "a child out of the table": ("boosting", of_table("right", 2**31)),
    "a column that is not there": ("boosting", of_table("feature_idx", 10**9)),
    "a column before the first": ("boosting", of_table("feature_idx", -5)),
    "a category that is not there": ("boosting", of_table("is_categorical", 1)),
    "a leaf that is not finite": ("boosting", of_table("value", np.nan, at=-1)),
    "a circle of a forest": ("forest", of_table("left_child", 0)),
    "a child out of a forest": ("forest", of_table("right_child", 10**6)),
    "a child before the first": ("forest", of_table("right_child", -7)),
    "a forest's column": ("forest", of_table("feature", 3)),
    "a bag's column": ("bagging", of_table("feature", 2)),
}


@pytest.mark.parametrize("case", NODES)
def test_a_table_of_nodes_that_leads_astray_is_refused(case, saved, tmp_path):
    kind, change = NODES[case]
    path = crafted(saved / f"{kind}.skops", tmp_path / "made.skops", change)
    with pytest.raises(
        InvalidInputError, match=r"made\.skops is no model file: .*(tree|le)"
    ):
        load_model(path)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_what_nobody_touched_is_read(kind, saved, tmp_path):
    X_target = rows()[2]
    model = load_model(saved / f"{kind}.skops")
    again = load_model(crafted(saved / f"{kind}.skops", tmp_path / "made.skops"))
    np.testing.assert_array_equal(model.predict(X_target), again.predict(X_target))


def test_a_tree_of_more_outputs_than_classes_is_refused_before_it_is_made(
    saved, tmp_path
):
    def change(text):
        schema = json.loads(text)
        for state in unpacking._states(schema):
            if state.get("__loader__") == "TreeNode":
                state["__reduce__"]["args"]["content"][2]["content"] = "900000"
        return json.dumps(schema)

    path = crafted(saved / "forest.skops", tmp_path / "made.skops", schema=change)
    with pytest.raises(InvalidInputError, match="outputs and classes do not agree"):
        load_model(path)


def test_a_forest_of_more_columns_than_its_rows_have_is_refused(saved):
    model = load_model(saved / "forest.skops")
    model.estimator_.n_features_in_ = 1
    with pytest.raises(InvalidInputError, match="not among its 1"):
        check_contents(model)


def test_coefficients_that_are_not_finite_are_refused(saved, tmp_path):
    def change(array):
        if array.shape == (1, 3):
            array[0, 1] = np.inf
            return array
        return None

    path = crafted(saved / "linear.skops", tmp_path / "made.skops", change)
    with pytest.raises(InvalidInputError, match="coef_ of the model is not finite"):
        load_model(path)


def test_support_vectors_that_are_missing_are_refused(saved, tmp_path):
    def change(array):
        return array[:, :-1] if array.ndim == 2 and array.shape[0] == 1 else None

    path = crafted(saved / "machine.skops", tmp_path / "made.skops", change)
    with pytest.raises(InvalidInputError, match="support vectors are not as many"):
        load_model(path)


def test_sparse_rows_that_lead_out_of_their_matrix_are_refused(saved):
    model = load_model(saved / "linear.skops")
    rows = sparse.csr_array(np.eye(3))
    rows.indices[0] = 10**6
    model.extra_ = rows
    with pytest.raises(InvalidInputError, match="extra_ is no sparse matrix"):
        check_contents(model)


def test_what_a_file_takes_unpacked_is_looked_at_first(saved, tmp_path):
    path = tmp_path / "made.skops"
    with ZipFile(saved / "linear.skops") as file, ZipFile(path, "w", 8) as made:
        for name in file.namelist():
            made.writestr(name, file.read(name))
        made.writestr("flood.npy", bytes(30_000_000))
    assert path.stat().st_size < 100_000
    told = r"takes 3\d,\d+,\d+ bytes unpacked, and the memory budget is 20,000,000"
    with memory_budget(20_000_000), pytest.raises(InvalidInputError, match=told):
        load_model(path)


def test_predict_reads_a_model_within_its_max_memory(saved, tmp_path, capsys):
    path, table = tmp_path / "made.skops", tmp_path / "t.csv"
    with ZipFile(saved / "linear.skops") as file, ZipFile(path, "w", 8) as made:
        for name in file.namelist():
            made.writestr(name, file.read(name))
        made.writestr("flood.npy", bytes(30_000_000))
    table.write_text("a,b\n1,2\n")
    words = ["predict", "--model", path, "--table", table, "--max-memory", "20MB"]
    assert main([*map(str, words), "--out", str(tmp_path / "p.csv")]) == 2
    said = capsys.readouterr().err
    assert "the memory budget is 20,000,000" in said
    assert said.count("made.skops") == 1


def test_a_file_larger_than_the_budget_is_not_even_read(saved):
    with memory_budget(1000), pytest.raises(InvalidInputError, match="budget is 1,000"):
        load_model(saved / "linear.skops")


def test_an_array_that_says_it_is_larger_than_it_is_makes_no_room(saved, tmp_path):
    path = tmp_path / "made.skops"
    with ZipFile(saved / "linear.skops") as file, ZipFile(path, "w", 8) as made:
        for name in file.namelist():
            content = file.read(name)
            # As long as it was, so that nothing else is wrong.
            content = content.replace(b"'shape': (1, 3)", b"'shape': (9, 3)")
            made.writestr(name, content)
    with pytest.raises(
        InvalidInputError,
        match=r"says that it is \(9, 3\) of float64, 216 bytes, and has 24",
    ):
        load_model(path)


def test_members_are_counted_and_their_ratio_is_looked_at(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 3)
    with pytest.raises(InvalidInputError, match=r"\d+ members, at most 3 are read"):
        load_model(saved / "forest.skops")
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 100_000)
    monkeypatch.setattr(unpacking, "LARGEST_RATIO", 0.5)
    with pytest.raises(InvalidInputError, match="which no compression gives"):
        load_model(saved / "forest.skops")


def node_that_writes(path, module):
    """Return a schema's node that would call `ndarray.tofile` while it is read."""

    def node(loader, module, kind, **more):
        name = {"__loader__": loader, "__module__": module, "__class__": kind}
        return {**name, "__id__": next(numbers), **more}

    numbers = count(10**9)

    word = json.dumps(str(path))
    text = node("JsonNode", "builtins", "str", content=word, is_json=True)
    array = node("NdArrayNode", "numpy", "ndarray", type="numpy", file="0.npy")
    content = {"func": "tofile", "obj": array}
    method = node("MethodNode", "numpy", "ndarray", content=content)
    both = node("TupleNode", "builtins", "tuple", content=[method, text])
    return node("OperatorFuncNode", module, "call", attrs=both)


@pytest.mark.parametrize("module", ["operator", "sklearn.linear_model._logistic"])
def test_a_model_that_would_write_a_file_is_refused_and_writes_none(
    module, saved, tmp_path
):
    written = tmp_path / "written"

    def change(text):
        schema = json.loads(text)
        schema["content"]["content"]["random_state"] = node_that_writes(written, module)
        return json.dumps(schema)

    path = tmp_path / "made.skops"
    base = crafted(saved / "linear.skops", path, schema=change)
    with ZipFile(base, "a") as made:
        stream = io.BytesIO()
        np.save(stream, np.arange(3.0))
        made.writestr("0.npy", stream.getvalue())
    with pytest.raises(
        (InvalidInputError, InvalidTypeError), match=r"tofile|'operator'"
    ):
        load_model(path)
    assert not written.exists()


TAMPERED = {
    "no archive": lambda data: b"PK\x03\x04" + data[4:50],
    "half of one": lambda data: data[: len(data) // 2],
    "nothing": lambda data: b"",
    "other bytes": lambda data: data[:200] + bytes(300) + data[500:],
}


@pytest.mark.parametrize("how", [*TAMPERED, *NODES])
def test_a_tampered_model_ends_a_command_with_code_two(how, saved, tmp_path, capsys):
    path, table = tmp_path / "made.skops", tmp_path / "t.csv"
    table.write_text("x0,x1,x2\n0,0,0\n1,1,1\n")
    if how in TAMPERED:
        path.write_bytes(TAMPERED[how]((saved / "linear.skops").read_bytes()))
    else:
        crafted(saved / f"{NODES[how][0]}.skops", path, NODES[how][1])
    words = ["predict", "--model", path, "--table", table, "--out", tmp_path / "p.csv"]
    code = main([str(word) for word in words])
    told = capsys.readouterr().err
    assert code == 2, told
    assert "made.skops" in told
