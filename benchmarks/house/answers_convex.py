"""Answers of every public solver on random problems, refusals included."""

import numpy as np
from registry import answer, answers, picked, refused

from counterpoise import optim as convex
from counterpoise.optim import (
    ADMM,
    L1,
    Box,
    CappedSimplex,
    Conic,
    Constrained,
    Corrective,
    Discrepancy,
    ExpectationMaximization,
    FrankWolfe,
    InteriorPoint,
    KernelDiscrepancy,
    LeastSquares,
    LogLinearMixture,
    LogLinearRatio,
    MixtureLikelihood,
    NegativeMeanLog,
    Newton,
    NonnegativeQuadratic,
    PartialPricing,
    Penalized,
    ProjectedGradient,
    ProximalGradient,
    Quadratic,
    RidgeQuadratic,
    RowNorms,
    Simplex,
)

SOLVERS = {
    "default": None,
    "plain": FrankWolfe("plain"),
    "away": FrankWolfe("away"),
    "pairwise": FrankWolfe("pairwise"),
    "armijo": FrankWolfe("away", "armijo"),
    "corrective": Corrective(),
    "partial pricing": PartialPricing(),
    "projected gradient": ProjectedGradient(),
    "proximal gradient": ProximalGradient(),
    "ADMM": ADMM(),
    "conic": Conic(),
    "interior point": InteriorPoint(),
    "Newton": Newton(),
    "expectation maximization": ExpectationMaximization(),
}


def _quadratic(rng, n):
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    Q = (basis * np.logspace(0, -3, n)) @ basis.T
    return Quadratic(0.5 * (Q + Q.T), rng.standard_normal(n))


def _likelihood(rng, m, n):
    return np.exp(-2.0 * rng.exponential(size=(m, n)))


def _problems():
    rng = np.random.default_rng(0)
    n, m = 15, 30
    A, b = rng.standard_normal((m, n)), rng.standard_normal(m)
    S, T = rng.standard_normal((40, 3)), 0.8 * rng.standard_normal((30, 3)) + 0.5
    both = np.vstack([S, T])
    of_target = np.full(30, 1 / 30)
    shares = np.full(40, 1 / 40), of_target
    H = np.abs(A).T @ np.abs(A) / m
    ends = -rng.uniform(0, 2, n), rng.uniform(0.1, 2, n)
    return {
        "quadratic, simplex": Constrained(_quadratic(rng, n), Simplex(n)),
        "quadratic, capped": Constrained(_quadratic(rng, n), CappedSimplex(n, 0.2)),
        "quadratic, slack": Constrained(
            _quadratic(rng, n), CappedSimplex(n, 0.3, total=1.5, slack=0.5)
        ),
        "quadratic, box": Constrained(_quadratic(rng, n), Box(*ends)),
        "least squares, simplex": Constrained(LeastSquares(A, b), Simplex(n)),
        "log, capped": Constrained(
            NegativeMeanLog(_likelihood(rng, m, n)), CappedSimplex(n, 0.2)
        ),
        "mixture likelihood": MixtureLikelihood(_likelihood(rng, m, n)),
        "mixture likelihood, weighted": MixtureLikelihood(
            _likelihood(rng, m, n), rng.random(m) + 0.01
        ),
        "lasso": Penalized(LeastSquares(A, b), L1(n, 0.05)),
        "row norms": Penalized(LeastSquares(A, b), RowNorms(5, 3, 0.05)),
        "nonnegative quadratic": NonnegativeQuadratic(H, rng.standard_normal(n)),
        "ridge quadratic": RidgeQuadratic(H, rng.standard_normal(n), 0.1),
        "log-linear ratio": LogLinearRatio(S, T.mean(axis=0), shares[0], 0.01),
        "log-linear mixture": LogLinearMixture(S, T, *shares, 2, 0.01),
        "discrepancy": Discrepancy(S, T.T @ T / 30, cap=0.1),
        "kernel discrepancy": KernelDiscrepancy(both @ both.T, of_target),
    }


PROBLEMS = _problems()


@answers("solve", PROBLEMS)
def _solved(problem):
    out = {}
    for name, solver in SOLVERS.items():
        out[name] = _found(problem, solver)
    return out


def _found(problem, solver):
    found = []
    said = refused(
        lambda: found.append(convex.solve(problem, solver, tol=1e-7, max_iter=150))
    )
    if not found:
        return said
    (solution,) = found
    proof = solution.certificate
    return {
        **picked(solution, "x", "n_iter", "converged", "ended"),
        **picked(proof, "kind", "objective", "bound", "gap", "scale", "residual"),
        "history": [(h.objective, h.gap, h.support) for h in solution.history],
        "counts": dict(solution.history[-1].counts),
        "told": str(solution),
    }


@answer("solve: a start, a callback")
def _watched():
    problem = PROBLEMS["quadratic, simplex"]
    seen = []

    def monitor(progress):
        seen.append((progress.n_iter, progress.objective, progress.gap))
        return progress.n_iter == 3

    x = np.full(15, 1 / 15)
    solution = convex.solve(problem, FrankWolfe("away"), x, tol=1e-12, callback=monitor)
    return {"seen": seen, "x": solution.x, "ended": solution.ended}


@answer("solve: parts of problems")
def _parts():
    rng = np.random.default_rng(5)
    v = rng.standard_normal(12)
    sets = {
        "simplex": Simplex(12),
        "capped": CappedSimplex(12, 0.2),
        "box": Box(-np.ones(12), np.ones(12)),
    }
    return {
        name: {"projected": domain.project(v), "start": domain.start()}
        for name, domain in sets.items()
    }
