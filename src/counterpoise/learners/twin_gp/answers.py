"""Answers to test rows with what is known about them, and what must be said."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from counterpoise.learners.twin_gp.models.building import Model
from counterpoise.learners.twin_gp.models.problems import UNEXPLAINED
from counterpoise.learners.twin_gp.models.rows import TwinRows, column_variances
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.distances import nearest_distance
from counterpoise.validation import warn_user

# An answer further than this from all training outputs, in widths of the output kernel,
# is like none of them; and so is one further than the outputs' spread.
FAR = 3.0


class TwinAnswers(NamedTuple):
    """Answers to test rows, an entry each.

    Attributes
    ----------
    outputs : array of shape (m, d)
    nats : array of shape (m,)
        The divergence above its lower bound; zero where nobody asked.
    residual : array of shape (m,)
        Scaled stationarity; zero for lost rows.
    moved : array of shape (m,)
        Distance from the GPR mean.
    lost : array of shape (m,)
        Whether the input is like no training input, so that the answer is the GPR mean.
    """

    outputs: Array
    nats: Array
    residual: Array
    moved: Array
    lost: NDArray[np.bool_]


def solve(model: Model, X: Array, tol: float, proved: bool) -> TwinAnswers:
    """Answer test rows that fit in memory together."""
    problems = model.pose(X)
    found = problems.answers(tol)
    nats = problems.prove(found.x).gap if proved else np.zeros(len(X))
    moved = np.linalg.norm(found.x - problems.mean(), axis=1)
    return TwinAnswers(found.x, nats, found.residual, moved, problems.lost)


def warn_of_answers(
    answers: TwinAnswers, rows: TwinRows, gamma_y: float, tol: float
) -> None:
    """Say which answers did not settle, have left the outputs, or know no input."""
    count = len(answers.outputs)
    if answers.lost.any():
        warn_user(
            f"{answers.lost.mean():.1%} of the rows are like no training input (these "
            f"explain less than {UNEXPLAINED:.0%} of their variance): their answer is "
            "the GPR mean"
        )
    short = answers.residual > tol
    if short.any():
        warn_user(
            f"{int(short.sum())} of {count} answers did not reach tol = {tol:g}: their "
            f"scaled gradients go up to {answers.residual.max():.1e}; raise the ridges "
            "or accept a larger tol",
            ConvergenceWarning,
        )
    width = 1.0 / np.sqrt(2.0 * gamma_y)
    spread = float(np.sqrt(column_variances(rows.Y, rows.weight).sum()))
    far = min(FAR * width, spread)
    unlike = nearest_distance(answers.outputs, rows.Y) > far
    gone = unlike & (answers.moved > far)
    if gone.any():
        warn_user(
            f"{gone.mean():.1%} of the answers have left the training outputs by more "
            f"than {far / spread:.2g} of their spread: the divergence asks for outputs "
            "like no other where the input says little; raise ridge_y, or use another "
            "divergence or WeightedGPR"
        )
    still = unlike & ~gone & ~answers.lost
    if still.any():
        warn_user(
            f"{still.mean():.1%} of the answers are like no training output: gamma_y = "
            f"{gamma_y:.3g} is too large for them, and they say no more than the GPR "
            "mean they started from"
        )
