"""
Is a twin GP the right model for moods?
=======================================

Frames of a song become one row, the mean posterior of a mixture over all frames;
ratings of many listeners become one label, their consensus. Moods are noisy and hardly
ambiguous, so GPR's distance on held-out songs is printed beside the twin GP's; songs of
the old year may favor one and the new year the other. DEAM where COUNTERPOISE_DATA is.
"""

import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.mixture import BayesianGaussianMixture

from counterpoise import KLIEP, flatten_weights
from counterpoise.twin_gp import TwinGP, WeightedGPR, consensus

rng = np.random.default_rng(0)
MAKERS = {"GPR": WeightedGPR, "twin GP": lambda **how: TwinGP(divergence="kl", **how)}


def compare(X, y, X_target, y_target, title):
    """Draw R2 of valence and arousal of both models, weighted and not."""
    kliep = KLIEP(random_state=0, allow_no_overlap=True)
    weights = kliep.fit(X, X_target=X_target).weights_
    bars = {}
    for told, w in (("", None), (", weighted", flatten_weights(weights, 0.5))):
        for name, make in MAKERS.items():
            model = make(search="holdout", random_state=0).fit(X, y, w)
            away = model.predict(X_target) - y_target
            bars[name + told] = 1 - (away**2).mean(axis=0) / y_target.var(axis=0)
        twin, gpr = model.holdout_score_, model.gpr_holdout_score_
        print(f"{title}{told}: held-out songs twin GP {twin:.4f}, GPR {gpr:.4f}")
    _, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    for k, (name, r2) in enumerate(bars.items()):
        print(f"  {name}: R2 of valence and arousal {r2.round(2)}")
        ax.bar(np.arange(2) + 0.2 * k, r2, 0.18, label=name)
    ax.set(title=title, xticks=[0.3, 1.3], xticklabels=["valence", "arousal"])
    ax.legend()


def simulated_songs(n, center):
    """Return moods, and twenty frames of a song each."""
    moods = np.clip(rng.normal(center, 0.4, size=(n, 2)), -1, 1)
    timbre = np.hstack([np.sin(2 * moods), moods**2, moods[:, :1] * moods[:, 1:]])
    return moods, timbre[:, None, :] + 0.3 * rng.normal(size=(n, 20, 5))


def rated(moods, n_listeners=60):
    """Return what listeners of unequal care say, each of some songs."""
    noise = rng.choice([0.1, 0.4, 1.0], n_listeners)
    ratings = moods[:, None] + noise * rng.normal(size=(len(moods), n_listeners))
    return np.where(rng.random(ratings.shape) > 0.15, np.nan, ratings)


moods, frames = simulated_songs(160, (-0.2, -0.1))
moods_target, frames_target = simulated_songs(100, (0.2, 0.2))
labels = np.column_stack([consensus(rated(m)).labels for m in moods.T])
mixture = BayesianGaussianMixture(
    n_components=12, max_iter=500, tol=1e-2, random_state=0
)
used = mixture.fit(frames[:, ::2].reshape(-1, 5)).weights_ > 1e-3
X, X_target = (
    mixture.predict_proba(f.reshape(-1, 5)).reshape(len(f), 20, 12).mean(axis=1)
    for f in (frames, frames_target)
)
compare(X[:, used], labels, X_target[:, used], moods_target, "simulated songs")

file = Path(os.environ.get("COUNTERPOISE_DATA", "none")) / "deam_music_emotion"
if (file := file / "deam_features_annotations.csv.gz").exists():
    with gzip.open(file, "rt") as rows:
        table = np.genfromtxt(rows, delimiter=",", skip_header=1)
    old, new = (table[table[:, -1] == year] for year in (2013, 2014))
    mean, scale = old[:, 2:39].mean(axis=0), old[:, 2:39].std(axis=0)
    X, X_target = ((songs[:, 2:39] - mean) / scale for songs in (old, new))
    y, y_target = ((songs[:, [39, 41]] - 5) / 4 for songs in (old, new))
    compare(X, y, X_target, y_target, "DEAM, 2013 to 2014")
plt.show()
