"""Log a record to MLflow and read it back; runs in an environment of its own."""

import json
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import mlflow

mlflow.set_tracking_uri(Path(tempfile.mkdtemp()).as_uri())
mlflow.set_experiment("check")

# the call
import mlflow
from sklearn.linear_model import Ridge

from counterpoise import Adapted, Report
from counterpoise.report import log_to_mlflow
from counterpoise.datasets import load_diabetes_shift

shift = load_diabetes_shift()
model = Adapted(Ridge(), random_state=0)
model.fit(shift.X, shift.y, X_target=shift.X_target)
record = Report.from_estimator(model)
with mlflow.start_run() as run:
    log_to_mlflow(record, prefix="shift_check.")
# the end
client = mlflow.MlflowClient()
kept = client.get_run(run.info.run_id).data.metrics
told = {
    "metrics": sum(name.startswith("shift_check.") for name in kept),
    "numbers": len(record.metrics()),
    "artifacts": [
        inner.path
        for one in client.list_artifacts(run.info.run_id)
        for inner in client.list_artifacts(run.info.run_id, one.path)
    ],
}
Path(sys.argv[2]).write_text(json.dumps(told))
