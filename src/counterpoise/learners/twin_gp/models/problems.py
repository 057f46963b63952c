"""The problems of many test rows: what to minimise over y, and what is proved."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.convex.certificate import Certificate
from counterpoise.learners.twin_gp.models.rows import Settings
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.batched_lbfgs import Minima, minimize_together

# How far from the GPR mean a search starts, in widths of the output kernel.
PUSH = 1e-3
# Inputs of whose variance the training inputs explain less are like none of them.
UNEXPLAINED = 0.5
# Outputs of whose variance the training outputs explain less are like none of them.
UNLIKE = 1e-6


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proved about the answers to some test rows, an entry each.

    Attributes
    ----------
    value : array of shape (m,)
        The loss: the divergence in nats, up to a constant free of y.
    bound : array of shape (m,)
        What no y goes below.
    residual : array of shape (m,)
        Scaled stationarity, :math:`|dL/dy| / \\sqrt{2 \\gamma_y} / \\max(1, |L|)`
        in units of the loss's `scale`; infinite where y is like no training output,
        and every loss is flat.
    """

    value: Array
    bound: Array
    residual: Array

    @property
    def gap(self) -> Array:
        """The divergence to its lower bound, in nats; rounding may not go below."""
        return np.maximum(self.value - self.bound, 0.0)

    def __getitem__(self, row: int) -> Certificate:
        return Certificate(
            kind="divergence",
            objective=float(self.value[row]),
            bound=float(self.bound[row]),
            gap=float(self.gap[row]),
            residual=float(self.residual[row]),
        )

    def of(self, some: NDArray[np.bool_]) -> "Proof":
        """Return what is proved about some of the rows."""
        return Proof(self.value[some], self.bound[some], self.residual[some])

    def certificates(self) -> list[Certificate]:
        """Return a certificate a test row."""
        return [self[row] for row in range(len(self.value))]

    def summary(self) -> Certificate:
        """Return one certificate of all: mean values, and the largest residual."""
        if not len(self.value):
            return Certificate("none", 0.0)
        return Certificate(
            kind="divergence",
            objective=float(self.value.mean()),
            bound=float(self.bound.mean()),
            gap=float(self.gap.mean()),
            residual=float(self.residual.max()),
        )


class FoundAnswers(NamedTuple):
    """Answers to test rows, the steps they took, and what is left of their slopes.

    `residual` is as in `Proof`, and zero for rows that are like no training input,
    whose answer is the GPR mean and not stationary.
    """

    x: Array
    residual: Array
    n_iter: Indices


class Outputs(NamedTuple):
    """Outputs of some test rows, one each, as a model sees them, in arrays of its own.

    Attributes
    ----------
    kernel : array of shape (a, r)
        Similarities to the rows, or landmarks, of the model.
    features : array of shape (a, r)
        What e_y and the mixed term are functions of: the kernel itself, or the
        landmarks' coordinates.
    solved : array of shape (a, r)
        The inverse of the features' covariance times them.
    e_y : array of shape (a,)
        Schur complement.
    fall : array of shape (a, r)
        Minus half of its slope by the features.
    """

    kernel: Array
    features: Array
    solved: Array
    e_y: Array
    fall: Array


