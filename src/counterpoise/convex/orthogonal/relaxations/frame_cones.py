"""What a relaxation asks of P in place of P'P = I, and of X in place of X = PP'."""

from typing import Any, Literal

import numpy as np
from scipy import sparse

from counterpoise.convex.orthogonal.relaxations.conic_rows import ConicRows, triangle
from counterpoise.numerics.arrays import Indices

Relaxation = Literal["sdp", "parabolic"]


def add_ball(rows: ConicRows, relaxation: Relaxation, n: int, m: int) -> None:
    r"""Ask that I - P'P lies in the cone of the relaxation; P comes first, row by row.

    "sdp": singular values at most one. "parabolic": columns with
    :math:`|c_j| \le 1` and :math:`|c_i \pm c_j|^2 \le 2`.
    """
    if relaxation == "sdp":
        r, c, factor = triangle(n + m)
        at = np.flatnonzero((r < n) & (c >= n))
        F = sparse.csr_array(
            (factor[at], (at, r[at] * m + (c[at] - n))), shape=(len(r), rows.size)
        )
        rows.cone("semidefinite", F, (r == c).astype(float), n + m)
        return
    pairs = [(j, j, 0.0) for j in range(m)]
    pairs += [(i, j, s) for i in range(m) for j in range(i + 1, m) for s in (1.0, -1.0)]
    body = np.arange(n)
    for i, j, sign in pairs:
        at = np.concatenate([1 + body, 1 + body])
        columns = np.concatenate([body * m + i, body * m + j])
        entries = np.concatenate([np.ones(n), np.full(n, sign)])
        F = sparse.csr_array((entries, (at, columns)), shape=(n + 1, rows.size))
        g = np.zeros(n + 1)
        g[0] = 1.0 if sign == 0.0 else np.sqrt(2.0)
        rows.cone("second-order", F, g)


def add_lifting(
    rows: ConicRows, relaxation: Relaxation, shape: tuple[int, int], X: Any
) -> None:
    r"""Ask that X - PP' lies in the cone of the relaxation.

    Parameters
    ----------
    X : triple of arrays
        Rows, columns (not below them) and places of the entries that are variables,
        the diagonal first. "sdp" needs all of them. "parabolic" asks
        :math:`X_{ii} \ge |p_i|^2` and, of the pairs that are variables,
        :math:`X_{ii} + X_{jj} \pm 2 X_{ij} \ge |p_i \pm p_j|^2`; of other pairs
        nothing is lost, since no term sees them.
    """
    n, m = shape
    i, j, place = X
    if relaxation == "sdp":
        where = np.zeros((n, n), dtype=np.intp)
        where[i, j] = place
        add_schur(rows, where, m)
        return
    own = place[:n]
    # X_ii >= |p_i|^2 is the cone (X_ii + 1, 2 p_i, X_ii - 1).
    for row in range(n):
        _add_paraboloid(rows, [(own[row], 1.0)], [(row, 1.0)], m)
    for a, b, at in zip(i[n:], j[n:], place[n:], strict=True):
        for sign in (1.0, -1.0):
            _add_paraboloid(
                rows,
                [(own[a], 1.0), (own[b], 1.0), (at, 2.0 * sign)],
                [(int(a), 1.0), (int(b), sign)],
                m,
            )


def add_schur(rows: ConicRows, where: Indices, m: int) -> None:
    """Ask for [[X, P], [P', I]] >= 0, or for X >= 0 where m is zero.

    `where` has the places of the entries of X on and above the diagonal.
    """
    n = len(where)
    r, c, factor = triangle(n + m)
    at = np.arange(len(r))
    inside = c < n
    across = (r < n) & ~inside
    columns = np.concatenate(
        [where[r[inside], c[inside]], r[across] * m + (c[across] - n)]
    )
    places = np.concatenate([at[inside], at[across]])
    F = sparse.csr_array((factor[places], (places, columns)), shape=(len(r), rows.size))
    rows.cone("semidefinite", F, ((r == c) & (r >= n)).astype(float), n + m)


def _add_paraboloid(
    rows: ConicRows,
    above: list[tuple[int, float]],
    frame_rows: list[tuple[int, float]],
    m: int,
) -> None:
    """Ask that a sum of entries of X is at least the square of a sum of rows of P."""
    at, columns, entries = [], [], []
    for place, factor in above:
        at += [0, m + 1]
        columns += [place, place]
        entries += [factor, factor]
    for row, factor in frame_rows:
        at += range(1, m + 1)
        columns += range(row * m, row * m + m)
        entries += [2.0 * factor] * m
    F = sparse.csr_array((entries, (at, columns)), shape=(m + 2, rows.size))
    g = np.zeros(m + 2)
    g[0], g[-1] = 1.0, -1.0
    rows.cone("second-order", F, g)
