"""Is nothing seen where rows belong together and nothing shifts, and a shift found?

The same law in 40 + 40 groups of 25 rows (means of groups vary as much as rows within),
in groups of unequal sizes, in few groups, in groups that both samples have, and in
autoregressions of 0.97, one for each sample or one cut in two. Before: "shift, thin in
part" in 8 of 8 draws of groups (AUC 0.85) and in 5 of 5 of series. Then the means of
groups moved by 1.5 standard deviations, and series by 3. Last, how often tables of
independent rows are asked whether they are. The bars are what the shares promised (0.95
quiet or found, 0.02 asked in vain) reach in all but one of a hundred runs of as many
draws (`chance`).
"""

import numpy as np
from chance import share_at_least, share_at_most
from null import KINDS
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import diagnose
from counterpoise.data.groups import dependence_question
from counterpoise.data.samples import Samples

SEED = 120_000
NO_SHIFT = "no shift detected"


def run(quick: bool) -> dict:
    """Count verdicts of dependent rows, and questions about independent ones."""
    first, draws = first_and_draws(quick, 4, 60)
    first += SEED
    rows, bars, null = [], [], []
    for name, draw in _NULL.items():
        found = [draw(first + k) for k in range(draws)]
        quiet = [one.verdict == NO_SHIFT for one in found]
        null += quiet
        rows.append([name, float(np.mean(quiet)), _middle(found), _units(found)])
    told = table(
        f"The same law ({draws} draws)",
        "rows | 'no shift detected' | median AUC | units",
        rows,
    )
    main = [row[1] for row in rows[:3]]
    for what, share, n in (
        ("40 + 40 groups", main[0], draws),
        ("AR(0.97)", np.mean(main[1:]), 2 * draws),
        ("all kinds", np.mean(null), len(null)),
    ):
        what = f"{what}, the same law: no shift"
        bars.append(bar(what, share, least=share_at_least(0.95, n)))
    power = []
    for name, draw in _SHIFTED.items():
        found = [draw(first + k) for k in range(draws)]
        seen = float(np.mean([one.verdict != NO_SHIFT for one in found]))
        power.append([name, seen, _middle(found)])
    found_at_least = share_at_least(0.95, draws)
    bars.append(bar("groups moved by 1.5: found", power[0][1], least=found_at_least))
    bars.append(bar("series moved by 3: found", power[2][1], least=found_at_least))
    unsaid, asked = _asked(first, 2 * draws)
    mean = np.mean(list(unsaid.values()))
    most = share_at_most(0.02, 2 * draws * len(unsaid))
    bars.append(bar("independent tables asked about", mean, most))
    mean = np.mean(list(asked.values()))
    least = share_at_least(0.95, 2 * draws * len(asked))
    bars.append(bar("dependent tables asked about", mean, least=least))
    shifted = table("A shift", "rows | found | median AUC", power)
    questions = table(
        f"Tables asked whether rows are dependent ({2 * draws} draws each)",
        "rows | are | asked",
        [
            [name, what, float(np.mean(one))]
            for what, found in (("independent", unsaid), ("dependent", asked))
            for name, one in found.items()
        ],
    )
    return {"tables": [told, shifted, questions], "bars": bars}


def grouped(rng, g=40, k=25, d=5, shift=0.0, sizes=None):
    """Return rows of groups whose means vary as rows do within, and the groups."""
    names = np.repeat(np.arange(g), k if sizes is None else sizes)
    means = rng.standard_normal((g, d))
    means[:, 0] += shift
    return means[names] + rng.standard_normal((names.size, d)), names


def series(rng, n, d=3, rho=0.97):
    """Return an autoregression of variance one."""
    x = np.empty((n, d))
    x[0] = rng.standard_normal(d)
    steps = np.sqrt(1 - rho**2) * rng.standard_normal((n, d))
    for i in range(1, n):
        x[i] = rho * x[i - 1] + steps[i]
    return x


def _groups(seed, shift=0.0, g=40, uneven=False):
    rng = np.random.default_rng(seed)
    sizes = [rng.geometric(0.04, g) if uneven else None for _ in range(2)]
    X, own = grouped(rng, g=g, sizes=sizes[0])
    T, others = grouped(rng, g=g, shift=shift, sizes=sizes[1])
    return diagnose(X, T, groups=own, groups_target=others + g, random_state=seed)


def _of_both(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    X, names = grouped(rng, k=50)
    first = np.arange(names.size) % 50 < 25
    T = X[~first]
    T[:, 0] += shift
    return diagnose(
        X[first],
        T,
        groups=names[first],
        groups_target=names[~first],
        random_state=seed,
    )


def _two_series(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    X, T = series(rng, 1000), series(rng, 1000)
    T[:, 0] += shift
    time = np.arange(1000)
    return diagnose(X, T, time=time, time_target=time, random_state=seed)


def _one_series(seed, shift=0.0, n=1000, d=3):
    rows = series(np.random.default_rng(seed), 2 * n, d)
    rows[n:, 0] += shift
    return diagnose(rows[:n], rows[n:], time=np.arange(2 * n), random_state=seed)


_NULL = {
    "40 + 40 groups": _groups,
    "two series": _two_series,
    "one series": _one_series,
    "one series, 3,000 rows, 8 columns": lambda seed: _one_series(seed, n=3000, d=8),
    "40 + 40 groups of 1 to 150 rows": lambda seed: _groups(seed, uneven=True),
    "8 + 8 groups": lambda seed: _groups(seed, g=8),
    "40 groups in both": _of_both,
}
_SHIFTED = {
    "40 + 40 groups, moved by 1.5": lambda seed: _groups(seed, 1.5),
    "40 + 40 groups, moved by 1": lambda seed: _groups(seed, 1.0),
    "one series, moved by 3": lambda seed: _one_series(seed, 3.0),
    "two series, moved by 1.5": lambda seed: _two_series(seed, 1.5),
    "40 groups in both, moved by 0.3": lambda seed: _of_both(seed, 0.3),
}


def _asked(first, draws):
    """Return how often independent rows, by kind, and dependent ones are asked about.

    The question alone, as `diagnose` puts it.
    """
    unsaid = {
        name: [
            _is_asked(draw(n, rng), draw(m, rng))
            for rng in map(np.random.default_rng, range(first, first + draws))
        ]
        for name, (n, m, draw) in KINDS.items()
    }
    asked = {"groups, rows in their order": [], "one series": []}
    for seed in range(first, first + draws):
        rng = np.random.default_rng(seed)
        (X, _), (T, _) = grouped(rng), grouped(rng)
        asked["groups, rows in their order"].append(_is_asked(X, T))
        rows = series(rng, 1000)
        asked["one series"].append(_is_asked(rows[:500], rows[500:]))
    return unsaid, asked


def _is_asked(X, T):
    samples = Samples.read(X, T).without_zeros()
    names = [str(j) for j in range(samples.source.shape[1])]
    return dependence_question(samples, names) is not None


def _middle(found):
    return float(np.median([one.auc for one in found]))


def _units(found):
    return f"{found[0].dependence.n_source} + {found[0].dependence.n_target}"
