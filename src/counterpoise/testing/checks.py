"""Checks for new objectives, sets, problems and solvers."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Problem
from counterpoise.optim.loop import (
    Progress,
    Solution,
    Solver,
    SolverMismatchError,
    solve,
)
from counterpoise.optim.objectives import Objective
from counterpoise.optim.sets import Domain, Penalty

# -----------------------------------------------------------------------------
# What a penalty must satisfy.
# -----------------------------------------------------------------------------


def check_penalty(penalty: Penalty, random_state: int = 0) -> None:
    """Check that a penalty is a norm and that its prox and dual norm belong to it.

    Homogeneity and the triangle inequality; the prox beats random points and obeys the
    three-point inequality; g's <= dual_norm(g) value(s), and the prox of g is zero
    exactly from the step dual_norm(g) on, which is Moreau's identity at zero.

    Examples
    --------
    >>> from counterpoise.optim import L1
    >>> from counterpoise.testing import check_penalty
    >>> check_penalty(L1(4, 0.5))
    """
    rng = np.random.default_rng(random_state)
    n = penalty.size
    assert penalty.value(np.zeros(n)) == 0.0
    for _ in range(20):
        x, y, v = rng.standard_normal((3, n))
        assert penalty.value(x) > 0.0
        assert math.isclose(
            penalty.value(-2.5 * x), 2.5 * penalty.value(x), rel_tol=1e-12
        )
        assert penalty.value(x + y) <= penalty.value(x) + penalty.value(y) + 1e-12
        assert x @ y <= penalty.dual_norm(x) * penalty.value(y) * (1.0 + 1e-12)
        step = 10.0 ** rng.uniform(-2, 1)
        near = penalty.prox(v, step)
        best = step * penalty.value(near) + 0.5 * float((near - v) @ (near - v))
        for other in (x, v, 0.0 * v, near + 1e-3 * x):
            there = step * penalty.value(other) + 0.5 * float((other - v) @ (other - v))
            apart = 0.5 * float((other - near) @ (other - near))
            assert there >= best + apart - 1e-9, "the prox is not the minimizer"
        threshold = penalty.dual_norm(v)
        assert not penalty.prox(v, 1.0001 * threshold).any(), "dual norm too small"
        assert penalty.prox(v, 0.9999 * threshold).any(), "dual norm too large"


# -----------------------------------------------------------------------------
# What a domain must satisfy.
# -----------------------------------------------------------------------------


INSIDE = 1e-9


def feasible_points(domain: Domain, n_points: int, random_state: int = 0) -> Array:
    """Return points of the domain: inside, on faces, and vertices.

    Examples
    --------
    >>> from counterpoise.optim import Simplex
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


