"""Which classes a target holds: office31 and office_caltech10 (SURF)."""

import os
from pathlib import Path

import numpy as np
from reporting import bar, left_out, table
from sklearn.metrics import roc_auc_score

from counterpoise.selection import select_classes
from counterpoise.weights.partial import default_predictions

# The ten classes that Office-31 and Caltech-256 share.
SHARED = (0, 1, 5, 10, 11, 12, 15, 16, 17, 22)
OTHER_TENS = (11, 12, 13, 14)


def folder():
    """Return the folder with the real data, None where there is none."""
    named = os.environ.get("COUNTERPOISE_DATA")
    return None if named is None else Path(named)


def run(quick):
    missing = [name for name in ("office31", "office_caltech10") if not _there(name)]
    if missing:
        return left_out(f"COUNTERPOISE_DATA has no {', '.join(missing)}")
    office, bars = _office31(quick)
    surf, more = _surf(quick)
    return {"office31": office, "surf": surf, "bars": [*bars, *more]}


def _there(name):
    return folder() is not None and (folder() / name).is_dir()


def judged(X, y, X_target, y_target, **given):
    """Return AUC and accuracy of the selection and of the classifier alone."""
    found = select_classes(X, y, X_target, random_state=0, **given)
    predictions, _ = default_predictions(X, y, X_target, seed_of(0))
    classes, p = predictions.classes, predictions.probabilities
    there = np.isin(classes, y_target)
    alone = np.mean(classes[p.argmax(1)] == y_target)
    ours = np.mean(found.labels == y_target)
    if there.all():
        return np.nan, np.nan, 100 * ours, 100 * alone, found
    auc = roc_auc_score(there, found.shares), roc_auc_score(there, p.mean(0))
    return *auc, 100 * ours, 100 * alone, found


def seed_of(random_state):
    from counterpoise.data.parameters import as_seed

    return as_seed(random_state)


def _office31(quick):
    data = np.load(folder() / "office31" / "office31_effnetlite2.npz")
    X, y, domain = data["X"].astype(float), data["y"].astype(int), data["domain"]
    rows, tens, others, all_classes = [], [], [], []
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    for a, b in pairs[1::2] if quick else pairs:
        source = domain == a
        choices = [("shared ten", SHARED), ("all", range(31))]
        choices += [
            (f"ten, draw {seed}", np.random.default_rng(seed).permutation(31)[:10])
            for seed in OTHER_TENS[: 1 if quick else None]
        ]
        for name, kept in choices:
            target = (domain == b) & np.isin(y, list(kept))
            auc, mean, ours, alone, found = judged(
                X[source], y[source], X[target], y[target]
            )
            rows.append(
                [f"{a}>{b}", name, auc, mean, ours, alone, ours - alone, found.sparsity]
            )
            kept_in = {"s": tens, "a": all_classes, "t": others}[name[0]]
            kept_in.append((auc, ours, ours - alone))
    header = "task | classes | AUC | mean softmax | accuracy | alone | gain | sparsity"
    tens, others, all_classes = map(np.array, (tens, others, all_classes))
    return table("office31", header, rows), [
        bar("31 -> 10: class AUC", tens[:, 0].mean(), least=0.995),
        bar("31 -> 10: accuracy", tens[:, 1].mean(), least=96.5),
        bar("other tens: mean gain", others[:, 2].mean(), least=4.0),
        bar("31 -> 31: least gain", all_classes[:, 2].min(), least=-1.0),
    ]


def _surf(quick):
    data = np.load(folder() / "office_caltech10" / "surf_bow800.npz")
    names = [name[2:] for name in data.files if name.startswith("X_")]
    # The two small domains.
    names = names[-2:] if quick else names
    rows, aucs, accuracies = [], [], []
    for a in names:
        for b in names:
            if a == b:
                continue
            X, y = _scored(data[f"X_{a}"]), data[f"y_{a}"].astype(int)
            Z, z = _scored(data[f"X_{b}"]), data[f"y_{b}"].astype(int)
            choices = [range(10)] + [
                np.random.default_rng(seed).permutation(10)[:5]
                for seed in ((21,) if quick else (21, 22, 23))
            ]
            for kept in choices:
                some = np.isin(z, list(kept))
                auc, mean, ours, alone, _ = judged(X, y, Z[some], z[some])
                rows.append([f"{a}>{b}", len(kept), auc, mean, ours, alone])
                accuracies.append(ours - alone)
                if len(kept) < 10:
                    aucs.append(auc - mean)
    header = "task | classes | AUC | mean softmax | accuracy | alone"
    return table("SURF", header, rows), [
        bar("SURF: AUC above mean softmax", np.mean(aucs), least=0.0),
        bar("SURF: accuracy above the classifier", np.mean(accuracies), least=0.0),
    ]


def _scored(counts):
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return (shares - shares.mean(0)) / np.maximum(shares.std(0), 1e-12)
