"""Does the worst pair's subspace recognize faces better than LDA's?

165 faces of 15 people, 6 a person to fit: principal components (as many as rows beyond
the classes), a ridge of 5 % in the covariance within classes, nearest mean.
"""

import numpy as np
from real_sets import MissingDataError, faces
from reporting import bar, left_out, table
from sklearn.decomposition import PCA
from subspace_methods import error_of_nearest_mean, methods

LEAST = {3: 5.0, 4: 5.0}


def run(quick):
    try:
        X, y = faces()
    except MissingDataError as error:
        return left_out(str(error))
    found, all_ways = {}, 0 if quick else 4
    for split in range(4 if quick else 24):
        train, test = _split(y, split)
        pca = PCA(len(train) - 15, random_state=0).fit(X[train])
        A, B = pca.transform(X[train]), pca.transform(X[test])
        for m in (2, 3, 4, 6, 8):
            for name, method in methods(m, shrinkage=0.05).items():
                if name not in ("LDA", "softmin + polar") and split >= all_ways:
                    continue
                method.fit(A, y[train])
                places = method.transform(A), y[train], method.transform(B), y[test]
                found.setdefault((m, name), []).append(error_of_nearest_mean(*places))
    rows, bars = [], []
    for (m, name), errors in found.items():
        margin = np.array(found[m, "LDA"])[: len(errors)] - np.array(errors)
        spread = margin.std() / np.sqrt(len(errors))
        rows.append(
            [m, name, len(errors), np.mean(errors), float(margin.mean()), spread]
        )
        if m in LEAST and name == "softmin + polar":
            what = f"faces, m = {m}: error below LDA, points"
            bars.append(bar(what, float(margin.mean()), least=LEAST[m]))
    header = "m | method | splits | error % | below LDA | its se"
    return {"table": table("Yale faces, nearest mean", header, rows), "bars": bars}


def _split(y, seed, each=6):
    rng = np.random.default_rng(40_000 + seed)
    train = np.concatenate(
        [rng.permutation(np.flatnonzero(y == k))[:each] for k in np.unique(y)]
    )
    return train, np.setdiff1d(np.arange(len(y)), train)
