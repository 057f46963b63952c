"""How do an exact path and a hundred refits grow?

The path from equal weights to random ones; scikit-learn's SVC at a hundred places.
"""

from reporting import table
from sizes_apart import HEADER, grown

METHODS = ["path of all weights", "WeightedSVC, one fit", "scikit-learn, 100 refits"]


def run(quick: bool) -> dict:
    found = grown(METHODS, quick)
    return {
        "table": table("Paths of support vector machines", HEADER, found),
        "bars": [],
    }
