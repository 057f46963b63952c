"""How do twin Gaussian processes grow, beside scikit-learn's GPR?

A fit and 200 answers of six outputs each.
"""

from reporting import table
from sizes_apart import HEADER, grown

METHODS = [
    "TwinGP, KL",
    "TwinGP, inverse KL",
    "TwinGP, Sharma-Mittal",
    "scikit-learn GPR",
]


def run(quick: bool) -> dict:
    found = grown(METHODS, quick)
    return {"table": table("Twin processes", HEADER, found), "bars": []}
