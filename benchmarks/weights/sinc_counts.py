"""How many Gaussians does each solver use on the sinc problem, and how many are needed?

500 rows of N(0, .5^2) against 300 of N(0, .3^2), all target rows as centers. Counts are
medians over seeds: when the mean objective first changes by less than 1e-4 from one
step to the next, and at a certified relative gap of 1e-6 or after 20,000 steps.
The published counts say what early stopping leaves, not what the problem needs.
"""

import numpy as np
from problems import corrective, gaussian_pair, mixture_problem
from reporting import bar, table

from counterpoise import KLIEP
from counterpoise.optim import FrankWolfe, ProjectedGradient, solve
from counterpoise.weights.kliep import OriginalKLIEP

PUBLISHED = {
    "original": 180,
    "frank-wolfe open": 73,
    "away armijo": 18,
    "pairwise armijo": 8,
}
RULE, TOL, MOST_STEPS = 1e-4, 1e-6, 20_000
# Supports of the optimum at some widths, from an independent solver.
KNOWN = {0.05: 22, 0.08: 14, 0.1: 12, 0.15: 8, 0.2: 6, 0.3: 5, 0.4: 2}


def run(quick: bool) -> dict:
    """Count at the width that matches the publication and at the selected one."""
    seeds = 2 if quick else 20
    steps = 2000 if quick else MOST_STEPS
    tables, curves = [], {}
    for width in (0.08, "selected"):
        rows, counts, sigmas = [], {}, []
        for seed in range(seeds):
            shift = gaussian_pair(1, 500, 300, seed)
            sigma = _selected(shift, seed) if width == "selected" else width
            sigmas.append(sigma)
            problem = mixture_problem(shift.X, shift.X_target, shift.X_target, sigma)
            for name, solver in _solvers(problem).items():
                counts.setdefault(name, []).append(_count(problem, solver, name, steps))
            if seed == 0 and width != "selected":
                curves = _curves(problem, min(steps, 5000))
            counts.setdefault("the optimum", []).append(_optimum(problem))
        for name, found in counts.items():
            middle = np.median(np.array(found, dtype=float), axis=0)
            rows.append([name, *middle.tolist(), PUBLISHED.get(name)])
        tables.append(
            table(
                f"sigma {width} (median {np.median(sigmas):.3g}), {seeds} seeds, "
                f"at most {steps} steps: medians",
                "solver | count, rule | gap, rule | count, proved | "
                "gap/scale | steps | s | published",
                rows,
            )
        )
    supports, bars = _supports(3 if quick else 10)
    return {"tables": [*tables, supports], "bars": bars, "curves": curves}


def _solvers(problem) -> dict:
    return {
        "original": OriginalKLIEP(problem.A.scale),
        "projected-gradient": ProjectedGradient(),
        "frank-wolfe open": FrankWolfe("plain", "open"),
        "frank-wolfe exact": FrankWolfe("plain", "exact"),
        "away exact": FrankWolfe("away", "exact"),
        "away armijo": FrankWolfe("away", "armijo"),
        "pairwise exact": FrankWolfe("pairwise", "exact"),
        "pairwise armijo": FrankWolfe("pairwise", "armijo"),
        "corrective": corrective(1),
    }


class _Rule:
    """Note the first point at which the objective has hardly changed; never end."""

    def __init__(self):
        self.before, self.count, self.gap = np.inf, None, None

    def __call__(self, progress) -> bool:
        if self.count is None and abs(self.before - progress.objective) < RULE:
            self.count, self.gap = progress.support, progress.gap
        self.before = progress.objective
        return False


def _count(problem, solver, name: str, steps: int) -> list:
    rule = _Rule()
    found = solve(problem, solver, tol=TOL, max_iter=steps, callback=rule)
    proof = found.certificate
    last = int(np.count_nonzero(found.x))
    if name == "original" or rule.count is None:
        # The published loop has an end of its own: a rejected trial changes nothing.
        rule.count, rule.gap = last, proof.gap
    return [
        rule.count,
        rule.gap,
        last,
        proof.gap / proof.scale,
        found.n_iter,
        found.seconds,
    ]


def _optimum(problem) -> list:
    found = solve(problem, corrective(1), tol=1e-10)
    support = int(np.count_nonzero(found.x > 1e-9))
    proof = found.certificate
    gap = proof.gap / proof.scale
    return [support, proof.gap, support, gap, found.n_iter, found.seconds]


def _selected(shift, seed: int) -> float:
    kliep = KLIEP(standardize=False, allow_no_overlap=True, random_state=seed)
    kliep.fit(shift.X, X_target=shift.X_target)
    return float(np.sqrt(0.5 / kliep.gamma_))


def _curves(problem, steps: int) -> dict:
    """Return gap against step and second of every solver, thinned."""
    out = {}
    for name, solver in _solvers(problem).items():
        history = solve(problem, solver, tol=1e-9, max_iter=steps).history
        wanted = np.unique(np.geomspace(1, len(history), 80).astype(int) - 1)
        out[name] = {
            "steps": [history[k].n_iter for k in wanted],
            "seconds": [history[k].seconds for k in wanted],
            "gap": [history[k].gap for k in wanted],
        }
    return out


def _supports(seeds: int) -> tuple[dict, list]:
    rows = []
    for sigma, known in KNOWN.items():
        counts = []
        for seed in range(seeds):
            shift = gaussian_pair(1, 500, 300, seed)
            problem = mixture_problem(shift.X, shift.X_target, shift.X_target, sigma)
            counts.append(_optimum(problem)[0])
        rows.append([sigma, float(np.median(counts)), known])
    shown = table("Support of the optimum", "sigma | median | known", rows)
    worst = max(abs(row[1] - row[2]) for row in rows)
    return shown, [bar("support of the optimum, off by at most", worst, 2)]
