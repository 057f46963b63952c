"""Boosting on a Dask cluster, fitted where the labels are, for where it must work.

The weights of source rows become a column of a Dask frame, and LightGBM's own Dask
estimator takes them as `sample_weight`. Here the cluster is two processes on this
machine; `distribute("tcp://...")` takes any other.

Needs lightgbm and counterpoise[dask].
"""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from lightgbm import DaskLGBMRegressor

from counterpoise import LogLinearKLIEP
from counterpoise.data import Blocks, distribute

COLUMNS = ["x0", "x1"]


def response(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def frames(n, seed=0):
    """A source with labels, a target without, and the target's labels for the end."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 2)), rng.normal([0.7, 0.4], 0.7, (n, 2))
    source = pd.DataFrame(X, columns=COLUMNS)
    source["y"] = response(X) + rng.normal(scale=0.3, size=n)
    return source, pd.DataFrame(T, columns=COLUMNS), response(T)


def main():
    source, target, truth = frames(6_000)
    labeled = dd.from_pandas(source, npartitions=4)
    live = dd.from_pandas(target, npartitions=4)
    with distribute(2) as client:
        weight_estimator = LogLinearKLIEP(random_state=0).fit(
            Blocks.from_dask(labeled[COLUMNS]), X_target=Blocks.from_dask(live)
        )
        weighed = labeled.map_partitions(
            lambda part: part.assign(
                weight=weight_estimator.predict_weights(part[COLUMNS])
            ),
            meta=source.assign(weight=1.0).iloc[:0],
        ).persist()
        for weights in (None, weighed["weight"]):
            model = DaskLGBMRegressor(
                client=client, n_estimators=30, num_leaves=6, random_state=0, verbose=-1
            )
            model.fit(weighed[COLUMNS], weighed["y"], sample_weight=weights)
            answers = np.asarray(model.predict(live).compute())
            error = float(np.mean((answers - truth) ** 2))
            told = "rows as they are" if weights is None else "rows weighed"
            print(f"{told}: mean squared error on the target {error:.4f}")


if __name__ == "__main__":
    main()
