"""What a domain must satisfy."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from counterpoise.numerics.arrays import Array

INSIDE = 1e-9


def feasible_points(domain: Any, n_points: int, random_state: int = 0) -> Array:
    """Return points of the domain: inside, on faces, and vertices.

    Examples
    --------
    >>> from counterpoise.convex import Simplex
    >>> from counterpoise.testing import feasible_points
    >>> feasible_points(Simplex(4), 5).sum(axis=1).round(12)
    array([1., 1., 1., 1., 1.])
    """
    rng = np.random.default_rng(random_state)
    out = []
    for k in range(n_points):
        scale = 10.0 ** rng.uniform(-2, 1)
        if k % 3 == 0:
            point = domain.project(
                domain.start() + scale * rng.standard_normal(domain.size)
            )
        elif k % 3 == 1:
            corners = [
                domain.vertex(rng.standard_normal(domain.size)) for _ in range(3)
            ]
            point = rng.dirichlet(np.ones(3)) @ np.array(corners)
        else:
            corner = domain.vertex(rng.standard_normal(domain.size))
            point = 0.5 * domain.start() + 0.5 * corner
        out.append(point)
    return np.array(out)


def check_domain(domain: Any, random_state: int = 0) -> None:
    """Check that a domain's oracles agree with one another.

    The start, the vertices and the projections are inside; no feasible point (and no
    answer of scipy's linear programming, for a polyhedron) beats a vertex; projecting
    twice changes nothing; the three-point inequality holds; a point pushed outside is
    said to be so.

    Examples
    --------
    >>> from counterpoise.convex import Simplex
    >>> from counterpoise.testing import check_domain
    >>> check_domain(Simplex(4))
    """
    rng = np.random.default_rng(random_state)
    n = domain.size
    shape = domain.start().shape
    assert shape == (n,), f"start() must have shape ({n},), got {shape}"
    assert domain.infeasibility(domain.start()) <= INSIDE, "the start is outside"
    inside = feasible_points(domain, 30, random_state)
    for x in inside:
        assert domain.infeasibility(x) <= INSIDE, "a combination of points is outside"
    for _ in range(20):
        gradient = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
        vertex = domain.vertex(gradient)
        assert domain.infeasibility(vertex) <= INSIDE, "a vertex is outside"
        slack = 1e-9 * float(np.abs(gradient).sum())
        assert (inside @ gradient >= gradient @ vertex - slack).all(), (
            "a feasible point beats the vertex"
        )
        if hasattr(domain, "polyhedron"):
            _check_against_linprog(domain, gradient, vertex)
    for _ in range(20):
        point = domain.start() + rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
        _check_projection(domain, point, inside)
    for x in inside:
        np.testing.assert_allclose(domain.project(x), x, atol=1e-9)


def _check_against_linprog(domain: Any, gradient: Array, vertex: Array) -> None:
    A, b, G, h = domain.polyhedron()
    equations = {"A_eq": A, "b_eq": b} if A.shape[0] else {}
    answer = linprog(gradient, A_ub=G, b_ub=h, bounds=(None, None), **equations)
    slack = 1e-7 * max(1.0, abs(answer.fun))
    assert abs(gradient @ vertex - answer.fun) <= slack, (
        f"vertex {gradient @ vertex}, linear programme {answer.fun}"
    )


def _check_projection(domain: Any, point: Array, inside: Array) -> None:
    near = domain.project(point)
    assert domain.infeasibility(near) <= INSIDE, "a projection is outside"
    np.testing.assert_allclose(domain.project(near), near, atol=1e-9)
    outward = point - near
    size = max(1.0, float(np.linalg.norm(outward)))
    assert ((inside - near) @ outward <= 1e-8 * size).all(), (
        "a feasible point is nearer than the projection"
    )
    if np.abs(outward).max() > 1e-3 * size:
        beyond = near + outward
        assert domain.infeasibility(beyond) > 0.0, (
            "a point outside is not said to be so"
        )
