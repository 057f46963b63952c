"""What mood is a song of another year in, and is a twin GP the right model for it?

Frames of a song become one row, the mean posterior of a mixture over all frames;
ratings of many listeners become one label, their consensus. Moods are noisy and hardly
ambiguous, so GPR's distance on held-out songs is printed beside the twin GP's; songs of
the old year may favour one and the new year the other. A search warns where GPR is
better. DEAM, 2013 to 2014, where COUNTERPOISE_DATA has it.
"""

import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.mixture import BayesianGaussianMixture

from counterpoise import KLIEP, TwinGP, WeightedGPR, consensus, flatten

rng = np.random.default_rng(0)


def compare(X, y, X_target, y_target):
    """Print R2 of valence and arousal of both models, weighted and not."""
    weights = KLIEP(random_state=0, force=True).fit(X, X_target=X_target).weights_
    for name, w in (("no weights", None), ("root of weights", flatten(weights, 0.5))):
        for make in (WeightedGPR, lambda **how: TwinGP(divergence="kl", **how)):
            model = make(search="holdout", random_state=0).fit(X, y, w)
            away = model.predict(X_target) - y_target
            r2 = 1 - (away**2).mean(axis=0) / y_target.var(axis=0)
            print(f"{type(model).__name__}, {name}: R2 {r2[0]:.2f} and {r2[1]:.2f}")
        twin, gpr = model.holdout_score_, model.gpr_holdout_score_
        better = "GPR" if gpr < twin else "the twin GP"
        print(f"  held-out songs: {twin:.4f} and GPR {gpr:.4f}, {better} is better")


def simulated_songs(n, centre):
    """Return moods, and twenty frames of a song each."""
    moods = np.clip(rng.normal(centre, 0.4, size=(n, 2)), -1, 1)
    timbre = np.hstack([np.sin(2 * moods), moods**2, moods[:, :1] * moods[:, 1:]])
    frames = timbre[:, None, :] + 0.3 * rng.normal(size=(n, 20, 5))
    return moods, frames


def rated(moods, n_listeners=60):
    """Return what listeners of unequal care say, each of some songs."""
    noise = rng.choice([0.1, 0.4, 1.0], n_listeners)
    ratings = moods[:, None] + noise * rng.normal(size=(len(moods), n_listeners))
    ratings[rng.random(ratings.shape) > 0.15] = np.nan
    return ratings


moods, frames = simulated_songs(160, (-0.2, -0.1))
moods_target, frames_target = simulated_songs(100, (0.2, 0.2))
labels = np.column_stack([consensus(rated(m)).labels for m in moods.T])
mixture = BayesianGaussianMixture(
    n_components=12, max_iter=500, tol=1e-2, random_state=0
)
mixture.set_params(weight_concentration_prior_type="dirichlet_process")
mixture.fit(frames[:, ::2].reshape(-1, 5))
used = mixture.weights_ > 1e-3
X, X_target = (
    mixture.predict_proba(f.reshape(-1, 5)).reshape(len(f), 20, 12).mean(axis=1)
    for f in (frames, frames_target)
)
X, X_target = X[:, used], X_target[:, used]
print(f"Simulated songs, {used.sum()} components:")
compare(X, labels, X_target, moods_target)

file = Path(os.environ.get("COUNTERPOISE_DATA", "none")) / "deam_music_emotion"
if file.is_dir():
    with gzip.open(file / "deam_features_annotations.csv.gz", "rt") as rows:
        table = np.genfromtxt(rows, delimiter=",", skip_header=1)
    old, new = (table[table[:, -1] == year] for year in (2013, 2014))
    mean, scale = old[:, 2:39].mean(axis=0), old[:, 2:39].std(axis=0)
    X, X_target = ((songs[:, 2:39] - mean) / scale for songs in (old, new))
    print("DEAM, 2013 -> 2014:")
    compare(X, (old[:, [39, 41]] - 5) / 4, X_target, (new[:, [39, 41]] - 5) / 4)
else:
    print("DEAM left out: COUNTERPOISE_DATA has no folder deam_music_emotion")
