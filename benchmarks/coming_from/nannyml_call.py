"""NannyML's direct loss estimation; runs in an environment of its own."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
given = dict(np.load(sys.argv[1], allow_pickle=False))
names = [str(name) for name in given["names"]]
reference = pd.DataFrame(given["X"], columns=names)
reference["progress"], reference["predicted"] = given["y"], given["predicted"]
analysis = pd.DataFrame(given["X_target"], columns=names)
analysis["predicted"] = given["predicted_target"]

# the call
import nannyml as nml

estimator = nml.DLE(
    feature_column_names=names,
    y_true="progress",
    y_pred="predicted",
    metrics=["mse"],
    chunk_number=1,
)
estimator.fit(reference)
result = estimator.estimate(analysis).filter(period="analysis").to_df()
drift = nml.UnivariateDriftCalculator(column_names=names, chunk_size=25)
found = drift.fit(reference).calculate(analysis).filter(period="analysis").to_df()
# the end
# A column that alerts in more than half of the chunks.
alerts = [c[0] for c in found.columns if c[-1] == "alert" and found[c].mean() > 0.5]
told = {
    "mse": float(result[("mse", "value")].iloc[0]),
    "low": float(result[("mse", "lower_confidence_boundary")].iloc[0]),
    "high": float(result[("mse", "upper_confidence_boundary")].iloc[0]),
    "alerts": sorted(set(alerts)),
}
Path(sys.argv[2]).write_text(json.dumps(told))
