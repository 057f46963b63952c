"""Log a record to MLflow and read it back; run by benchmarks/coming_from."""

# "---"
import mlflow
from sklearn.linear_model import Ridge

from counterpoise import Adapted, Record, log_to_mlflow
from counterpoise.datasets import load_diabetes_shift

shift = load_diabetes_shift()
model = Adapted(Ridge(), random_state=0).fit(shift.X, shift.y, X_target=shift.X_target)
with mlflow.start_run():
    log_to_mlflow(Record.of(model), prefix="shift_check.")
