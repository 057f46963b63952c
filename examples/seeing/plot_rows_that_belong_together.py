"""
My rows belong to patients: is it still a shift?
================================================

Twenty rows of one patient are no twenty pieces of evidence. Forty patients here and
forty there, drawn by one law, look different row by row, and do not patient by
patient. Say `groups=` (or `time=`), and what is counted are groups.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import diagnose


def patients(rng, n=40, visits=20):
    """Return rows and whose they are: patients differ, their visits hardly."""
    own = rng.normal(size=(n, 3))
    rows = np.repeat(own, visits, axis=0) + 0.3 * rng.normal(size=(n * visits, 3))
    return rows, np.repeat(np.arange(n), visits)


def smallest(found):
    return min(test.p_value for test in found.tests)


by_rows, by_groups = [], []
for seed in range(8):
    rng = np.random.default_rng(seed)
    (X, groups), (X_target, groups_target) = patients(rng), patients(rng)
    rows = diagnose(X, X_target, n_permutations=0, random_state=0)
    whole = diagnose(
        X,
        X_target,
        groups=groups,
        groups_target=groups_target,
        n_permutations=0,
        random_state=0,
    )
    by_rows.append(smallest(rows))
    by_groups.append(smallest(whole))
    print(f"draw {seed}: rows: {rows.verdict}; patients: {whole.verdict}")
print(rows.dependence_hint)

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.semilogy(np.maximum(by_rows, 1e-12), "o", color="tab:red", label="as rows")
ax.semilogy(by_groups, "s", color="tab:blue", label="as patients")
ax.axhline(0.01, color="0.4", linestyle=":", label="level of a test")
ax.set(xlabel="draw, both samples from one law", ylabel="smallest p of the tests")
ax.legend()
plt.show()