class TwinProblems(ABC):
    """Test inputs, and for each the loss of every output y.

    A model says what an output looks like to it (`outputs`), what the mixed term of the
    loss is (`mixed`), and how a slope by features is one by y (`pulled_back`).
    """

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The numbers of the model."""

    @cached_property
    @abstractmethod
    def e_x(self) -> Array:
        """Schur complement of the inputs, (m,)."""

    @property
    @abstractmethod
    def directions(self) -> Array | None:
        """Orthonormal columns that answers may differ by; None: all directions."""

    @abstractmethod
    def mean(self) -> Array:
        """Return the weighted GPR mean, (m, d)."""

    @abstractmethod
    def likest(self) -> Array:
        """Return the outputs of the most similar training inputs, (m, d)."""

    @abstractmethod
    def outputs(self, Y: Array, which: Indices) -> Outputs:
        """Return outputs of some test rows as the model sees them."""

    @abstractmethod
    def mixed(self, at: Outputs, which: Indices) -> tuple[Array, Array]:
        """Return the mixed term, and its slope by the features in an array of its own.

        See `losses` for what it is.
        """

    @abstractmethod
    def pulled_back(self, slope: Array, at: Outputs, Y: Array, which: Indices) -> Array:
        """Return slopes by y, without the factor 2 gamma_y; `slope` is overwritten."""

    @abstractmethod
    def spread(self) -> Array:
        """Return u'S_y u, which the bound of KL needs, (m,)."""

    def evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array]:
        """Return the losses (a,) and gradients (a, d) of some test rows."""
        value, gradient, _ = self._evaluate(Y, which)
        return value, gradient

    def _evaluate(self, Y: Array, which: Indices) -> tuple[Array, Array, Array]:
        """Return losses, gradients and e_y."""
        loss = self.settings.loss
        at = self.outputs(Y, which)
        mixed, slope = self.mixed(at, which)
        # Only Sharma and Mittal's loss does without e_x.
        e_x = mixed if loss.mixed == "mixture" else self.e_x[which]
        by_mixed, by_e_y = loss.slopes(mixed, at.e_y, e_x)
        slope *= by_mixed[:, None]
        fall = at.fall
        fall *= (2.0 * by_e_y)[:, None]
        slope -= fall
        gradient = self.pulled_back(slope, at, Y, which)
        gradient *= 2.0 * self.settings.gamma_y
        return loss.value(mixed, at.e_y, e_x), gradient, at.e_y

    def bounds(self) -> Array:
        """Return what no y goes below, (m,)."""
        loss, e_x = self.settings.loss, self.e_x
        spread = self.spread() if loss.mixed == "linear" else np.zeros_like(e_x)
        return loss.bound(e_x, spread)

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Which inputs are like no training input, (m,)."""
        return self.e_x > 1.0 + self.settings.ridge_x - UNEXPLAINED

    def start(self) -> Array:
        """Return the weighted GPR mean, pushed a little towards the likest output.

        Where rows are mirrored the mean itself is a saddle, on which a search would
        stay.
        """
        mean = self.mean()
        push = self.likest() - mean
        length = np.linalg.norm(push, axis=1)
        most = PUSH * self.settings.radius
        push *= (most / np.maximum(length, most))[:, None]
        return mean + push

    def answers(self, tol: float, max_iter: int = 200) -> FoundAnswers:
        """Return a minimum of every test row, found from the start.

        Rows that are like no training input keep the GPR mean: there all losses ask for
        an output that is like no other, and the minimum lies away from the data.
        """
        known = np.flatnonzero(~self.lost)
        found = self.solve(self.start()[known], known, tol, max_iter)
        answers, residual = self.mean(), np.zeros(len(self.lost))
        n_iter = np.zeros(len(answers), dtype=np.intp)
        answers[known], residual[known], n_iter[known] = (
            found.x,
            found.residual / self.settings.loss.scale,
            found.n_iter,
        )
        return FoundAnswers(answers, residual, n_iter)

    def solve(
        self, start: Array, rows: Indices, tol: float, max_iter: int = 200
    ) -> Minima:
        """Return stationary points of some test rows, from a start each."""
        directions, settings = self.directions, self.settings
        minimize = partial(
            minimize_together,
            radius=settings.radius,
            tol=tol * settings.loss.scale,
            max_iter=max_iter,
        )
        if directions is None:
            return minimize(lambda Y, which: self.evaluate(Y, rows[which]), start)

        def along(steps: Array, which: Indices) -> tuple[Array, Array]:
            Y = start[which] + steps @ directions.T
            value, gradient = self.evaluate(Y, rows[which])
            return value, gradient @ directions

        found = minimize(along, np.zeros((len(start), directions.shape[1])))
        return found._replace(x=start + found.x @ directions.T)

    def prove(self, Y: Array) -> Proof:
        """Judge answers, whoever found them."""
        value, gradient, e_y = self._evaluate(Y, np.arange(len(Y)))
        steep = np.linalg.norm(gradient, axis=1) * self.settings.radius
        residual = steep / np.maximum(1.0, np.abs(value)) / self.settings.loss.scale
        flat = e_y > (1.0 - UNLIKE) * (1.0 + self.settings.ridge_y)
        return Proof(value, self.bounds(), np.where(flat, np.inf, residual))


def together(proofs: Sequence[Proof]) -> Proof:
    """Return the proofs of several blocks of test rows as one."""
    return Proof(
        np.concatenate([one.value for one in proofs]),
        np.concatenate([one.bound for one in proofs]),
        np.concatenate([one.residual for one in proofs]),
    )
