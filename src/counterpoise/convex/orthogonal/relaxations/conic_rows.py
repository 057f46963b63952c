"""A conic programme put together cone by cone, solved by Clarabel."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import sparse

from counterpoise.numerics.arrays import Array

Cone = Literal["zero", "nonnegative", "second-order", "semidefinite"]


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """What Clarabel found.

    Attributes
    ----------
    x : array
        The variables; not finite where it gave up.
    multipliers : list of arrays
        One a cone, in the order in which they were added.
    """

    x: Array
    multipliers: list[Array]


@dataclass(eq=False)
class ConicRows:
    """Cones that hold affine functions of the variables, F x + g.

    Parameters
    ----------
    size : int
        The number of variables.
    accuracy : float
        Clarabel's tolerance on gap and feasibility.

    Notes
    -----
    Only the objective changes between solves (`again`), so that the data are set up and
    the pattern of the factor is found once.
    """

    size: int
    accuracy: float = 1e-9
    _rows: list[Any] = field(default_factory=list)
    _right: list[Array] = field(default_factory=list)
    _cones: list[tuple[Cone, int, int]] = field(default_factory=list)
    _solver: Any = None

    def cone(self, kind: Cone, F: Any, g: Array, order: int = 0) -> None:
        """Ask that F x + g lies in a cone.

        A semidefinite one of an `order` takes the upper triangle, column after column,
        entries beside the diagonal times the root of two.
        """
        if len(g) == 0:
            return
        self._rows.append(-sparse.csc_matrix(F))
        self._right.append(np.asarray(g, dtype=float))
        self._cones.append((kind, len(g), order or len(g)))

    def solve(self, q: Array, Q: Any = None) -> ConicAnswer:
        """Minimise q'x + x'Qx / 2."""
        import clarabel

        make = {
            "zero": clarabel.ZeroConeT,
            "nonnegative": clarabel.NonnegativeConeT,
            "second-order": clarabel.SecondOrderConeT,
            "semidefinite": clarabel.PSDTriangleConeT,
        }
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        if hasattr(settings, "max_threads"):
            settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = self.accuracy
        settings.tol_feas = self.accuracy
        settings.presolve_enable = False
        settings.chordal_decomposition_enable = False
        Q = sparse.csc_matrix((self.size, self.size)) if Q is None else Q
        self._solver = clarabel.DefaultSolver(
            sparse.triu(sparse.csc_matrix(Q), format="csc"),
            q,
            sparse.vstack(self._rows, format="csc"),
            np.concatenate(self._right),
            [make[kind](order) for kind, _, order in self._cones],
            settings,
        )
        return self._answer()

    def again(self, q: Array, Q: Any = None) -> ConicAnswer:
        """Minimise another objective over the same cones."""
        if self._solver is None:
            return self.solve(q, Q)
        if Q is None:
            self._solver.update(q=q)
        else:
            self._solver.update(q=q, P=sparse.triu(sparse.csc_matrix(Q), format="csc"))
        return self._answer()

    def _answer(self) -> ConicAnswer:
        answer = self._solver.solve()
        x, z = np.asarray(answer.x, dtype=float), np.asarray(answer.z, dtype=float)
        ends = np.cumsum([count for _, count, _ in self._cones])[:-1]
        return ConicAnswer(x, np.split(z, ends))


def triangle(order: int) -> tuple[Any, Any, Array]:
    """Return rows, columns and factors of an upper triangle, column after column."""
    columns, rows = np.tril_indices(order)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))
