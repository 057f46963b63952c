"""The path in C, and leaving out each row once, against refits."""

from reporting import bar, table, timed
from samples import covariate_shift
from sklearn.svm import SVC

from counterpoise.svm import WeightedSVC


def run(quick):
    n = 500 if quick else 1000
    X, y, *_ = covariate_shift(n)
    bars, rows = [], []
    model = WeightedSVC(C=1.0, gamma=0.25).fit(X, y)
    model.path(C=(0.01, 0.1))
    whole, path = timed(lambda: model.path(C=(0.01, 1e4)), 3)
    one, _ = timed(lambda: SVC(C=1e4, gamma=0.25).fit(X, y), 2)
    print(f"  C path: {path.n_events} events, {1e3 * whole:.1f} ms")
    bars.append(bar("C path [1e-2, 1e4] / one fit at C = 1e4", whole / one, most=0.5))
    bars.append(
        bar("residual on the C path", path.certify().residual, most=1e-15 * 1e4 * n)
    )
    for C in (1.0, 100.0, 1e4):
        model = WeightedSVC(C=C, gamma=0.25).fit(X, y)
        seconds, found = timed(model.leave_one_out, 2)
        refit, _ = timed(lambda: SVC(C=C, gamma=0.25).fit(X[1:], y[1:]), 3)  # noqa: B023
        ratio = n * refit / seconds
        rows.append([C, 1e3 * seconds, ratio, found.error])
        least = 25 if C <= 100 else 200
        bars.append(bar(f"leave-one-out, C = {C:g}: refits / ours", ratio, least=least))
    header = "C | ms | times faster | error"
    return {"table": table(f"Leave-one-out, n = {n}", header, rows), "bars": bars}
