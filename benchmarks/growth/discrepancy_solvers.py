"""How do time and memory of every solver of the least discrepancy grow?

To a proved gap of 1e-2; one that does not reach it stops at its own limit of steps.
Without a spread, which is the published objective, and by two with the default one.
"sdp" is Clarabel on the reduced problem, without cvxpy, up to 120 columns.
Clarabel and SCS get the same problem as two cones of the order of the columns, through
cvxpy (its own work included), with tolerances of 1e-8 and 1e-3 of their own kind.
"""

from methods_at_hand import CONE_SOLVERS, SOLVERS, SPREAD_SOLVERS
from reporting import table
from sizes_apart import HEADER, grown

METHODS = [*SOLVERS, *SPREAD_SOLVERS, *CONE_SOLVERS]


def run(quick: bool) -> dict:
    found = grown(METHODS, quick)
    return {"table": table("Discrepancy solvers", HEADER, found), "bars": []}
