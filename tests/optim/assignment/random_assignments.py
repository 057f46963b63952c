"""Small sparse assignments at random."""

import cvxpy as cp
import numpy as np
from scipy import sparse

from counterpoise.optim.assignment.problem import SparseAssignment, one_word_penalty


def graph(n, seed, share=0.3):
    """Return weights of a random symmetric graph, sparse."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < share)
    W = np.triu(W, 1)
    return sparse.csc_array(W + W.T)


def laplacian(W):
    return sparse.csc_array(sparse.diags_array(W.sum(axis=1)) - W)


def random_costs(n, words, seed):
    """Return costs of items near some words."""
    rng = np.random.default_rng(seed)
    X, D = rng.random((n, 3)), rng.random((words, 3))
    mass = rng.dirichlet(np.full(n, 3.0))
    return mass[:, None] * ((X[:, None] - D[None]) ** 2).sum(-1)


def random_assignment(
    n=18, words=6, seed=0, *, share=0.2, smoothness=0.02, norm="max", equal=True
):
    """Return a problem in which some words are left out."""
    rng = np.random.default_rng(seed + 100)
    C = random_costs(n, words, seed)
    penalties = share * one_word_penalty(C, norm).low
    if not equal:
        penalties = penalties * rng.choice([0.0, 0.5, 1.0, 2.0], words)
    L = laplacian(graph(n, seed)) if smoothness > 0 else None
    return SparseAssignment(C, penalties, L, smoothness, norm)


def optimum(problem):
    """Return the least value, by cvxpy."""
    U = cp.Variable(problem.shape, nonneg=True)
    norm = cp.max(U, axis=0) if problem.norm == "max" else cp.norm(U, 2, axis=0)
    value = cp.sum(cp.multiply(problem.costs, U)) + problem.penalties @ norm
    if problem.laplacian is not None:
        L = sparse.coo_array(sparse.triu(problem.laplacian, 1))
        edges = sparse.coo_array(
            (
                np.r_[np.sqrt(-L.data), -np.sqrt(-L.data)],
                (np.tile(np.arange(L.nnz), 2), np.r_[L.row, L.col]),
            ),
            shape=(L.nnz, problem.shape[0]),
        )
        value = value + problem.smoothness * cp.sum_squares(sparse.csc_array(edges) @ U)
    program = cp.Problem(cp.Minimize(value), [cp.sum(U, axis=1) == 1])
    program.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10)
    return float(program.value)
