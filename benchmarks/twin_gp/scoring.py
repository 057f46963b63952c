"""How answers are scored, and how two methods are compared over seeds."""

import numpy as np
from scipy.stats import ttest_rel

# Grids and steps were settled on low seeds, so others judge them.
FIRST_SEED = 500


def seeds(count):
    """Return the seeds of so many draws."""
    return range(FIRST_SEED, FIRST_SEED + count)


def joint_error(answers, poses):
    """Return the mean distance of a joint from its place, a row each."""
    apart = (answers - poses).reshape(len(answers), -1, 3)
    return np.linalg.norm(apart, axis=2).mean(axis=1)


def change(new, old):
    """Return the mean change in per cent over seeds, and the paired p value."""
    new, old = np.asarray(new), np.asarray(old)
    p = float(ttest_rel(new, old).pvalue) if len(new) > 2 else float("nan")
    return 100.0 * float(new.mean() / old.mean() - 1.0), p
