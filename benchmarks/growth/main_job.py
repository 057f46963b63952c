"""How does the main job grow: diagnose, weigh, guard, fit, estimate?

In memory, with five folds; ridge regression and boosting.
"""

from reporting import table
from sizes_apart import grown

HEADER = "method | rows | columns | CPU s | MB"
METHODS = ["adapt and estimate, ridge", "adapt and estimate, boosting"]


def run(quick: bool) -> dict:
    found = grown(METHODS, quick)
    return {"table": table("The main job", HEADER, found), "bars": []}
