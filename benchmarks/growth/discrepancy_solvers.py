"""How do time and memory of every solver of the least discrepancy grow?

To a proved gap of 1e-2; one that does not reach it stops at its own limit of steps.
"""

from methods_at_hand import SOLVERS
from reporting import table
from sizes_apart import grown

HEADER = "method | rows | columns | CPU s | MB"
METHODS = list(SOLVERS)


def run(quick: bool) -> dict:
    found = grown(METHODS, quick)
    return {"table": table("Discrepancy solvers", HEADER, found), "bars": []}
