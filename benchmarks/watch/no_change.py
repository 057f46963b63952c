"""Nothing changes: how often is any alert raised in 200 chunks?

A monitor's own parts are asked, without the drift of single chunks, which raises none.
"""

import numpy as np
import peers
from reporting import bar, left_out, table
from streams import Sign, question, rows

from counterpoise.monitor.estimates import shares_of, spent
from counterpoise.monitor.monitor import features_of, reference_state
from counterpoise.monitor.results import SHARE_OF_ALARM
from counterpoise.performance.metrics import Predictions

ALARM, CHUNKS, ROWS, REFERENCE, LABELED = 0.05, 200, 200, 2_000, 20


def stream(seed: int) -> dict[str, bool]:
    """Return which alerts one stream without a change raises."""
    rng = np.random.default_rng(seed)
    model = Sign()
    X, y = rows(rng, REFERENCE)
    state, [metric] = reference_state(model, X, y, "error_rate", 0.95, ALARM, 0.0, seed)
    X, y = rows(rng, CHUNKS * ROWS)
    one = state.estimates[0]
    numbers = state.encoder.transform(X)
    answers = Predictions.of(model, [X], True)
    modeled = one.at(metric, features_of(numbers, answers), answers)
    scores = state.inputs.described(numbers)[:, : X.shape[1]]
    before = state.scores.astype(float)
    wrong = (model.predict(X) != y).astype(float)
    estimate = False
    highest = {"inputs": -np.inf, "risk": -np.inf}
    for t in range(CHUNKS):
        part = slice(t * ROWS, (t + 1) * ROWS)
        state.inputs.add(numbers[part])
        state.risk.add(wrong[part][:LABELED])
        shares = shares_of(before, scores[part].astype(float))
        rise = one.estimate(modeled[part], shares)
        alpha = spent(ALARM * SHARE_OF_ALARM["estimate"], t + 1)
        estimate = estimate or rise.low_rise(alpha) > 0
        highest["inputs"] = max(highest["inputs"], state.inputs.log_e)
        highest["risk"] = max(highest["risk"], state.risk.evidence.log_e)
    needed = {kind: np.log(1 / (ALARM * SHARE_OF_ALARM[kind])) for kind in highest}
    found = {kind: bool(highest[kind] >= needed[kind]) for kind in highest}
    return {**found, "estimate": bool(estimate)}


def theirs(n: int) -> dict[str, float]:
    """Return the share of streams with any alert of NannyML's default thresholds."""
    questions = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        reference, stream = rows(rng, REFERENCE), rows(rng, CHUNKS * ROWS)
        questions.append(question(reference, stream[0], ROWS))
    try:
        told = peers.ask_all("nannyml", questions)
    except peers.MissingPeerError as error:
        left_out(f"NannyML is missing: {error}")
        return {}
    return {
        "drift": float(np.mean([any(one["drift"]) for one in told])),
        "CBPE": float(np.mean([any(one["estimate_alert"]) for one in told])),
    }


def run(quick: bool) -> dict:
    """Return the share of streams with any alert, by kind."""
    n = 5 if quick else 500
    found = [stream(seed) for seed in range(n)]
    kinds = ("inputs", "risk", "estimate")
    shares = {kind: float(np.mean([one[kind] for one in found])) for kind in kinds}
    shares["any"] = float(np.mean([any(one.values()) for one in found]))
    bars = [
        bar(
            f"streams with an alert about {kind}",
            share,
            ALARM * SHARE_OF_ALARM.get(kind, 1),
        )
        for kind, share in shares.items()
    ]
    nannyml = theirs(1 if quick else 20)
    told = table(
        f"{n} streams of {CHUNKS} chunks of {ROWS} rows without a change",
        "alert | share of streams",
        [*shares.items(), *((f"NannyML, {k}", v) for k, v in nannyml.items())],
    )
    return {"bars": bars, "table": told, "shares": shares, "nannyml": nannyml}
