"""Which columns have drifted, says evidently, and which say we?

The trial and the clinic; evidently 0.7 with its preset for data drift. The sizes of the
two pages are told beside.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from environments import MissingPeerError
from ours_drift import ours
from reporting import left_out, table
from rows_for_all import asked, patients

LEVEL = 0.05


def run(quick: bool) -> dict:
    shift = patients()
    names = list(shift.feature_names)
    try:
        theirs = asked(
            "evidently",
            "evidently_call.py",
            X=shift.X,
            X_target=shift.X_target,
            names=np.array(names),
        )
    except MissingPeerError as error:
        return left_out(f"evidently is missing: {error}")
    with TemporaryDirectory() as folder:
        diagnosis = ours(shift.X, shift.X_target, Path(folder))
        size = (Path(folder) / "shift.html").stat().st_size
    said = {
        one["config"]["column"]: float(one["value"])
        for one in theirs["metrics"]
        if "column" in one["config"]
    }
    rows = []
    for name, one in zip(names, diagnosis.features, strict=True):
        own = one.adjusted_p_value
        rows.append([name, said[name], said[name] < LEVEL, own, own < LEVEL])
    told = table(
        "p-values of single columns: theirs as they are, ours corrected (Holm)",
        "column | evidently p | drifted | our p | moved",
        rows,
    )
    verdict = table(
        "The two pages",
        "library | says of the whole | size of the page, MB",
        [
            [
                "evidently",
                f"{sum(row[2] for row in rows)} of {len(rows)} columns drifted",
                theirs["bytes"] / 1e6,
            ],
            ["counterpoise", diagnosis.verdict, size / 1e6],
        ],
    )
    return {"tables": [told, verdict], "bars": []}
