"""Every method that is measured: of rows and columns, what is to be called.

Peers are imported where they are called: this file runs in their environments too.
"""

import sys
from pathlib import Path

import numpy as np


def two_samples(n, d):
    """Return two normal samples a little apart, in numpy alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, 0.9 * rng.standard_normal((n, d)) + 0.5 / np.sqrt(d)


def weight_estimator(name, **parameters):
    """Return the maker of a fit of one of our weight estimators."""

    def make(n, d):
        import counterpoise

        X, X_target = two_samples(n, d)
        fitted = getattr(counterpoise, name)(**parameters)
        return lambda: fitted.fit(X, X_target=X_target)

    return make


def label_weighter(n, d):
    """Return a fit of the weight estimator that goes by labels, here a column of its "
    "own."""
    from counterpoise import LabelShiftWeights

    X, X_target = two_samples(n, d)
    y = X[:, 0] + np.random.default_rng(1).standard_normal(n)
    fitted = LabelShiftWeights(random_state=0, allow_no_overlap=True)
    return lambda: fitted.fit(X, y, X_target=X_target)


def adapt(name, **parameters):
    """Return the maker of a fit of one of adapt's weight estimators."""

    def make(n, d):
        sys.path.append(str(Path(__file__).resolve().parents[1] / "weights"))
        import no_tensorflow

        no_tensorflow.install()
        import adapt.instance_based as methods

        X, X_target = two_samples(n, d)
        fitted = getattr(methods, name)(verbose=0, random_state=0, **parameters)
        return lambda: fitted.fit_weights(X, X_target)

    return make


def skada(n, d):
    from skada import KLIEPReweightAdapter

    X, X_target = two_samples(n, d)
    both = np.vstack([X, X_target])
    domain = np.repeat([1, -1], n)
    fitted = KLIEPReweightAdapter(gamma=0.1, random_state=0)
    return lambda: fitted.fit(both, sample_domain=domain)


def solver(name, spread=0.0):
    """Return the maker of weights of least discrepancy by one solver."""

    def make(n, d):
        from counterpoise import DiscrepancyWeights

        X, X_target = two_samples(n, d)
        fitted = DiscrepancyWeights(solver=name, tol=1e-2, spread=spread)
        return lambda: fitted.fit(X, X_target=X_target)

    return make


def cone_solver(name):
    """Return the maker of the same weights by a solver of cones, through cvxpy.

    min t over z in the simplex with -t I <= M - sum_i z_i x_i x_i' <= t I, where M is
    the target's second moment; M and rows are those that our solvers get.
    """

    def make(n, d):
        import cvxpy as cp

        from counterpoise.optim import Discrepancy

        problem = Discrepancy.of(*two_samples(n, d))
        rows, unit = problem.rows, problem.uniform_value
        outer = np.einsum("ij,ik->jki", rows, rows).reshape(-1, n) / unit

        def call():
            z, t = cp.Variable(n, nonneg=True), cp.Variable()
            inside = cp.reshape(outer @ z, (d, d), order="C")
            M = problem.target_moment / unit - inside
            M = 0.5 * (M + M.T)
            eye = np.eye(d)
            limits = [t * eye - M >> 0, t * eye + M >> 0, cp.sum(z) == 1]
            precision = {"eps": 1e-3} if name == "SCS" else {}
            cp.Problem(cp.Minimize(t), limits).solve(solver=name.upper(), **precision)

        return call

    return make


