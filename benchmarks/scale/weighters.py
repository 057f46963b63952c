"""What do ULSIF, LogLinearKLIEP and KLIEP (2000 centers) cost alone at 10^6 x 20?

Rows of an .npy file, by blocks, in a process of its own. A quick run has 20,000 rows
and 300 centers.
"""

import tempfile
from pathlib import Path

from large_tables import rows_of
from measuring import measured
from reporting import bar, table

MOST_SECONDS, MOST_MEGABYTES = 600, 2000
WAYS = {
    "ULSIF": "ULSIF(random_state=0)",
    "LogLinearKLIEP": "LogLinearKLIEP(random_state=0)",
    "KLIEP": "KLIEP(n_centers=CENTERS, random_state=0)",
    "DiscriminatorWeights": "DiscriminatorWeights(random_state=0)",
    "DiscrepancyWeights": "DiscrepancyWeights()",
    "AutoWeights": "AutoWeights(random_state=0)",
}
PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from counterpoise import *
from counterpoise.data import Blocks, memory_budget
CENTERS = int(sys.argv[3])
source, target = (Blocks.from_arrays(path) for path in sys.argv[1:3])
with memory_budget(500_000_000):
    fitted = {way}.fit(source, X_target=target)
print(fitted.solution_, "steps:", fitted.solution_.n_iter)
"""


def run(quick: bool) -> dict:
    n, centers = (20_000, "300") if quick else (1_000_000, "2000")
    rows, bars = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            str(rows_of(n, 20, moved, Path(folder) / f"{moved}.npy"))
            for moved in (False, True)
        ]
        for name, way in WAYS.items():
            found = measured(["-c", PROGRAM.replace("{way}", way), *paths, centers])
            print(" ", name, found["said"].strip().splitlines()[-1:], flush=True)
            rows.append([name, found["cpu"], found["wall"], found["megabytes"]])
            bars += [
                bar(f"{name}: exit code", found["code"], 0),
                bar(f"{name}: CPU s", found["cpu"], MOST_SECONDS),
                bar(f"{name}: peak MB", found["megabytes"], MOST_MEGABYTES),
            ]
    told = table(f"{n:,} x 20", "weight estimator | CPU s | wall s | peak MB", rows)
    return {"bars": bars, "tables": [told]}
