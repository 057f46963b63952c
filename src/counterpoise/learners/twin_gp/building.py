"""Which model a twin Gaussian process uses: all rows, landmarks, or neighbours."""

from typing import TypeAlias

import numpy as np

from counterpoise.convex.solve import Solution
from counterpoise.learners.twin_gp.blocks import check_factors_fit
from counterpoise.learners.twin_gp.exact import ExactModel
from counterpoise.learners.twin_gp.landmarks import LandmarkModel, Landmarks
from counterpoise.learners.twin_gp.local import LocalModel
from counterpoise.learners.twin_gp.rows import Rows, Settings
from counterpoise.numerics.arrays import Array

Model: TypeAlias = ExactModel | LandmarkModel | LocalModel

# Up to so many rows all of them are as fast as landmarks.
FEW_ROWS = 500
# Most landmarks that "auto" takes, and most in a search.
MOST, MOST_IN_SEARCH = 400, 200
# "auto" prefers all rows where landmarks leave more than this share of the ridge.
POOR = 0.1
# Training inputs on which a model is judged when it is fitted.
JUDGED = 20


def build(
    rows: Rows,
    settings: Settings,
    n_landmarks: int | str | None,
    n_neighbors: int | None,
) -> Model:
    """Return the model of rows.

    "auto" takes all rows while there are few, or where the output kernel is so narrow
    that the landmarks it may have do not stand for it.
    """
    rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
    if n_neighbors is not None:
        return LocalModel(rows, settings, n_neighbors)
    n_factors = 3 if settings.loss.mixed == "mixture" else 2
    check_factors_fit(len(rows), n_factors)
    auto = n_landmarks == "auto"
    if n_landmarks is None or (auto and len(rows) <= FEW_ROWS):
        return ExactModel.of(rows, settings)
    most = MOST if isinstance(n_landmarks, str) else n_landmarks
    landmarks = Landmarks.of(rows, settings, most)
    if auto and landmarks.residual > POOR * settings.ridge_y:
        return ExactModel.of(rows, settings)
    return LandmarkModel.of(rows, settings, landmarks)


def build_rough(rows: Rows, settings: Settings, n_neighbors: int | None) -> Model:
    """Return a model for a search: through landmarks wherever they are fewer."""
    most = None if len(rows) <= MOST_IN_SEARCH else MOST_IN_SEARCH
    return build(rows, settings, most, n_neighbors)


def judge(model: Model, tol: float, scale: Array) -> tuple[Solution, float | None]:
    """Return answers at some training inputs with their proof, and the landmark error.

    The error is the mean distance, in the outputs' unit, between an answer through
    landmarks and the minimum of the loss of all rows that lies nearest down from it;
    zero for all rows, None for neighbours.
    """
    count = min(JUDGED, len(model.rows))
    some = np.linspace(0, len(model.rows) - 1, count).astype(np.intp)
    problems = model.pose(model.rows.X[some])
    found = problems.solve(tol)
    proof = problems.prove(found.x).summary()
    ended = "proved" if proof.holds(tol) else "no step improves the point"
    n_iter = int(found.n_iter.max())
    solution = Solution(found.x, proof, tol, n_iter, ended=ended)
    if isinstance(model, LocalModel):
        return solution, None
    if isinstance(model, ExactModel):
        return solution, 0.0
    exact = model.exact().pose(model.rows.X[some])
    best = exact.solve(max(tol, 1e-6), start=found.x).x
    error = np.linalg.norm((best - found.x) * scale, axis=1)
    return solution, float(error.mean())
