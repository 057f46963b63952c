"""Twenty thousand rows without their Gram matrix."""

import resource

from reporting import bar, table, timed
from samples import covariate_shift
from sklearn.svm import SVC

from counterpoise.svm import WeightedSVC


def run(quick):
    n = 3000 if quick else 20_000
    X, y, w, *_ = covariate_shift(n)
    WeightedSVC(gamma=0.25, cache_size=0.01).fit(X[:99], y[:99]).path(w[:99])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows, bars = [], []
    for C in (1.0, 100.0):
        one, _ = timed(lambda: SVC(C=C, gamma=0.25).fit(X, y), calls=1)  # noqa: B023
        model = WeightedSVC(C=C, gamma=0.25)
        start, _ = timed(lambda: model.fit(X, y), calls=1)  # noqa: B023
        spent, path = timed(lambda: model.path(sample_weight=w), calls=1)  # noqa: B023
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        residual = max(path.certify(t).residual for t in (0.0, 0.37, 1.0))
        rows.append([C, path.n_events, one, start, spent, 1e-6 * peak, residual])
        bars += [
            bar(f"C = {C:g}: path / one fit", spent / one, most=1.0),
            bar(f"C = {C:g}: peak GB", 1e-6 * (peak - before), most=1.0),
            bar(f"C = {C:g}: residual", residual, most=1e-10),
        ]
    header = "C | events | SVC s | fit s | path s | peak GB with imports | residual"
    return {"table": table(f"n = {n}", header, rows), "bars": bars}
