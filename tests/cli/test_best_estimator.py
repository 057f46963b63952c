"""`--estimator auto`: what was tried, and what was taken."""

import json

import numpy as np
import pandas as pd

from counterpoise.adaptation import adapted as target_seen
from counterpoise.adaptation.model_io import load_model
from counterpoise.cli.main import main
from counterpoise.shift.diagnosis import diagnose_samples


def test_the_best_of_those_tried_is_fitted_and_the_others_are_told(
    tmp_path, monkeypatch
):
    diagnosed = []
    monkeypatch.setattr(
        target_seen,
        "diagnose_samples",
        lambda *given: diagnosed.append(given) or diagnose_samples(*given),
    )
    rng = np.random.default_rng(0)
    for name, n, shift in (("train", 120, 0.0), ("live", 100, 0.3)):
        table = pd.DataFrame(rng.normal(shift, 1.0, (n, 2)), columns=["a", "b"])
        table["y"] = 2 * table["a"] - table["b"] + 0.1 * rng.normal(size=n)
        table = table if name == "train" else table.drop(columns="y")
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["run", "--source", tmp_path / "train.csv", "--target"]
    words += [tmp_path / "live.csv", "--label", "y", "--out", tmp_path / "out"]
    words += ["--estimator", "auto", "--quiet"]
    assert main([str(word) for word in words]) == 0
    # Two estimators, and one look at the tables.
    assert len(diagnosed) == 1
    record = json.loads((tmp_path / "out" / "report.json").read_text())
    tried = {one["estimator"]: one for one in record["tried"]}
    assert set(tried) == {"linear", "boosting", "constant"}
    assert [name for name, one in tried.items() if one["chosen"]] == ["linear"]
    assert tried["linear"]["value"] < tried["boosting"]["value"]
    assert tried["constant"]["value"] > tried["boosting"]["value"]
    assert record["headline"]["value"] == tried["linear"]["value"]
    assert record["headline"]["baseline"]["verdict"] == "better than guessing"
    model = load_model(tmp_path / "out" / "model.skops")
    assert type(model.estimator_.steps[-1][1]).__name__ == "Ridge"
