"""The user's own weights, folds and model, and predictions that know where they are."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import load_model
from counterpoise.cli.main import main

N = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    source = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    source["y"] = source["a"] + 0.3 * rng.normal(size=N)
    source["kind"] = np.where(source["y"] > 0, "up", "down")
    source["count"] = rng.integers(1, 4, N)
    source["name"] = [f"r{k}" for k in range(N)]
    source.to_csv(tmp_path / "source.csv", index=False)
    target = pd.DataFrame(rng.normal(0.4, 1.0, (80, 2)), columns=["a", "b"])
    target.to_csv(tmp_path / "target.csv", index=False)
    far = target.head(10).assign(a=40.0)
    pd.concat([target, far]).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def _run(folder: Path, *more: str, label: str = "y", command: str = "run") -> int:
    other = "kind" if label == "y" else "y"
    words = [
        *(command, "--source", folder / "source.csv", "--label", label),
        *("--target", folder / "target.csv", "--out", folder / "out", "--overwrite"),
        *("--estimator", "linear", "--id", "name", "--drop"),
        f"{other}" if "count" in more else f"{other},count",
    ]
    return main([str(word) for word in (*words, *more)])


def _predicted(folder: Path, *more: str) -> pd.DataFrame:
    words = [
        *("predict", "--model", folder / "out" / "model.skops", "--overwrite"),
        *("--table", folder / "table.csv", "--out", folder / "predicted.csv"),
    ]
    assert main([str(word) for word in (*words, *more)]) == 0
    return pd.read_csv(folder / "predicted.csv")


def _record(folder: Path) -> dict:
    return json.loads((folder / "out" / "report.json").read_text())


def test_weights_by_a_column_or_a_file_are_the_same(folder):
    assert _run(folder, "--weights", "count") == 0
    by_column = _record(folder)
    names = [one["name"] for one in by_column["data"]["columns"]]
    assert names == ["a", "b"]
    source = pd.read_csv(folder / "source.csv")
    own = folder / "own.csv"
    for frame in (
        source[["count"]].rename(columns={"count": "weight"}),
        source[["name", "count"]].iloc[::-1],
    ):
        frame.to_csv(own, index=False)
        assert _run(folder, "--weights", str(own)) == 0
        by_file = _record(folder)
        assert by_file["headline"] == by_column["headline"]
        assert by_file["shift"]["auc"] == by_column["shift"]["auc"]
        assert "own.csv" in by_file["reproduce"]["command_line"]
        assert str(folder) not in json.dumps(by_file)
    assert _run(folder) == 0
    assert _record(folder)["headline"] != by_column["headline"]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (None, "is no column of"),
        ("weight\n1\n2\n", "has 2 rows and"),
        ("p,q\n" + "1,2\n" * N, "needs a column 'weight'"),
        ("weight\n" + "1\n" * (N - 1) + "-1\n", "-1; --weights must be finite"),
        ("weight\n" + "0\n" * N, "all of --weights are zero"),
        ("name,weight\nr0,1\nr0,1\n", "has 'r0' twice"),
        ("name,weight\nr0,1\nr1,1\n", "lacks 118 of the rows"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_by_what_is_wrong(
    folder, capsys, own, told
):
    path = folder / "own.csv"
    if own is not None:
        path.write_text(own)
    assert _run(folder, "--weights", str(path)) in (1, 2)
    assert told in capsys.readouterr().err


def test_cv_sets_the_folds_of_the_guard_and_of_the_estimate(folder, capsys):
    assert _run(folder, "--cv", "3") == 0
    assert _record(folder)["reproduce"]["options"]["cv"] == 3
    assert load_model(folder / "out" / "model.skops").cv == 3
    assert _run(folder, "--cv", "blocks") == 0
    assert load_model(folder / "out" / "model.skops").cv == "blocks"
    for wrong in ("1", "many"):
        assert _run(folder, "--cv", wrong) == 1
    assert _run(folder, "--cv", "3", "--time", "b") == 1
    assert "give one of them" in capsys.readouterr().err


def test_a_saved_model_is_fitted_anew(folder, capsys):
    own = make_pipeline(StandardScaler(), Ridge(alpha=3.0))
    skops.io.dump(own, folder / "own.skops")
    assert _run(folder, "--estimator", str(folder / "own.skops")) == 0
    fitted = load_model(folder / "out" / "model.skops").estimator_
    assert fitted[-1].alpha == 3.0
    assert "own.skops" in _record(folder)["reproduce"]["command_line"]
    assert str(folder) not in json.dumps(_record(folder))
    again = str(folder / "out" / "model.skops")
    assert _run(folder, "--estimator", again, command="fit") != 0
    assert "own.skops" not in capsys.readouterr().err
    skops.io.dump(LogisticRegression(), folder / "classes.skops")
    assert _run(folder, "--estimator", str(folder / "classes.skops")) == 1
    assert "predicts classes" in capsys.readouterr().err
    assert _run(folder, "--estimator", str(folder / "none.skops")) == 2


def test_predictions_have_intervals_weights_and_coverage_on_request(folder, capsys):
    assert _run(folder, "--calibration-fraction", "0.3") == 0
    plain = _predicted(folder)
    assert list(plain) == ["row", "prediction"]
    assert "10 of 90 rows (11.1 %) lie where the source has no rows at all" in (
        capsys.readouterr().err
    )
    found = _predicted(folder, "--intervals", "0.8", "--overlap")
    known = ["weight", "uncovered", "extrapolation"]
    assert list(found) == ["row", "prediction", "lower", "upper", *known]
    model = load_model(folder / "out" / "model.skops")
    table = pd.read_csv(folder / "table.csv")
    ends = model.predict_interval(table, 0.8)
    assert np.allclose(found[["lower", "upper"]], ends)
    assert np.allclose(found["weight"], model.predict_weights(table))
    assert found["extrapolation"].tail(10).all()
    assert found["extrapolation"].head(80).mean() < 0.1
    assert np.isinf(found["upper"].tail(10)).all()


def test_classes_get_sets(folder):
    assert _run(folder, "--calibration-fraction", "0.3", label="kind") == 0
    found = _predicted(folder, "--intervals", "0.9")
    assert list(found)[2:] == ["set has down", "set has up", "set size"]
    sets = found[["set has down", "set has up"]]
    assert (sets.sum(axis=1) == found["set size"]).all()
    assert (found["set size"].tail(10) == 2).all()


def test_what_a_model_does_not_know_is_refused(folder, capsys):
    assert _run(folder, "--weight-estimator", "uniform") == 0
    words = [
        *("predict", "--model", folder / "out" / "model.skops"),
        *("--table", folder / "table.csv", "--out", folder / "none.csv"),
    ]
    assert main([str(word) for word in (*words, "--intervals", "0.9")]) == 2
    assert "run --calibration-fraction 0.2" in capsys.readouterr().err
    assert not (folder / "none.csv").exists()
