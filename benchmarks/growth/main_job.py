"""How does the main job grow: diagnose, weigh, guard, fit, estimate?

"adapt and estimate": in memory, with five folds; "counterpoise run": the command, from
two Parquet files to page, record, weights and model. No peer does all of it: NannyML
estimates a loss and looks at every column, evidently looks at every column and writes
a page; each in an environment of its own.
"""

import environments
from environments import MissingPeerError
from methods_at_hand import WATCHERS
from reporting import left_out, table
from sizes_apart import HEADER, grown

METHODS = [
    "adapt and estimate, ridge",
    "adapt and estimate, boosting",
    "counterpoise run, ridge",
    "counterpoise run, boosting",
]


def run(quick: bool) -> dict:
    # With ridge alone in a quick run.
    methods, python = METHODS[::2] if quick else list(METHODS), {}
    for name, (peer, _) in WATCHERS.items():
        try:
            python[name] = environments.environment(peer)
        except MissingPeerError as error:
            left_out(f"{peer}: {error}")
        else:
            methods.append(name)
    found = grown(methods, quick, python=python)
    return {"table": table("The main job", HEADER, found), "bars": []}
