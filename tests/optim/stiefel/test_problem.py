"""The problem over frames: values, refusals, bounds, stationarity."""

import cvxpy as cp
import numpy as np
import pytest
from optim.stiefel.random_frames import everything, frame, symmetric
from scipy import sparse
from scipy.optimize import approx_fprime

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.stiefel import (
    extreme_eigenvalues,
    ky_fan,
    orthonormality,
    polar,
    smallest_eigenpairs,
    tangent,
)
from counterpoise.optim import OrthogonalProblem
from counterpoise.optim.stiefel.certificates import (
    bound_by_terms,
    bound_in_eigenbasis,
    fantope_point,
)
from counterpoise.optim.stiefel.problem import DenseForms, RankOneForms

rng = np.random.default_rng(0)


def by_hand(parts, P):
    X = P @ P.T
    value = np.sum(parts["quadratic"] * X) + np.sum(parts["linear"] * P)
    value += max(np.sum(A * X) for A in parts["maximum"])
    return value + sum(
        abs(np.sum(B * P) + b) for B, b in zip(*parts["l1"], strict=True)
    )


def fantope(parts, n, m):
    """Return the value of the Fantope relaxation, by cvxpy."""
    X, P, t = cp.Variable((n, n), symmetric=True), cp.Variable((n, m)), cp.Variable()
    value = cp.trace(parts["quadratic"] @ X) + cp.sum(cp.multiply(parts["linear"], P))
    for B, b in zip(*parts["l1"], strict=True):
        value += cp.abs(cp.sum(cp.multiply(B, P)) + b)
    asked = [cp.bmat([[X, P], [P.T, np.eye(m)]]) >> 0, np.eye(n) - X >> 0]
    asked += [cp.trace(X) == m, *[cp.trace(A @ X) <= t for A in parts["maximum"]]]
    for M, N, c in parts["constraints"]:
        asked.append(cp.trace(M @ X) + cp.sum(cp.multiply(N, P)) + c <= 0)
    if parts["nonnegative"]:
        asked.append(P >= 0)
    return cp.Problem(cp.Minimize(value + t), asked).solve(solver="CLARABEL")


