"""The whole divergence of the two Gaussians, not only what y decides of it."""

import numpy as np

from counterpoise.learners.twin_gp.models.blocks import block_size
from counterpoise.learners.twin_gp.models.building import Model
from counterpoise.learners.twin_gp.models.exact import ExactModel
from counterpoise.learners.twin_gp.models.landmarks import LandmarkModel
from counterpoise.learners.twin_gp.models.local import LocalModel
from counterpoise.learners.twin_gp.models.rows import TwinRows
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
    size = block_size(exact.row_bytes())
    gaps = [
        exact.pose(X[first : first + size]).prove(Y[first : first + size]).gap
        for first in range(0, len(X), size)
    ]
    return of_training_rows(exact) + np.concatenate(gaps)


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
    used = root[0] > 0.0
    some = model.rows.take(near[0][used])
    counted = TwinRows(some.X, some.Y, root[0][used] ** 2, some.group)
    return ExactModel.of(counted, model.settings)


def _one(model: ExactModel, x: Array, y: Array) -> float:
    gap = model.pose(x[None]).prove(y[None]).gap
    return of_training_rows(model) + float(gap[0])