def _classes(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.sign(X[:, 0] + 0.5 * rng.standard_normal(n)), rng.random(n) + 0.5


def svm_path(n, d):
    from counterpoise.svm import WeightedSVC

    X, y, weights = _classes(n, d)
    fitted = WeightedSVC(C=10.0, gamma=1.0 / d).fit(X, y)
    return lambda: fitted.path(sample_weight=weights)


def svm_fit(n, d):
    from counterpoise.svm import WeightedSVC

    X, y, _ = _classes(n, d)
    return lambda: WeightedSVC(C=10.0, gamma=1.0 / d).fit(X, y)


def hundred_refits(n, d):
    from sklearn.svm import SVC

    X, y, weights = _classes(n, d)

    def refit():
        for theta in np.linspace(0, 1, 100):
            SVC(C=10.0, gamma=1.0 / d).fit(X, y, 1 + theta * (weights - 1))

    return refit


def _many_outputs(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.tanh(X @ rng.standard_normal((d, 6))), rng.standard_normal((200, d))


def twin_gp(divergence):
    """Return the maker of a fit and 200 answers of a twin process."""

    def make(n, d):
        from counterpoise.twin_gp import TwinGP

        X, y, new = _many_outputs(n, d)
        model = TwinGP(divergence=divergence, ridge_x=1e-2, ridge_y=1e-2)
        return lambda: model.fit(X, y).predict(new)

    return make


def gpr(n, d):
    from sklearn.gaussian_process import GaussianProcessRegressor

    X, y, new = _many_outputs(n, d)
    model = GaussianProcessRegressor(alpha=1e-2, optimizer=None)
    return lambda: model.fit(X, y).predict(new)


def run(estimator):
    """Return the maker of the main job, in memory: adapt, and estimate."""

    def make(n, d):
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import Ridge

        from counterpoise import Adapted, estimate_performance

        X, X_target = two_samples(n, d)
        y = X[:, 0] + np.random.default_rng(1).standard_normal(n)
        own = {"ridge": Ridge(), "boosting": HistGradientBoostingRegressor()}[estimator]

        def job():
            model = Adapted(own, random_state=0).fit(X, y, X_target=(X_target,))
            estimate_performance(model, X, y, X_target, cv=5, random_state=0)

        return job

    return make


def command(estimator):
    """Return the maker of the command `run`: two Parquet files in, everything out."""

    def make(n, d):
        import pandas as pd

        from counterpoise.cli.main import main

        X, X_target = two_samples(n, d)
        names = [f"x{k}" for k in range(d)]
        source = pd.DataFrame(X, columns=names)
        source["y"] = X[:, 0] + np.random.default_rng(1).standard_normal(n)
        source.to_parquet(f"source-{n}-{d}.parquet")
        pd.DataFrame(X_target, columns=names).to_parquet(f"target-{n}-{d}.parquet")
        words = ["run", "--source", f"source-{n}-{d}.parquet", "--label", "y"]
        words += ["--target", f"target-{n}-{d}.parquet", "--estimator", estimator]
        words += ["--out", f"out-{n}-{d}", "--quiet", "--overwrite"]

        def call():
            code = main(words)
            if code:
                raise RuntimeError(f"exit code {code}")

        return call

    return make


def nannyml(n, d):
    """Return the estimate of a loss and the drift of every column."""
    import nannyml as nml
    import pandas as pd

    X, X_target = two_samples(n, d)
    names = [f"x{k}" for k in range(d)]
    reference = pd.DataFrame(X, columns=names)
    reference["predicted"] = X[:, 0]
    reference["y"] = X[:, 0] + np.random.default_rng(1).standard_normal(n)
    analysis = pd.DataFrame(X_target, columns=names)
    analysis["predicted"] = X_target[:, 0]

    def call():
        said = {"y_true": "y", "y_pred": "predicted", "metrics": ["mse"]}
        loss = nml.DLE(feature_column_names=names, chunk_number=1, **said)
        loss.fit(reference).estimate(analysis)
        drift = nml.UnivariateDriftCalculator(column_names=names, chunk_number=1)
        drift.fit(reference).calculate(analysis)

    return call


def evidently(n, d):
    """Return the report of the drift of every column, and its page."""
    import pandas as pd
    from evidently import Report
    from evidently.presets import DataDriftPreset

    names = [f"x{k}" for k in range(d)]
    first, second = (pd.DataFrame(one, columns=names) for one in two_samples(n, d))

    def call():
        Report([DataDriftPreset()]).run(second, first).save_html("drift.html")

    return call


OURS = {
    "AutoWeights": weight_estimator("AutoWeights", random_state=0),
    "KLIEP": weight_estimator("KLIEP", random_state=0),
    "KLIEP, one width": weight_estimator("KLIEP", gamma="median", random_state=0),
    "LSIF": weight_estimator("LSIF", random_state=0),
    "ULSIF": weight_estimator("ULSIF", random_state=0),
    "RULSIF": weight_estimator("RULSIF", random_state=0),
    "KMM": weight_estimator("KMM", random_state=0),
    "LogLinearKLIEP": weight_estimator("LogLinearKLIEP", random_state=0),
    "DiscriminatorWeights": weight_estimator("DiscriminatorWeights", random_state=0),
    "DiscrepancyWeights": weight_estimator("DiscrepancyWeights"),
    "LabelShiftWeights": label_weighter,
}
PEERS = {
    "adapt KLIEP, one width": adapt("KLIEP", gamma=0.1),
    "adapt ULSIF": adapt("ULSIF", gamma=0.1),
    "adapt KMM": adapt("KMM", gamma=0.1),
    "skada KLIEP, one width": skada,
}
SOLVERS = {
    name: solver(name)
    for name in (
        "interior-point",
        "column-generation",
        "subspace",
        "smoothing",
        "multiplicative-weights",
        "subgradient",
        "frobenius",
        "sdp",
    )
}
# With the spread that is the default.
SPREAD_SOLVERS = {
    f"{name}, spread": solver(name, "auto")
    for name in ("dual-newton", "column-generation")
}
CONE_SOLVERS = {
    "Clarabel, by cvxpy": cone_solver("Clarabel"),
    "SCS, by cvxpy": cone_solver("SCS"),
}
# Peer of the main job -> its environment, and what it does of the job.
WATCHERS = {
    "NannyML, loss and drift": ("nannyml", nannyml),
    "evidently, drift and page": ("evidently", evidently),
}
METHODS = {
    **OURS,
    **PEERS,
    **SOLVERS,
    **SPREAD_SOLVERS,
    **CONE_SOLVERS,
    **{name: make for name, (_, make) in WATCHERS.items()},
    "path of all weights": svm_path,
    "WeightedSVC, one fit": svm_fit,
    "scikit-learn, 100 refits": hundred_refits,
    "TwinGP, KL": twin_gp("kl"),
    "TwinGP, inverse KL": twin_gp("inverse-kl"),
    "TwinGP, Sharma-Mittal": twin_gp("sharma-mittal"),
    "scikit-learn GPR": gpr,
    "adapt and estimate, ridge": run("ridge"),
    "adapt and estimate, boosting": run("boosting"),
    "counterpoise run, ridge": command("ridge"),
    "counterpoise run, boosting": command("boosting"),
}
