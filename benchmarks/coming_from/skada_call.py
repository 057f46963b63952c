"""skada's KLIEP around a linear regression; runs in an environment of its own."""

import json
import sys
from pathlib import Path

import numpy as np

given = dict(np.load(sys.argv[1]))
X, y, X_target, y_target = (given[k] for k in ("X", "y", "X_target", "y_target"))

# the call
from skada import KLIEPReweightAdapter, make_da_pipeline
from skada.utils import source_target_merge
from sklearn.linear_model import LinearRegression

unknown = np.full(len(X_target), np.nan)
X_both, y_both, domain = source_target_merge(X, X_target, y, unknown)
model = make_da_pipeline(
    KLIEPReweightAdapter(gamma=[0.1, 1.0, 10.0], random_state=0),
    LinearRegression().set_fit_request(sample_weight=True),
)
model.fit(X_both, y_both, sample_domain=domain)
# the end
adapter = KLIEPReweightAdapter(gamma=[0.1, 1.0, 10.0], random_state=0)
adapter.fit(X_both, sample_domain=domain)
weights = adapter.compute_weights(X_both, sample_domain=domain)[domain > 0]
error = float(np.mean((model.predict(X_target) - y_target) ** 2))
told = {"error": error, "weights": np.ravel(weights).tolist()}
Path(sys.argv[2]).write_text(json.dumps(told))
