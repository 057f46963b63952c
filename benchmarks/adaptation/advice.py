"""Is the advice right: beside guessing, and with so many labels, on real shifts?

For every shift and learner: 600 source rows to fit, 600 held out, 1,000 target rows
without labels (or what there is), the truth on other target rows, beside the best
constant prediction there. "Better" and "worse than guessing" are right if the truth is;
"not shown to be better" is right unless the model truly saves more than the interval
allows. Then as many target rows are labeled as `precision` asks for, drawn by
chance, and the interval is measured; numbers above what is left of the target are not
tried. Nine in ten are to be right and four in five as narrow, as far as the number of
answers tells (`chance`). Draws are kept (`kept_draws`). A quick run has every second
shift.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from chance import share_at_least
from estimates import learners
from kept_draws import kept_draw
from reporting import bar, table
from shifts import Shift, shifts

from counterpoise import estimate_performance
from counterpoise.performance.advice import (
    BEATS_GUESSING,
    NOT_SHOWN_TO_BEAT,
    WORSE_THAN_GUESSING,
    Constant,
)
from counterpoise.performance.metrics import Predictions, as_metric

ROWS, TARGET_ROWS, TEST_ROWS = 600, 1000, 4000
PRECISION = 0.3


def run(quick: bool) -> dict:
    """Ask about every shift, and judge the answers."""
    draws = int(os.environ.get("DRAWS", "1" if quick else "4"))
    names = [shift.name for shift in shifts()]
    places = range(0, len(names), 2 if quick else 1)
    tasks = [(k, seed) for seed in range(draws) for k in places]
    with ProcessPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        found = list(pool.map(_job, tasks))
    rows, asked = [], []
    for (k, _), both in zip(tasks, found, strict=True):
        for learner, one in both.items():
            asked.append(one)
            rows.append([names[k], learner, *(one.get(key) for key in _COLUMNS)])
    told = [one for one in asked if one["verdict"] is not None]
    claims = [one["right"] for one in told if one["verdict"] != NOT_SHOWN_TO_BEAT]
    open_ones = [one["right"] for one in told if one["verdict"] == NOT_SHOWN_TO_BEAT]
    tried = [one["narrow"] for one in asked if one.get("narrow") is not None]
    bars = [
        _bar("right: better or worse than guessing", claims, 0.9),
        _bar("right: not shown to be better", open_ones, 0.9),
        _bar("as narrow as asked for with so many labels", tried, 0.8),
    ]
    head = f"{len(told)} verdicts, {len(open_ones)} not shown, {len(tried)} with labels"
    print(f"  {head}")
    held = [one["saved"][1] <= one["saved"][0] <= one["saved"][2] for one in told]
    print(f"  what is saved lies in its interval: {_mean(held):.1%}")
    columns = "shift | learner | " + " | ".join(_COLUMNS)
    return {"bars": bars, "tables": [table(head, columns, rows)]}


_COLUMNS = (
    "verdict",
    "skill",
    "true skill",
    "right",
    "width",
    "labels",
    "width with labels",
    "narrow",
)


def one(shift: Shift, seed: int) -> dict[str, Any]:
    """Return what is said of each learner, and what is true."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(shift.X))[: 2 * ROWS]
    fit, held_out = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    aims, m = rng.permutation(len(shift.X_target)), len(shift.X_target)
    open_rows, others = aims[: min(TARGET_ROWS, m // 3)], aims[m // 3 :]
    out = {}
    for name, learner in learners(shift.kind).items():
        model = learner.fit(shift.X[fit], shift.y[fit])
        given = (model, shift.X[held_out], shift.y[held_out], shift.X_target[open_rows])
        got = estimate_performance(*given, precision=PRECISION, random_state=seed)
        out[name] = _beside_guessing(shift, model, got, others[:TEST_ROWS])
        wanted = got.labels
        if wanted is None:
            continue
        out[name] |= {"width": wanted.width, "labels": wanted.n_labels}
        if not wanted.n_labels or wanted.n_labels > others.size:
            continue
        drawn = rng.choice(others, wanted.n_labels, replace=False)
        again = estimate_performance(
            *given,
            X_target_labeled=shift.X_target[drawn],
            y_target_labeled=shift.y_target[drawn],
            precision=PRECISION,
            random_state=seed,
        )
        width = (again.best.high - again.best.low) / abs(again.best.value)
        out[name] |= {"width with labels": width, "narrow": width <= PRECISION}
    return out


def _beside_guessing(shift: Shift, model: Any, got: Any, test: Any) -> dict[str, Any]:
    X, y = shift.X_target[test], shift.y_target[test]
    metric = as_metric(None, model, y)
    answers = Predictions.of(model, [X], shift.kind == "classification")
    constant = Constant.of(metric, answers, y, np.ones(len(y)))
    guessed = constant.answers(len(y))
    loss = metric.value(answers, answers.rows, y)
    guess = metric.value(guessed, guessed.rows, y)
    found, saved = got.baseline, guess - loss
    if found is None:
        return {"verdict": None, "true skill": saved / guess}
    right = {
        BEATS_GUESSING: saved > 0,
        WORSE_THAN_GUESSING: saved < 0,
        NOT_SHOWN_TO_BEAT: saved <= found.saved_high,
    }[found.verdict]
    return {
        "verdict": found.verdict,
        "skill": found.skill,
        "true skill": saved / guess,
        "right": bool(right),
        "saved": [saved, found.saved_low, found.saved_high],
    }


def _job(task: tuple[int, int]) -> dict[str, Any]:
    k, seed = task

    def make() -> dict[str, Any]:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return one(list(shifts())[k], seed)

    return kept_draw("advice", f"{k}-{seed}", make)


def _bar(what: str, found: list[bool], promised: float) -> dict:
    least = share_at_least(promised, max(len(found), 1))
    return bar(what, _mean(found), least=least)


def _mean(found: list[bool]) -> float:
    return float(np.mean(found)) if found else float("nan")
