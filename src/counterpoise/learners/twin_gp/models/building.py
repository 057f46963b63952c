"""Which model a twin Gaussian process uses: all rows, landmarks, or neighbours."""

import time
from typing import TypeAlias

import numpy as np

from counterpoise.convex import Solution, attested
from counterpoise.learners.twin_gp.models.blocks import blocks, check_factors_fit
from counterpoise.learners.twin_gp.models.exact import ExactModel
from counterpoise.learners.twin_gp.models.landmarks import (
    LandmarkModel,
    OutputLandmarks,
)
from counterpoise.learners.twin_gp.models.local import LocalModel
from counterpoise.learners.twin_gp.models.problems import together
from counterpoise.learners.twin_gp.models.rows import Settings, TwinRows
from counterpoise.numerics.arrays import Array

Model: TypeAlias = ExactModel | LandmarkModel | LocalModel

# Up to so many rows all of them are as fast as landmarks; up to so many they are
# affordable where landmarks do not stand for them, and in a search.
FEW_ROWS, SOME_ROWS, SOME_IN_SEARCH = 500, 2000, 1000
# Most landmarks that "auto" takes, and most in a search.
MOST, MOST_IN_SEARCH = 400, 200
# Landmarks that leave more than this share of the ridge do not stand for all rows.
POOR = 0.1
# Training inputs on which a model is judged when it is fitted.
JUDGED = 20


def build(
    rows: TwinRows,
    settings: Settings,
    n_landmarks: int | str | None,
    n_neighbors: int | None,
) -> Model:
    """Return the model of rows.

    "auto" takes all rows while there are few, or some and the output kernel so narrow
    that the landmarks it may have do not stand for it.
    """
    rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
    if n_neighbors is not None:
        return LocalModel(rows, settings, n_neighbors)
    _check_memory(rows, settings)
    if n_landmarks is None or (n_landmarks == "auto" and len(rows) <= FEW_ROWS):
        return ExactModel.of(rows, settings)
    if isinstance(n_landmarks, str):
        return _through_landmarks(rows, settings, MOST, SOME_ROWS)
    return _through_landmarks(rows, settings, n_landmarks, 0)


def build_rough(rows: TwinRows, settings: Settings, n_neighbors: int | None) -> Model:
    """Return a model for a search: through landmarks, where few stand for all rows."""
    rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
    if n_neighbors is not None:
        return LocalModel(rows, settings, n_neighbors)
    _check_memory(rows, settings)
    if len(rows) <= MOST_IN_SEARCH:
        return ExactModel.of(rows, settings)
    return _through_landmarks(rows, settings, MOST_IN_SEARCH, SOME_IN_SEARCH)


def _check_memory(rows: TwinRows, settings: Settings) -> None:
    check_factors_fit(len(rows), 3 if settings.loss.mixed == "mixture" else 2)


def _through_landmarks(
    rows: TwinRows, settings: Settings, most: int, affordable: int
) -> Model:
    """Return a model of landmarks, or of all rows where they are few and those poor."""
    landmarks = OutputLandmarks.of(rows, settings, most)
    poor = landmarks.residual > POOR * settings.ridge_y
    if poor and len(rows) <= affordable:
        return ExactModel.of(rows, settings)
    return LandmarkModel.of(rows, settings, landmarks)


def judge(model: Model, tol: float, scale: Array) -> tuple[Solution, float | None]:
    """Return answers at some training inputs with their proof, and the landmark error.

    Rows that are like no other (`TwinProblems.lost`) are answered, not proved.
    The error is the mean distance, in the outputs' unit, between an answer through
    landmarks and the minimum of the loss of all rows that lies nearest down from it;
    zero for all rows, None for neighbours.
    """
    began = time.perf_counter()
    count = min(JUDGED, len(model.rows))
    some = np.linspace(0, len(model.rows) - 1, count).astype(np.intp)
    X = model.rows.X[some]
    found, proofs = [], []
    for part in blocks(X, model.row_bytes()):
        problems = model.pose(part)
        found.append(problems.answers(tol))
        proofs.append(problems.prove(found[-1].x).of(~problems.lost))
    proof = together(proofs).summary()
    answers = np.concatenate([one.x for one in found])
    n_iter = max(int(one.n_iter.max()) for one in found)
    ended = "proved" if proof.holds(tol) else "no step improves the point"
    seconds = time.perf_counter() - began
    solution = attested(
        answers, proof, tol, n_iter=n_iter, seconds=seconds, ended=ended
    )
    if isinstance(model, LocalModel):
        return solution, None
    if isinstance(model, ExactModel):
        return solution, 0.0
    exact = model.exact().pose(X)
    best = exact.solve(answers, np.arange(count), max(tol, 1e-6)).x
    error = np.linalg.norm((best - answers) * scale, axis=1)
    return solution, float(error.mean())
