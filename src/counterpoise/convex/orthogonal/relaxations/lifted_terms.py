"""A problem's terms as linear functions of P, X = PP', and two epigraphs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows
from counterpoise.convex.orthogonal.spectrum import dense
from counterpoise.numerics.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class LiftedTerms:
    """Variables P (row after row), X (diagonal, then some pairs), t, u; and the terms.

    Parameters
    ----------
    problem : OrthogonalProblem
    every_pair : bool
        Whether all entries of X are variables; else those that a term names.
    with_frame : bool
        Whether P is a variable; not needed where it enters through PP' alone.
    """

    problem: Any
    every_pair: bool = True
    with_frame: bool = True

    @property
    def frame(self) -> slice:
        """Where P stands."""
        n, m = self.problem.shape
        return slice(0, n * m if self.with_frame else 0)

    @property
    def lifted(self) -> slice:
        """Where X stands."""
        first = self.frame.stop
        return slice(first, first + len(self.rows))

    @property
    def top(self) -> int:
        """Where t stands, if there is one."""
        return self.lifted.stop

    @property
    def sizes(self) -> slice:
        """Where the absolute values stand."""
        first = self.top + (self.problem.forms is not None)
        count = 0 if self.problem.l1 is None else len(self.problem.l1[1])
        return slice(first, first + count)

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.sizes.stop

    @cached_property
    def rows(self) -> Indices:
        """Rows of the entries of X; those of the diagonal come first."""
        return self._entries[0]

    @cached_property
    def columns(self) -> Indices:
        """Columns of the entries of X, never below their rows."""
        return self._entries[1]

    @cached_property
    def _entries(self) -> tuple[Indices, Indices]:
        n = self.problem.shape[0]
        upper = np.triu_indices(n, 1)
        if not self.every_pair:
            used = np.zeros((n, n), dtype=bool)
            for M in self._matrices():
                used |= dense(M) != 0.0
            if self.problem.forms is not None:
                used |= (self.problem.forms.matrices() != 0.0).any(axis=0)
            above, beside = np.nonzero(np.triu(used, 1))
            upper = above, beside
        own = np.arange(n)
        return np.concatenate([own, upper[0]]), np.concatenate([own, upper[1]])

    def _matrices(self) -> list[Any]:
        own = [self.problem.quadratic]
        own += [one.quadratic for one in self.problem.constraints]
        return [M for M in own if M is not None]

    def of_lifted(self, M: Any) -> Array:
        """Return the coefficients of <M, X> on the entries of X."""
        if M is None:
            return np.zeros(len(self.rows))
        twice = np.where(self.rows == self.columns, 1.0, 2.0)
        return twice * np.asarray(dense(M)[self.rows, self.columns])

    def affine(self, M: Any, N: Array | None) -> Array:
        """Return the coefficients of <M, X> + <N, P>."""
        out = np.zeros(self.size)
        out[self.lifted] = self.of_lifted(M)
        if N is not None:
            out[self.frame] = N.ravel()
        return out

    def objective(self) -> Array:
        """Return the coefficients of the relaxed objective."""
        out = self.affine(self.problem.quadratic, self.problem.linear)
        if self.problem.forms is not None:
            out[self.top] = 1.0
        out[self.sizes] = 1.0
        return out

    def add_terms(self, rows: ConicRows) -> list[str]:
        """Add what the terms ask, and return the names of the cones in order.

        "trace", "weights" (forms below t), "signs" (absolute values below u, first the
        plain ones), "prices" (constraints), "signs of P".
        """
        problem, n = self.problem, self.problem.shape[0]
        names = ["trace"]
        trace = np.zeros((1, self.size))
        trace[0, self.lifted.start : self.lifted.start + n] = 1.0
        rows.cone("zero", trace, np.array([-float(problem.shape[1])]))
        if problem.forms is not None:
            twice = np.where(self.rows == self.columns, 1.0, 2.0)
            stack = problem.forms.matrices()[:, self.rows, self.columns] * twice
            F = np.zeros((len(stack), self.size))
            F[:, self.lifted] = -stack
            F[:, self.top] = 1.0
            rows.cone("nonnegative", F, np.zeros(len(stack)))
            names.append("weights")
        if problem.l1 is not None:
            B, b = problem.l1
            F = np.zeros((len(b), self.size))
            F[:, self.frame] = B.reshape(len(b), -1)
            above = np.zeros_like(F)
            above[:, self.sizes] = np.eye(len(b))
            rows.cone(
                "nonnegative",
                np.vstack([above - F, above + F]),
                np.concatenate([-b, b]),
            )
            names.append("signs")
        if problem.constraints:
            parts = [self.affine(c.quadratic, c.linear) for c in problem.constraints]
            constants = np.array([one.constant for one in problem.constraints])
            rows.cone("nonnegative", -np.stack(parts), -constants)
            names.append("prices")
        if problem.nonnegative and self.with_frame:
            count = self.frame.stop
            F = sparse.eye_array(count, self.size)
            rows.cone("nonnegative", F, np.zeros(count))
            names.append("signs of P")
        return names
