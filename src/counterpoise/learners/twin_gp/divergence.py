"""The whole divergence of the two Gaussians, not only what y decides of it."""

import numpy as np

from counterpoise.learners.twin_gp.building import Model
from counterpoise.learners.twin_gp.exact import ExactModel
from counterpoise.learners.twin_gp.landmarks import LandmarkModel
from counterpoise.learners.twin_gp.local import LocalModel
from counterpoise.learners.twin_gp.rows import Rows
from counterpoise.numerics.arrays import Array


def divergences(model: Model, X: Array, Y: Array) -> Array:
    """Return the divergence, in nats, over training rows and test row, exactly.

    By the chain rule it is that of the training rows plus the answer's gap. Through
    landmarks or neighbours the factors of all rows, or of each row's neighbours, are
    made for it.
    """
    if isinstance(model, LocalModel):
        return np.array(
            [_one(_around(model, x), x, y) for x, y in zip(X, Y, strict=True)]
        )
    exact = model.exact() if isinstance(model, LandmarkModel) else model
    return of_training_rows(exact) + exact.pose(X).prove(Y).gap


def of_training_rows(model: ExactModel) -> float:
    """Return the divergence of the training rows' Gaussians: N^3 flops for KL."""
    inputs, outputs, settings = model.inputs.factor, model.outputs, model.settings
    logs = inputs.log_determinant() - outputs.log_determinant()
    kind = settings.loss.mixed
    if kind == "linear":
        trace = float(np.sum(inputs.forward(outputs.lower.T) ** 2))
        return 0.5 * (trace - len(model.rows) + logs)
    if kind == "quadratic":
        trace = float(np.sum(outputs.forward(inputs.lower.T) ** 2))
        return 0.5 * (trace - len(model.rows) - logs)
    assert model.mixture is not None
    t = settings.theta
    mean = (1 - t) * inputs.log_determinant() + t * outputs.log_determinant()
    return (model.mixture.log_determinant() - mean) / (2.0 * (1.0 - t))


def _around(model: LocalModel, x: Array) -> ExactModel:
    near, root = model.neighbors(x[None])
    used = near[0][root[0] > 0.0]
    rows = model.rows
    some = Rows(rows.X[used], rows.Y[used], rows.weight[used], rows.group[used])
    return ExactModel.of(some, model.settings)


def _one(model: ExactModel, x: Array, y: Array) -> float:
    gap = model.pose(x[None]).prove(y[None]).gap
    return of_training_rows(model) + float(gap[0])
