"""How much is lost by the choice among AutoWeights' candidates?

Twelve families of known ratios, 800 rows a side, five fresh draws each. Every candidate
is fitted to all rows and its error compared with that of the one chosen; errors below
0.01 count as 0.01 in the ratios. The error is the mean squared one over the mean square
of the truth.
"""

import numpy as np
from families import FAMILIES, draw, relative_error
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import AutoWeights, MixtureKLIEP

SEED = 20_000
LEAST = 0.01


class Watched(AutoWeights):
    """AutoWeights whose candidates can be fitted one after the other."""

    def _choose(self, candidates, trials):
        self.offered = candidates, trials
        return super()._choose(candidates, trials)

    def _fit_chosen(self, chosen, samples, trials):
        self.samples = samples
        return super()._fit_chosen(chosen, samples, trials)

    def errors(self, ratio):
        """Return the errors of the one chosen and of every candidate tried."""
        from counterpoise.weights.supported import supported_weight

        candidates, trials = self.offered
        results, truth = self.cv_results_, ratio(self.samples.source)
        found = {}
        for k in np.flatnonzero(results["admissible"]):
            held_out = candidates[k].try_out()
            limit = supported_weight(held_out, trials.samples)
            weights = self._take(candidates[k], limit, self.samples, trials)
            found[candidates[k].name] = relative_error(weights, truth)
        return found[results["candidate"][results["chosen"]][0]], found


def run(quick: bool) -> dict:
    """Measure the choice, and the case of one shifted column among five."""
    first, draws = first_and_draws(quick, 1, 5)
    first += SEED
    rows, ratios = [], []
    for name in FAMILIES:
        found = [_one(name, first + k) for k in range(draws)]
        error, best = np.mean([one[:2] for one in found], axis=0)
        part = [max(e, LEAST) / max(b, LEAST) for e, b, *_ in found]
        chosen = [one[2] for one in found]
        often = max(set(chosen), key=chosen.count)
        rows.append([name, error, best, float(np.mean(part)), max(part), often])
        ratios += part
        print("  " + " | ".join(str(cell) for cell in rows[-1]), flush=True)
    shown = table(
        f"AutoWeights beside its best candidate, {len(ratios)} draws",
        "family | error | best candidate's | ratio, mean | worst | mostly chosen",
        rows,
    )
    bars = [
        bar("error / best candidate's, mean", float(np.mean(ratios)), 1.2),
        bar("error / best candidate's, worst", max(ratios), 3.0),
    ]
    one, more = _one_column(first, 2 if quick else 6)
    return {"tables": [shown, one], "bars": bars + more}


def _one(name: str, seed: int) -> tuple[float, float, str]:
    X, T, ratio = draw(name, seed)
    auto = Watched(random_state=seed, force=True).fit(X, X_target=T)
    results = auto.cv_results_
    error, errors = auto.errors(ratio)
    return error, min(errors.values()), results["candidate"][results["chosen"]][0]


def _one_column(first: int, seeds: int) -> tuple[dict, list]:
    """N(0, I) to a mean of 0.8 in one of five columns, 3,000 rows a side."""
    rows, worst = [], 0.0
    for seed in range(seeds):
        rng = np.random.default_rng(first + seed)
        X, T = rng.standard_normal((2, 3000, 5))
        T[:, 0] += 0.8
        truth = np.exp(0.8 * X[:, 0])
        auto = AutoWeights(random_state=seed).fit(X, X_target=T)
        linear = MixtureKLIEP(statistics="linear").fit(X, X_target=T)
        pair = [relative_error(one.weights_, truth) for one in (auto, linear)]
        taken = auto.cv_results_["candidate"][auto.cv_results_["chosen"]][0]
        rows.append([seed, *pair, taken])
        worst = max(worst, pair[0])
    shown = table(
        "One column of five by 0.8 (before: 0.19 in the worst of six)",
        "seed | AutoWeights | log-linear | chosen",
        rows,
    )
    return shown, [bar("one column of five, worst error", worst, 0.03)]
