"""evidently's data drift report; runs in an environment of its own."""

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
current = pd.DataFrame(given["X_target"], columns=names)

# the call
from evidently import Report
from evidently.presets import DataDriftPreset

report = Report([DataDriftPreset()])
result = report.run(current, reference)
result.save_html("drift.html")
# the end
page = Path("drift.html")
told = {"metrics": result.dict()["metrics"], "bytes": page.stat().st_size}
page.unlink()
Path(sys.argv[2]).write_text(json.dumps(told, default=str))
