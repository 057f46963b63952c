"""Do the intervals of the estimated target performance hold the truth, and how wide?

Worlds of `interval_worlds`: 500 to 2,000 rows a sample, weights by `AutoWeights`, the
truth on 100,000 fresh target rows. Squared error, accuracy, log-loss, AUC and F1, by
law of the inputs and by ESS/n as the weights tell it. Judged is the estimate to go by
(`best`) and the doubly robust one, at level 0.95. SEED says where the worlds begin,
WORLDS how many there are. The bars are the coverage that intervals of level 0.95 reach
in all but one of a hundred runs of as many worlds (`chance`).
"""

import os
from collections import defaultdict
from typing import Any
from unittest import mock

import numpy as np
from chance import share_at_least
from interval_worlds import INPUTS, METRICS, World
from reporting import bar, table

from counterpoise import estimate_performance
from counterpoise.performance.metrics import as_metric
from counterpoise.performance.result import MetricEvaluator

TRUTH_ROWS = 100_000
BANDS = ((0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 1.01))
FEWEST_POSITIVES = 5


def run(quick: bool) -> dict:
    """Measure coverage and width, and judge them."""
    first = int(os.environ.get("SEED", "10000"))
    worlds = int(os.environ.get("WORLDS", "10" if quick else "240"))
    found = []
    for seed in range(first, first + worlds):
        found += one(seed)
    cells: dict[tuple[str, ...], list[dict]] = defaultdict(list)
    for told in found:
        low, high = next(b for b in BANDS if b[0] <= told["kept"] < b[1])
        band, metric = f"{low:g} to {min(high, 1):g}", told["metric"]
        for key in (
            ("all metrics", "all", "all"),
            (metric, "all", "all"),
            (metric, band, "all"),
            *([(metric, "few positives", "all")] if told["rare"] else []),
            *((metric, "all", inputs) for inputs in INPUTS if inputs == told["inputs"]),
            (metric, band, told["inputs"]),
        ):
            cells[key].append(told)
    rows, bars = [], []
    for key in sorted(cells):
        rows.append([*key, *_summary(cells[key])])
        overall = key[1:] == ("all", "all")
        if overall or (len(cells[key]) >= 10 and "all" not in key[1:]):
            what = f"{', '.join(key)}: coverage of {len(cells[key])}"
            # Metrics of one world err together.
            n_worlds = len({told["seed"] for told in cells[key]})
            least = share_at_least(0.95, n_worlds)
            bars.append(bar(what, rows[-1][4], least=least))
    told = table(
        f"Intervals of level 0.95 in {worlds} worlds",
        "metric | ESS/n | inputs | draws | best holds | width / truth | truth above | "
        "doubly robust holds | width / truth | relative error: best | weighted | "
        "doubly robust",
        rows,
    )
    return {"tables": [told], "bars": bars, "draws": found}


def one(seed: int) -> list[dict[str, Any]]:
    """Return what the intervals of one world hold, metric by metric."""
    world = World(seed)
    model = world.model()
    X, y = world.draw(world.n, target=False)
    X_target, _ = world.draw(world.m, target=True)
    X_test, y_test = world.draw(TRUTH_ROWS, target=True)
    if world.kind == "classification" and min(np.bincount(y)) < FEWEST_POSITIVES:
        return []
    names = METRICS[world.kind]
    # The estimate by confidence takes half of the time and is not judged here.
    not_asked = mock.patch.object(
        MetricEvaluator, "_confidence", return_value=(None, "not asked")
    )
    with not_asked:
        got = estimate_performance(
            model, X, y, X_target, scoring=names, random_state=seed
        )
    told = []
    for name in names:
        truth = as_metric(name, model, y).value(model, X_test, y_test)
        one = got[name]
        best, robust = one.best, one.doubly_robust or one.weighted
        if best is None or robust is None or one.weighted is None:
            continue
        told.append(
            {
                "seed": seed,
                "metric": name,
                "inputs": world.inputs,
                "rare": world.rare,
                "kept": got.effective_rows / world.n,
                "truth": truth,
                "best": [best.value, best.low, best.high],
                "robust": [robust.value, robust.low, robust.high],
                "weighted": [one.weighted.value, one.weighted.low, one.weighted.high],
            }
        )
    return told


def _summary(draws: list[dict]) -> list[Any]:
    truth = np.array([d["truth"] for d in draws])
    ends = {
        name: np.array([d[name] for d in draws])
        for name in ("best", "robust", "weighted")
    }

    def holds(name: str) -> float:
        _, low, high = ends[name].T
        return float(np.mean((low <= truth) & (truth <= high)))

    def width(name: str) -> float:
        return float(np.median((ends[name][:, 2] - ends[name][:, 1]) / truth))

    def error(name: str) -> float:
        return float(np.sqrt(np.mean((ends[name][:, 0] / truth - 1) ** 2)))

    return [
        len(draws),
        holds("best"),
        width("best"),
        float(np.mean(truth > ends["best"][:, 2])),
        holds("robust"),
        width("robust"),
        *(error(name) for name in ("best", "weighted", "robust")),
    ]
