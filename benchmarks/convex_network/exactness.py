"""The backward-pass test of a round against the cone program of the same round."""

import time

import numpy as np
from reporting import bar, left_out, table
from yeast import folder, pair

from counterpoise.optim import solve
from counterpoise.optim.dc_network.network import ACTIVATIONS, Network, NetworkObjective
from counterpoise.optim.dc_network.published import relaxed_round
from counterpoise.optim.dc_network.training import (
    DirectRounds,
    NetworkTraining,
    Penalties,
    ProximalRound,
)

ETAS = (0.1, 1.0, 3.0, 10.0)


def instance(seed, name, m, sizes):
    """Return an objective and a point to begin with."""
    rng = np.random.default_rng(seed)
    network = Network(sizes, ACTIVATIONS[name])
    share = rng.random(m) + 0.2
    f = NetworkObjective(
        network,
        rng.normal(size=(m, sizes[0])),
        rng.normal(size=(m, 1)),
        share / share.sum(),
        1e-2,
    )
    return f, 0.7 * rng.normal(size=network.size)


def run(quick):
    rows = []
    agree = differ = tested = 0
    apart, lower = 0.0, np.inf
    for seed in range(2 if quick else 6):
        for name in ACTIVATIONS:
            f, x = instance(seed, name, 10, (3, 4, 3, 1))
            for eta in ETAS:
                around = ProximalRound(f, x, Penalties.equal(3, eta))
                began = time.process_time()
                proof = around.prove(around.minimized(x))
                direct = time.process_time() - began
                began = time.process_time()
                cone = relaxed_round(around)
                conic = time.process_time() - began
                tested += 1
                if proof.exactness <= 1.0:
                    agree += 1
                    apart = max(apart, abs(cone.value - proof.value))
                elif proof.exactness > 2.0:
                    differ += 1
                    lower = min(lower, proof.value - cone.value)
                if seed == 0:
                    rows.append(
                        [
                            name,
                            eta,
                            proof.exactness,
                            proof.value,
                            cone.value,
                            cone.gap,
                            1e3 * direct,
                            1e3 * conic,
                        ]
                    )
    header = "activation | eta | ratio | F | cones | z apart | direct ms | cones ms"
    told = table("Rounds of 3-4-3-1, 10 rows, seed 0", header, rows)
    print(f"  {tested} rounds: {agree} proved exact, {differ} of ratio above 2")
    bars = [
        bar("largest difference of values where the ratio is <= 1", apart, 1e-6),
        bar("least excess over the relaxation, ratio > 2", lower, least=1e-5),
    ]
    return {"table": told, "bars": bars + _rounds(quick) + _yeast(quick)}


def _rounds(quick):
    """Return how far 40 rounds come, proved and not."""
    f, x = instance(0, "sigmoid", 48, (8, 6, 6, 1))
    rows, ratios = [], []
    for proved in (True, False):
        rounds = []
        solver = DirectRounds(proved, rounds.append)
        training = NetworkTraining(f, x, proved)
        began = time.process_time()
        found = solve(training, solver, tol=1e-9, max_iter=10 if quick else 40)
        spent = time.process_time() - began
        worst = max(one.exactness for one in rounds)
        if proved:
            ratios.append(worst)
        largest = max(one.gap for one in rounds)
        rows.append([proved, f.value(x), f.value(found.x), worst, largest, spent])
    table("40 rounds of 8-6-6-1", "proved | start | end | ratio | gap | s", rows)
    return [bar("largest ratio of a proved round", max(ratios), 1.0)]


def _yeast(quick):
    """Return how far 40 proved rounds come on 48 rows of Yeast, without decay."""
    if folder() is None or not folder().exists():
        return left_out("COUNTERPOISE_DATA names no folder with yeast")["bars"]
    rows, losses = [], []
    for seed in range(1 if quick else 5):
        rng = np.random.default_rng([48, seed])
        X, y, *_ = pair(rng, 5)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        network = Network((8, 6, 6, 1), ACTIVATIONS["sigmoid"])
        sizes = zip(network.sizes[:-1], network.sizes[1:], strict=True)
        x = network.pack(
            [(rng.normal(size=(a, b)) * np.sqrt(2 / a), np.zeros(b)) for a, b in sizes]
        )
        share = np.full(len(y), 1 / len(y))
        f = NetworkObjective(network, X, y[:, None].astype(float), share, 0.0)
        rounds = []
        found = solve(
            NetworkTraining(f, x), DirectRounds(True, rounds.append), max_iter=40
        )
        losses.append(f.loss(found.x))
        worst = max(one.exactness for one in rounds)
        rows.append([seed, f.loss(x), losses[-1], worst, max(r.gap for r in rounds)])
    table("40 proved rounds, Yeast 1:5", "seed | start | end | ratio | gap", rows)
    return [bar("largest loss after 40 proved rounds", max(losses), 0.06)]
