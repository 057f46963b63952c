"""How much is lost by the choice among AutoWeights' candidates?

Twelve families of known ratios, 800 rows a side, five fresh draws each. Every candidate
is fitted to all rows and its error compared with that of the one chosen; errors below
0.01 count as 0.01 in the ratios. The error is the mean squared one over the mean square
of the truth. The best of some twenty candidates is a lucky one: beside AutoWeights
stands one who knows for each family which candidate has the least mean error over its
draws, and takes that in every draw. What this one misses, no choice can promise.

The logarithm of the ratio has a mean of some 0.1 and, over draws, a long tail of spread
0.35: the bar for the geometric mean of n draws is exp(0.1 + 3 * 0.35 / sqrt(n)), and
one draw in thirty may have three times the best one's error (`chance`).
"""

import numpy as np
from chance import share_at_most
from families import FAMILIES, draw, relative_error
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import AutoWeights, LogLinearKLIEP

SEED = 20_000
LEAST = 0.01
LOG_RATIO, LOG_SPREAD, FAR = 0.1, 0.35, 3.0


class Watched(AutoWeights):
    """AutoWeights whose candidates can be fitted one after the other."""

    def _choose(self, candidates, trials):
        self.offered = candidates, trials
        return super()._choose(candidates, trials)

    def _fit_chosen(self, chosen, samples, trials):
        self.samples = samples
        return super()._fit_chosen(chosen, samples, trials)

    def errors(self, ratio):
        """Return which was chosen, and the errors of every candidate tried."""
        from counterpoise.weights.auto import supported_weight

        candidates, trials = self.offered
        results, truth = self.cv_results_, ratio(self.samples.source)
        found = {}
        for k in np.flatnonzero(results["admissible"]):
            held_out = candidates[k].try_out()
            limit = supported_weight(held_out, trials.samples)
            weights = self._take(candidates[k], limit, self.samples, trials)
            found[candidates[k].name] = relative_error(weights, truth)
        return results["candidate"][results["chosen"]][0], found


def run(quick: bool) -> dict:
    """Measure the choice, and the case of one shifted column among five."""
    first, draws = first_and_draws(quick, 1, 5)
    first += SEED
    rows, ratios, known = [], [], []
    for name in FAMILIES:
        found = [_one(name, first + k) for k in range(draws)]
        best = [min(errors.values()) for _, errors in found]
        error = [errors[chosen] for chosen, errors in found]
        offered = set.intersection(*(set(errors) for _, errors in found))
        fixed = min(offered, key=lambda one: np.mean([e[one] for _, e in found]))
        part = _ratios(error, best)
        by_fixed = _ratios([errors[fixed] for _, errors in found], best)
        chosen = [one for one, _ in found]
        often = max(set(chosen), key=chosen.count)
        means = (float(np.mean(one)) for one in (error, best, part))
        mine = [name, *means, max(part), often]
        rows.append([*mine, fixed, float(np.mean(by_fixed)), max(by_fixed)])
        ratios += part
        known += by_fixed
        print("  " + " | ".join(str(cell) for cell in rows[-1]), flush=True)
    shown = table(
        f"AutoWeights beside its best candidate, {len(ratios)} draws",
        "family | error | best candidate's | ratio, mean | worst | mostly chosen | "
        "best in the mean | its ratio, mean | its worst",
        rows,
    )
    print(f"  known family: mean {np.mean(known):.3g}, worst {max(known):.3g}")
    n, logs = len(ratios), np.log(ratios)
    most = np.exp(LOG_RATIO + 3 * LOG_SPREAD / np.sqrt(n))
    far = float(np.mean(np.greater(ratios, FAR)))
    what = "error / best candidate's"
    bars = [
        bar(f"{what}, geometric mean", float(np.exp(logs.mean())), most),
        bar(f"{what} above {FAR:g}, share of draws", far, share_at_most(1 / 30, n)),
    ]
    one, more = _one_column(first, 2 if quick else 6)
    return {"tables": [shown, one], "bars": bars + more}


def _ratios(errors: list[float], best: list[float]) -> list[float]:
    pairs = zip(errors, best, strict=True)
    return [max(error, LEAST) / max(least, LEAST) for error, least in pairs]


def _one(name: str, seed: int) -> tuple[str, dict[str, float]]:
    """Return which candidate was chosen, and the errors of all that were tried."""
    X, T, ratio = draw(name, seed)
    auto = Watched(random_state=seed, allow_no_overlap=True).fit(X, X_target=T)
    return auto.errors(ratio)


def _one_column(first: int, seeds: int) -> tuple[dict, list]:
    """N(0, I) to a mean of 0.8 in one of five columns, 3,000 rows a side."""
    rows, worst = [], 0.0
    for seed in range(seeds):
        rng = np.random.default_rng(first + seed)
        X, T = rng.standard_normal((2, 3000, 5))
        T[:, 0] += 0.8
        truth = np.exp(0.8 * X[:, 0])
        auto = AutoWeights(random_state=seed).fit(X, X_target=T)
        linear = LogLinearKLIEP(statistics="linear").fit(X, X_target=T)
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