def test_the_value_is_the_sum_of_its_terms():
    problem, parts = everything(1)
    P = frame(rng, *problem.shape)
    assert problem.value(P) == pytest.approx(by_hand(parts, P), abs=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    problem, _ = everything(2)
    P = frame(rng, *problem.shape)
    numeric = approx_fprime(
        P.ravel(), lambda x: problem.value(x.reshape(P.shape)), 1e-7
    )
    np.testing.assert_allclose(problem.gradient(P).ravel(), numeric, atol=1e-5)


def test_a_matrix_that_is_not_symmetric_counts_by_its_symmetric_part():
    M = rng.standard_normal((4, 4))
    P = frame(rng, 4, 2)
    one, other = (OrthogonalProblem(A, n_columns=2) for A in (M, (M + M.T) / 2.0))
    assert one.value(P) == pytest.approx(other.value(P), abs=1e-14)
    assert one.value(P) == pytest.approx(np.sum(M * (P @ P.T)), abs=1e-12)


def test_infeasibility_is_the_largest_of_all_violations():
    eye = np.eye(3)
    problem = OrthogonalProblem(eye, n_columns=2, constraints=[(eye, None, -1.5)])
    P = eye[:, :2]
    assert problem.infeasibility(P) == pytest.approx(0.5)
    assert problem.infeasibility(2.0 * P) == pytest.approx(6.5)
    signed = OrthogonalProblem(eye, n_columns=2, nonnegative=True)
    assert signed.infeasibility(P) == 0.0
    assert signed.infeasibility(-P) == pytest.approx(1.0)


def test_forms_of_vectors_are_those_of_their_matrices():
    V, P, w = rng.standard_normal((5, 4)), frame(rng, 4, 2), rng.dirichlet(np.ones(5))
    few = RankOneForms(V, -1.0)
    whole = DenseForms(few.matrices())
    np.testing.assert_allclose(few.values(P), whole.values(P))
    np.testing.assert_allclose(few.combined(w), whole.combined(w))
    np.testing.assert_allclose(few.pull(w, P), whole.pull(w, P))
    chosen = np.array([3, 1])
    np.testing.assert_allclose(few.images(P, chosen), whole.images(P, chosen))
    np.testing.assert_allclose(few.ranges(), whole.ranges(), atol=1e-12)


@pytest.mark.parametrize(
    ("give", "words"),
    [
        (lambda: OrthogonalProblem(), "nothing says how long the columns are"),
        (lambda: OrthogonalProblem(np.eye(3)), "n_columns must be given where linear"),
        (lambda: OrthogonalProblem(np.eye(2), n_columns=3), "3 columns of length 2"),
        (lambda: OrthogonalProblem(np.eye(2), n_columns=0), "at least 1, got 0"),
        (lambda: OrthogonalProblem(np.eye(2), np.ones((3, 1))), r"linear must have sh"),
        (
            lambda: OrthogonalProblem(np.ones((2, 3)), n_columns=1),
            r"quadratic must have",
        ),
        (
            lambda: OrthogonalProblem([[np.nan, 0], [0, 1]], n_columns=1),
            r"quadratic must be finite, got nan at \(0, 0\)",
        ),
        (
            lambda: OrthogonalProblem(np.eye(2), np.ones((2, 1)), n_columns=2),
            "n_columns is 2, linear has 1 columns",
        ),
        (
            lambda: OrthogonalProblem(np.eye(2), n_columns=1, maximum=np.eye(3)[None]),
            "maximum must hold matrices of order 2",
        ),
        (
            lambda: OrthogonalProblem(
                np.eye(2), n_columns=1, constraints=[(None, None, 1.0)]
            ),
            r"constraints\[0\] does not depend on P",
        ),
        (
            lambda: OrthogonalProblem(
                np.eye(2), n_columns=1, constraints=[(np.eye(2), None, np.inf)]
            ),
            r"constraints\[0\] must end with a finite number",
        ),
        (
            lambda: OrthogonalProblem(
                np.eye(2), n_columns=1, l1=(np.ones((1, 2, 1)), np.ones(2))
            ),
            "l1 must be a pair of shapes",
        ),
        (
            lambda: OrthogonalProblem(np.eye(2), n_columns=1).value(np.ones((2, 2))),
            r"P must have shape \(2, 1\), got \(2, 2\)",
        ),
        (
            lambda: OrthogonalProblem(np.eye(2), n_columns=1).certify([[np.inf], [0]]),
            "P must be finite, got inf at row 0, column 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(give, words):
    with pytest.raises(InvalidInputError, match=words):
        give()


@pytest.mark.parametrize(
    "give",
    [
        lambda: OrthogonalProblem(np.eye(2), n_columns=1.5),
        lambda: OrthogonalProblem(np.eye(2), n_columns=1, constraints=[np.eye(2)[0]]),
        lambda: OrthogonalProblem(np.eye(2), n_columns=1, l1=3.0),
        lambda: OrthogonalProblem(
            np.eye(2), n_columns=1, constraints=[(np.eye(2), None, "c")]
        ),
        lambda: OrthogonalProblem([["a"]], n_columns=1),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_as_such(give):
    with pytest.raises(InvalidTypeError):
        give()


# -- bounds ----------------------------------------------------------------------------


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_bound_is_the_fantope_relaxation_of_cvxpy(seed, nonnegative):
    problem, parts = everything(seed, nonnegative=nonnegative)
    wanted = fantope(parts, *problem.shape)
    assert problem.bound() <= wanted + 1e-6
    assert problem.bound() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_frame_is_below_a_bound(seed):
    _problem, parts = everything(seed)
    free = OrthogonalProblem(**{**parts, "constraints": ()})
    drawn = np.random.default_rng(seed)
    least = min(free.value(frame(drawn, *free.shape)) for _ in range(300))
    assert bound_by_terms(free) <= free.bound() + 1e-6
    assert free.bound() <= least


def test_the_bound_of_one_quadratic_is_attained_by_eigenvectors():
    M = symmetric(rng, 9)
    problem = OrthogonalProblem(M, n_columns=3)
    values, vectors = np.linalg.eigh(M)
    assert problem.bound() == pytest.approx(values[:3].sum(), abs=1e-9)
    proof = problem.certify(vectors[:, :3])
    assert proof.kind == "stationarity"
    assert proof.holds(1e-9)
    assert proof.gap <= 1e-9


def test_the_bound_of_one_linear_term_is_attained_by_the_polar_factor():
    N = rng.standard_normal((8, 3))
    for M in (None, np.zeros((8, 8)), 2.5 * np.eye(8)):
        problem = OrthogonalProblem(M, N)
        assert problem.value(polar(-N)) == pytest.approx(problem.bound(), abs=1e-9)


def test_beyond_sixty_rows_the_terms_bound_the_value():
    n, m = 80, 3
    problem = OrthogonalProblem(symmetric(rng, n), rng.standard_normal((n, m)))
    assert problem.bound() == pytest.approx(bound_by_terms(problem), rel=1e-9)
    from counterpoise.optim.stiefel.local_search import descend

    P = descend(problem, frame(rng, n, m), 1e-8)
    assert problem.bound() <= problem.value(P)
    alone = ky_fan(problem.quadratic, m) - np.linalg.norm(problem.linear, "nuc")
    assert problem.bound() >= alone - 1e-9


def test_the_bound_in_the_eigenbasis_is_ky_fans_where_nothing_is_linear():
    M = symmetric(rng, 7)
    least = np.linalg.eigvalsh(M)[:2].sum()
    assert bound_in_eigenbasis(M, np.zeros((7, 2))) == pytest.approx(least, abs=1e-9)


def test_weights_of_a_maximum_bound_it_beyond_sixty_rows():
    V = rng.standard_normal((5, 70))
    problem = OrthogonalProblem(maximum=RankOneForms(V, -1.0), n_columns=5)
    optimum = -(V**2).sum(axis=1).min()
    whole = polar(V.T)
    assert problem.value(whole) == pytest.approx(optimum)
    assert problem.bound() <= optimum
    assert problem.bound() == pytest.approx(optimum, rel=0.2)


def test_sparse_matrices_have_the_eigenvalues_of_dense_ones():
    A = sparse.random_array((1200, 1200), density=2e-3, random_state=0)
    M = sparse.csr_array(A + A.T) + sparse.diags_array(np.linspace(1.0, 3.0, 1200))
    values = np.linalg.eigvalsh(M.toarray())
    low, high = extreme_eigenvalues(M)
    assert low <= values[0]
    assert values[-1] <= high
    np.testing.assert_allclose(smallest_eigenpairs(M, 3)[0], values[:3], atol=1e-8)
    assert ky_fan(M, 3) <= values[:3].sum() + 1e-9


def test_the_fantope_frame_solves_a_problem_whose_relaxation_is_tight():
    M = symmetric(rng, 6)
    problem = OrthogonalProblem(M, n_columns=2, maximum=np.zeros((1, 6, 6)))
    P = fantope_point(problem)
    assert orthonormality(P) < 1e-12
    assert problem.value(P) == pytest.approx(np.linalg.eigvalsh(M)[:2].sum(), abs=1e-6)


# -- stationarity ----------------------------------------------------------------------


def test_without_further_terms_the_residual_is_the_gradient_along_the_frames():
    M, N = symmetric(rng, 6), rng.standard_normal((6, 2))
    P = frame(rng, 6, 2)
    along = tangent(P, 2.0 * M @ P + N)
    problem = OrthogonalProblem(M, N)
    assert problem.certify(P).residual == pytest.approx(np.linalg.norm(along))
    told = problem.judge(P, problem.value(P), along)
    assert told.residual == problem.certify(P).residual
    assert told.bound == -np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_residual_is_the_least_over_multipliers_by_cvxpy(seed):
    problem, parts = everything(seed)
    P = frame(np.random.default_rng(seed), *problem.shape)
    K, q = len(parts["maximum"]), len(parts["l1"][1])
    w, s, price = cp.Variable(K), cp.Variable(q), cp.Variable()
    values, r = problem.forms.values(P), problem.residuals(P)
    G = tangent(P, problem.smooth.gradient(P))
    for k, A in enumerate(parts["maximum"]):
        G = G + w[k] * tangent(P, 2.0 * A @ P)
    for i, B in enumerate(parts["l1"][0]):
        G = G + s[i] * tangent(P, B)
    M, N, _ = parts["constraints"][0]
    G = G + price * tangent(P, 2.0 * M @ P + N)
    lacking = w @ (values.max() - values) + np.abs(r).sum() - s @ r
    lacking += price * abs(problem.constraint_values(P)[0])
    asked = [w >= 0, cp.sum(w) == 1, cp.abs(s) <= 1, price >= 0]
    least = cp.Problem(cp.Minimize(cp.norm(G, "fro") + lacking), asked)
    least.solve(solver="CLARABEL")
    assert problem.certify(P).residual == pytest.approx(least.value, rel=1e-5)


def test_labels_with_their_best_columns_are_stationary_and_worse_columns_are_not():
    W = np.abs(symmetric(rng, 8))
    L = np.diag(W.sum(axis=1)) - W
    problem = OrthogonalProblem(L, n_columns=2, nonnegative=True)
    P = np.zeros((8, 2))
    for j, own in enumerate((slice(0, 4), slice(4, 8))):
        P[own, j] = np.abs(np.linalg.eigh(L[own, own])[1][:, 0])
    assert problem.certify(P).holds(1e-9)
    P[:4, 0] = 0.5
    assert not problem.certify(P).holds(1e-3)


def test_a_row_that_would_gain_by_joining_a_single_column_is_noticed():
    # Column (1, 0) of M = [[1, -1], [-1, 0]] falls as its second entry grows.
    problem = OrthogonalProblem(
        [[1.0, -1.0], [-1.0, 0.0]], n_columns=1, nonnegative=True
    )
    assert problem.certify(np.array([[1.0], [0.0]])).residual == pytest.approx(2.0)
