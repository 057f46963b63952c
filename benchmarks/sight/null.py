"""Is nothing seen where nothing shifts? Ten kinds of tables, two samples of one law.

All tests together raise a false alarm with a chance of 0.05: the bar is the share of
quiet draws that 0.95 reaches in all but one of a hundred runs of as many (`chance`).
"""

import numpy as np
from chance import share_at_least
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import diagnose


def run(quick: bool) -> dict:
    """Count verdicts, and which test raised a false alarm."""
    first, draws = first_and_draws(quick, 2, 20)
    rows, quiet, alerts = [], [], {}
    for name, (n, m, draw) in KINDS.items():
        own = []
        for k in range(draws):
            rng = np.random.default_rng(70_000 + first + k)
            found = diagnose(draw(n, rng), draw(m, rng), random_state=first + k)
            own.append(found.verdict == "no shift detected")
            for test in found.tests:
                alerts[test.name] = alerts.get(test.name, 0) + test.tells
        quiet += own
        rows.append([name, n, m, float(np.mean(own))])
        print("  " + " | ".join(str(cell) for cell in rows[-1]), flush=True)
    tables = [table("No shift", "kind | n | m | 'no shift detected'", rows)]
    total = len(quiet)
    tables.append(
        table(
            f"False alarms of {total} draws",
            "test | share",
            [[name, count / total] for name, count in alerts.items()],
        )
    )
    share = float(np.mean(quiet))
    return {
        "tables": tables,
        "bars": [
            bar(
                f"'no shift detected' in {total} draws",
                share,
                least=share_at_least(0.95, total),
            )
        ],
    }


def _normal(n, rng):
    return rng.standard_normal((n, 5))


def _correlated(n, rng):
    return rng.standard_normal((n, 30)) @ np.random.default_rng(1).normal(size=(30, 30))


def _categories(n, rng):
    rows = np.empty((n, 4), dtype=object)
    for j, k in enumerate((3, 8, 20, 50)):
        rows[:, j] = [f"v{v}" for v in np.minimum(rng.geometric(3 / k, n), k)]
    return rows


def _mixed(n, rng):
    rows = np.empty((n, 4), dtype=object)
    rows[:, 0] = rng.standard_normal(n)
    rows[:, 1] = np.where(rng.random(n) < 0.1, None, rng.integers(0, 9, n))
    rows[:, 2] = [f"common {k}" for k in rng.integers(0, 6, n)]
    rows[:, 3] = [f"rare {k}" for k in rng.zipf(1.5, n)]
    return rows


def _missing(n, rng):
    rows = rng.standard_normal((n, 5))
    rows[rng.random((n, 5)) < 0.15] = np.nan
    return rows


def _duplicates(n, rng):
    return np.random.default_rng(2).standard_normal((150, 4))[rng.integers(0, 150, n)]


KINDS = {
    "normal": (1000, 1000, _normal),
    "skewed": (1000, 1000, lambda n, rng: rng.lognormal(size=(n, 6))),
    "heavy tails": (1000, 1000, lambda n, rng: rng.standard_t(2, size=(n, 8))),
    "categories": (1000, 1000, _categories),
    "mixed": (1000, 1000, _mixed),
    "few rows": (60, 60, _normal),
    "unequal sizes": (3000, 200, _normal),
    "duplicates": (1000, 1000, _duplicates),
    "missing values": (1000, 1000, _missing),
    "many columns": (1000, 1000, _correlated),
}
