"""Do refusals hold from one draw of a pair to the next, near a thin share of one half?

Two normals 2.55 apart in one of three columns, and a disjoint cluster of half of the
target: `uncovered_fraction` is about one half. How often its interval holds the mean
over the draws, how often "no overlap" is said, and how often two draws disagree about
it. Before: by `uncovered_fraction` > 0.5, in half of the draws, and every other pair of
draws disagreed. Then the same for rows of one pair drawn again. Any threshold has a
place where draws disagree: the last row, normals 2.8 apart, is near that of the present
rule, where most of the target is thinly covered (without a bar). The interval of level
0.95 has promised 0.95, and a refusal by its lower end 0.025: the bars are what such
shares reach in all but one of a hundred runs of as many draws (`chance`).
"""

import numpy as np
from chance import share_at_least, share_at_most
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import overlap
from counterpoise.datasets import make_uncovered_cluster

SEED = 80_000


def run(quick: bool) -> dict:
    """Measure coverage, refusals, and how often they flip."""
    first, draws = first_and_draws(quick, 6, 40)
    rows, bars = [], []
    for name, pair, n, judged in (
        ("normals", _normals, 300, True),
        ("normals", _normals, 1000, True),
        ("cluster", _cluster, 300, True),
        ("cluster", _cluster, 1000, True),
        ("one pair drawn again", _drawn_again, 1000, True),
        ("normals further apart", lambda n, seed: _normals(n, seed, 2.8), 1000, False),
    ):
        found = [
            overlap(*pair(n, SEED + first + k), random_state=k) for k in range(draws)
        ]
        uncovered_fraction = np.array([one.uncovered_fraction for one in found])
        holds = np.mean(
            [
                o.uncovered_fraction_low
                <= uncovered_fraction.mean()
                <= o.uncovered_fraction_high
                for o in found
            ]
        )
        before = uncovered_fraction > 0.5
        refused = np.array([one.verdict == "no overlap" for one in found])
        rows.append(
            [
                *(name, n, uncovered_fraction.mean(), uncovered_fraction.std()),
                *(before.mean(), refused.mean(), _flips(before), _flips(refused)),
                holds,
            ]
        )
        if judged:
            most, least = share_at_most(0.025, draws), share_at_least(0.95, draws)
            what = f"{name}, {n} rows"
            bars.append(bar(f"{what}: refused", float(refused.mean()), most))
            bars.append(bar(f"{what}: interval", float(holds), least=least))
    told = table(
        "thin near one half",
        "pair | rows | mean | deviation | refused before | refused | flips before | "
        "flips | interval holds",
        rows,
    )
    return {"tables": [told], "bars": bars}


def _flips(said: np.ndarray) -> float:
    """Return the share of pairs of draws that say different things."""
    k, yes = said.size, int(said.sum())
    return 2 * yes * (k - yes) / (k * (k - 1))


def _normals(n, seed, apart=2.55):
    X, T = np.random.default_rng(seed).standard_normal((2, n, 3))
    T[:, 0] += apart
    return X, T


def _cluster(n, seed):
    shift = make_uncovered_cluster(0.5, n=n, m=n, d=5, shift=0, random_state=seed)
    return shift.X, shift.X_target


def _drawn_again(n, seed):
    """Return half of the rows of one pair, drawn without repetition."""
    rng = np.random.default_rng(seed)
    return [rows[rng.permutation(2 * n)[:n]] for rows in _normals(2 * n, SEED)]
