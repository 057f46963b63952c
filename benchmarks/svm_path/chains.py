"""Degenerate chains of moves: does any fail, and how large is a residual?

`python benchmarks/svm_path/chains.py FIRST LAST` runs more, by seed.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).parents[1]
    sys.path[:0] = [str(here), str(here.parent / "tests")]

from optim.quadratic_path.degenerate import worst_residual
from reporting import bar


def failures(seeds, few_rows=False):
    """Return what failed, and the largest residual in units of its limit."""
    failed, worst = [], 0.0
    for seed in seeds:
        try:
            found = worst_residual(seed, n_random=20, few_rows=few_rows)
        except Exception as error:
            failed.append((seed, repr(error)))
            continue
        worst = max(worst, found)
        if found > 1.0:
            failed.append((seed, found))
    for one in failed:
        print("  failed:", *one)
    return len(failed), worst


def run(quick):
    n = 300 if quick else 5000
    dense, worst = failures(range(n))
    lean, worst_lean = failures(range(n, n + n // 5), few_rows=True)
    return {
        "bars": [
            bar(f"failures in {n} chains of 6 moves", dense, most=0),
            bar("largest residual in units of its limit", worst, most=1.0),
            bar(f"failures in {n // 5} chains, rows on demand", lean, most=0),
            bar("largest residual there", worst_lean, most=1.0),
        ]
    }


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[2])
    count, largest = failures(range(first, last))
    print(f"{last - first} chains: {count} failed, largest residual {largest:.3g}")
