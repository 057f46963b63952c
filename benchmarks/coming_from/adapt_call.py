"""adapt's KLIEP around a linear regression; runs in an environment of its own."""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "weights"))
import no_tensorflow

# adapt imports tensorflow, and uses it for networks alone.
no_tensorflow.install()
given = dict(np.load(sys.argv[1]))
X, y, X_target, y_target = (given[k] for k in ("X", "y", "X_target", "y_target"))

# the call
from adapt.instance_based import KLIEP
from sklearn.linear_model import LinearRegression

model = KLIEP(
    LinearRegression(), Xt=X_target, gamma=[0.1, 1.0, 10.0], verbose=0, random_state=0
)
model.fit(X, y)
weights = model.predict_weights()
# the end
error = float(np.mean((model.predict(X_target).ravel() - y_target) ** 2))
told = {"error": error, "weights": np.ravel(weights).tolist()}
Path(sys.argv[2]).write_text(json.dumps(told))