def check_domain(domain: Domain, random_state: int = 0) -> None:
    """Check that a domain's oracles agree with one another.

    The start, the vertices and the projections are inside; no feasible point (and no
    answer of scipy's linear programming, for a polyhedron) beats a vertex; projecting
    twice changes nothing; the three-point inequality holds; a point pushed outside is
    said to be so.

    Examples
    --------
    >>> from counterpoise.optim import Simplex
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
        f"vertex {gradient @ vertex}, linear program {answer.fun}"
    )


def _check_projection(domain: Domain, point: Array, inside: Array) -> None:
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


# -----------------------------------------------------------------------------
# What an objective must satisfy.
# -----------------------------------------------------------------------------


def check_objective(objective: Objective, points: Array, rtol: float = 1e-5) -> None:
    """Check an objective at points where it is finite.

    The gradient equals central differences, the function is convex on the segments
    between the points, and every capability that the objective has agrees with its
    `evaluate`.

    Parameters
    ----------
    objective : Objective
    points : array of shape (k, n)
        At least two points at which the value is finite.
    rtol : float
        Relative tolerance of differences.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Quadratic
    >>> from counterpoise.testing import check_objective
    >>> check_objective(Quadratic(np.eye(3), np.ones(3)), np.eye(3))
    """
    points = np.atleast_2d(np.asarray(points, dtype=float))
    assert len(points) >= 2, "at least two points are needed"
    values = [objective.value(x) for x in points]
    assert np.isfinite(values).all(), "the value must be finite at the given points"
    for x in points:
        _check_gradient(objective, x, rtol)
        _check_evaluation(objective, x)
    for x, y in pairwise(points):
        _check_convex(objective, x, y)
    for name, check in _CAPABILITY_CHECKS.items():
        if hasattr(objective, name):
            check(objective, points, rtol)


def _check_gradient(objective: Objective, x: Array, rtol: float) -> None:
    gradient = objective.gradient(x)
    assert gradient.shape == x.shape, "the gradient must have the shape of the point"
    assert np.isfinite(gradient).all(), "the gradient must be finite where the value is"
    slopes = _differences(objective.value, x)
    size = max(1.0, float(np.abs(gradient).max()))
    np.testing.assert_allclose(
        gradient,
        slopes,
        rtol=rtol,
        atol=rtol * size,
        err_msg="the gradient (ACTUAL) and central differences (DESIRED)",
    )


def _differences(function: Callable[[Array], Array | float], x: Array) -> Array:
    """Return central differences with a step that keeps the function finite."""
    out = []
    for i in range(x.size):
        step = 1e-6 * max(1.0, abs(float(x[i])))
        for _ in range(40):
            low, high = x.copy(), x.copy()
            low[i] -= step
            high[i] += step
            a, b = function(low), function(high)
            if np.isfinite(a).all() and np.isfinite(b).all():
                break
            step *= 0.5
        out.append((b - a) / (2.0 * step))
    return np.array(out)


def _check_convex(objective: Objective, x: Array, y: Array) -> None:
    a, b = objective.value(x), objective.value(y)
    for share in (0.1, 0.5, 0.8):
        between = objective.value((1 - share) * x + share * y)
        chord = (1 - share) * a + share * b
        slack = 1e-10 * max(1.0, abs(a), abs(b))
        assert between <= chord + slack, f"not convex: {between} above {chord}"


def _check_evaluation(objective: Objective, x: Array) -> None:
    here = objective.evaluate(x)
    assert math.isclose(here.value, objective.value(x), rel_tol=1e-12)
    np.testing.assert_allclose(here.gradient, objective.gradient(x), rtol=1e-12)
    if here.hessian is None:
        return
    bend = here.hessian()
    size = max(1.0, float(np.abs(bend).max()))
    turned = _differences(objective.gradient, x)
    np.testing.assert_allclose(bend, turned, rtol=1e-4, atol=1e-4 * size)
    if here.hessian_product is not None:
        for v in np.eye(x.size):
            np.testing.assert_allclose(here.hessian_product(v), bend @ v, atol=1e-9)


def _check_image(objective: Any, points: Array, rtol: float) -> None:
    x, y = points[0], points[1]
    if objective.image(x) is None:
        return
    both = objective.image(2.0 * x - 3.0 * y)
    apart = 2.0 * objective.image(x) - 3.0 * objective.image(y)
    np.testing.assert_allclose(both, apart, rtol=1e-9, atol=1e-9 * np.abs(apart).max())
    here, known = objective.evaluate(x), objective.evaluate(x, objective.image(x))
    assert math.isclose(known.value, here.value, rel_tol=1e-12)
    np.testing.assert_allclose(known.gradient, here.gradient, rtol=1e-12)


def _check_along(objective: Any, points: Array, rtol: float) -> None:
    x, y = points[0], points[1]
    for direction in (y - x, x - y, -objective.gradient(x)):
        for limit in (0.3, 1.0):
            step = objective.along(x, direction, limit)
            assert 0.0 <= step <= limit, f"a step of {step} is outside [0, {limit}]"
            found = objective.value(x + step * direction)

            def value(t: float, d: Array = direction) -> float:
                here = objective.value(x + t * d)
                return float(here) if math.isfinite(here) else 1e300

            best = minimize_scalar(
                value, bounds=(0.0, limit), method="bounded", options={"xatol": 1e-10}
            ).fun
            best = min(best, value(0.0), value(limit))
            slack = 1e-9 * max(1.0, abs(best))
            assert found <= best + slack, f"along: {found} where {best} is possible"


def _check_columns(objective: Any, points: Array, rtol: float) -> None:
    n = points.shape[1]
    some = np.unique([0, n // 2, n - 1])
    columns = objective.columns(some)
    for k, i in enumerate(some):
        unit = np.zeros(n)
        unit[i] = 1.0
        np.testing.assert_allclose(columns[:, k], objective.image(unit), rtol=1e-12)


def _check_model(objective: Any, points: Array, rtol: float) -> None:
    x = points[0]
    every = np.arange(x.size)
    slopes, bend = objective.model(every, objective.columns(every), objective.image(x))
    np.testing.assert_allclose(slopes, objective.gradient(x), rtol=1e-9, atol=1e-12)
    turned = _differences(objective.gradient, x)
    size = max(1.0, float(np.abs(bend).max()))
    np.testing.assert_allclose(bend, turned, rtol=10 * rtol, atol=10 * rtol * size)


def _check_distinct(objective: Any, points: Array, rtol: float) -> None:
    every = np.arange(points.shape[1])
    first = objective.distinct(every, 1, 0.5)
    assert first.tolist() == [0], "the first candidate must be taken"
    all_of_them = objective.distinct(every, every.size, 1.0 + 1e-9)
    assert all_of_them.tolist() == every.tolist(), "nothing is more alike than equal"
    few = objective.distinct(every, every.size, -2.0)
    assert few.tolist() == [0], "everything is more alike than that"


def _check_prox(objective: Any, points: Array, rtol: float) -> None:
    for step in (0.01, 1.0, 100.0):
        v = points[0]
        x = objective.prox(v, step)
        pull = objective.gradient(x) + (x - v) / step
        size = max(1.0, float(np.abs(objective.gradient(v)).max()))
        assert np.abs(pull).max() <= 1e-8 * size, "prox is not stationary"


def _check_lower_bound(objective: Any, points: Array, rtol: float) -> None:
    for x in points:
        for y in (x, -x, 0.0 * x, x - objective.gradient(x)):
            value = objective.value(y)
            assert value >= objective.lower_bound, (
                f"the value {value} is below lower_bound {objective.lower_bound}"
            )


_CAPABILITY_CHECKS = {
    "image": _check_image,
    "along": _check_along,
    "columns": _check_columns,
    "model": _check_model,
    "distinct": _check_distinct,
    "prox": _check_prox,
    "lower_bound": _check_lower_bound,
}


# -----------------------------------------------------------------------------
# What a problem must satisfy.
# -----------------------------------------------------------------------------


def check_problem(problem: Problem, optimum: float, points: Array) -> None:
    """Check that no certificate claims more than is true.

    Parameters
    ----------
    problem : Problem
    optimum : float
        The least value, from a closed form or somebody else's solver.
    points : array of shape (k, n)
        Feasible points.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.testing import check_problem, feasible_points
    >>> problem = Constrained(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))
    >>> check_problem(problem, 0.125, feasible_points(Simplex(4), 10))
    """
    start = problem.start()
    at_start = problem.certify(start)
    assert math.isfinite(at_start.objective), "the start has no finite value"
    assert at_start.infeasibility <= 1e-9, "the start is not feasible"
    slack = 1e-7 * max(1.0, abs(optimum))
    for x in [start, *points]:
        proof = problem.certify(x)
        assert proof.gap >= 0.0, f"a negative gap: {proof.gap}"
        assert proof.bound <= optimum + slack, (
            f"the bound {proof.bound} is above the optimum {optimum}"
        )
        excess = proof.objective - optimum
        assert excess >= -slack, f"a feasible point beats the optimum by {-excess}"
        assert not excess > proof.gap + slack, (
            f"the gap {proof.gap} is smaller than the excess {excess}"
        )
        if math.isfinite(proof.objective):
            objective = problem.objective
            again = problem.judge(x, objective.value(x), objective.gradient(x))
            np.testing.assert_allclose(again.gap, proof.gap, rtol=1e-9, atol=1e-12)


# -----------------------------------------------------------------------------
# What a solver must satisfy.
# -----------------------------------------------------------------------------


def check_solver(
    solver: Solver,
    problem: Problem,
    optimum: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    must_converge: bool = False,
    other_start: Array | None = None,
) -> Solution | None:
    """Check a solver on a problem, and return what it found.

    Every iterate is feasible and none is better than the optimum; what the solver
    claims about its point is what the problem proves; a solution that has converged
    agrees with the optimum to `tol`, and from another start too; one that has not says
    so. A problem that the solver does not accept must be refused with words, and gives
    None.

    Parameters
    ----------
    solver : Solver
    problem : Problem
    optimum : float
        The least value, from a closed form or somebody else's solver.
    tol, max_iter
        As for `solve`.
    must_converge : bool
        Whether an answer without a proof is a failure.
    other_start : array, optional
        Another feasible point to begin from.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.optim import Constrained, Quadratic, Simplex
    >>> from counterpoise.optim import FrankWolfe
    >>> from counterpoise.testing import check_solver
    >>> problem = Constrained(Quadratic(np.eye(4), np.zeros(4)), Simplex(4))
    >>> check_solver(FrankWolfe("away"), problem, 0.125, must_converge=True).converged
    True
    """
    if solver.accepts.lacking(problem):
        _check_refusal(solver, problem)
        return None
    slack = 1e-7 * max(1.0, abs(optimum))

    def look(progress: Progress) -> None:
        assert progress.x is not None
        proof = problem.certify(progress.x)
        assert proof.infeasibility <= 1e-9, f"an iterate is outside: {proof}"
        assert proof.objective >= optimum - slack, f"better than the optimum: {proof}"
        if math.isfinite(progress.gap):
            claims = (progress.objective, progress.gap)
            truth = (proof.objective, proof.gap)
            for claimed, proved in zip(claims, truth, strict=True):
                assert abs(claimed - proved) <= slack + 1e-6 * abs(proved), (
                    f"the solver claims {claims}, the problem proves {truth}"
                )

    solution = solve(problem, solver, tol=tol, max_iter=max_iter, callback=look)
    _check_solution(solution, problem, optimum, tol, must_converge)
    if other_start is not None:
        again = solve(problem, solver, other_start, tol=tol, max_iter=max_iter)
        _check_solution(again, problem, optimum, tol, must_converge)
    return solution


def _check_refusal(solver: Solver, problem: Problem) -> None:
    try:
        solve(problem, solver)
    except SolverMismatchError:
        return
    raise AssertionError("a problem that is not accepted was not refused")


def _check_solution(
    solution: Solution,
    problem: Problem,
    optimum: float,
    tol: float,
    must_converge: bool,
) -> None:
    proof = problem.certify(solution.x)
    assert solution.converged == proof.holds(tol), (
        "the certificate is not the problem's"
    )
    excess = solution.certificate.objective - optimum
    assert excess <= solution.certificate.gap + 1e-7 * max(1.0, abs(optimum))
    if solution.converged:
        assert abs(excess) <= tol * max(1.0, abs(optimum), proof.scale), (
            f"converged {excess} from the optimum"
        )
    else:
        assert "NOT converged" in str(solution)
        assert not must_converge, f"must converge, but {solution}"
