"""The door of problems over frames."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.optim import (
    Eigenvectors,
    NonnegativeRounds,
    SequentialRelaxation,
    SoftminPolar,
    SolverMismatchError,
    SpectralRounds,
)
from counterpoise.optim.stiefel.solvers import orthogonal_solver
from counterpoise.subspaces import OrthogonalProblem, solve_orthogonal

rng = np.random.default_rng(0)
M = rng.standard_normal((6, 6))
N = rng.standard_normal((6, 2))
FRAME = np.linalg.qr(rng.standard_normal((6, 2)))[0]


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (OrthogonalProblem(M, n_columns=2), Eigenvectors),
        (OrthogonalProblem(linear=N), Eigenvectors),
        (OrthogonalProblem(np.eye(6), N), Eigenvectors),
        (OrthogonalProblem(M, N), SpectralRounds),
        (OrthogonalProblem(maximum=[M, -M], n_columns=2), SoftminPolar),
        (OrthogonalProblem(M, N, l1=(N[None], [0.1])), SequentialRelaxation),
        (OrthogonalProblem(M, N, constraints=[(M, N, -9.0)]), SequentialRelaxation),
        (OrthogonalProblem(M, N, nonnegative=True), NonnegativeRounds),
        (
            OrthogonalProblem(maximum=[M], n_columns=2, nonnegative=True),
            SequentialRelaxation,
        ),
    ],
)
def test_the_problem_says_which_method_fits(problem, kind):
    assert isinstance(orthogonal_solver(problem), kind)
    found = solve_orthogonal(problem, random_state=0)
    assert found.x.shape == (6, 2)
    assert found.certificate.infeasibility <= 1e-6
    assert found.certificate.kind == "stationarity"
    assert found.certificate.objective >= found.certificate.bound - 1e-9


def test_a_penalty_or_the_parabolic_relaxation_asks_for_rounds():
    one = OrthogonalProblem(M, n_columns=2)
    assert isinstance(orthogonal_solver(one, penalty=9.0), SpectralRounds)
    parabolic = orthogonal_solver(one, relaxation="parabolic")
    assert parabolic == SequentialRelaxation("parabolic")


def test_the_callback_sees_the_start_and_every_round_and_can_end_them():
    seen = []
    problem = OrthogonalProblem(M, N, constraints=[(M, N, -1.0)])
    found = solve_orthogonal(
        problem, start=FRAME, callback=lambda p: seen.append(p.x.copy())
    )
    assert len(seen) == found.n_iter + 1
    np.testing.assert_allclose(seen[0], FRAME, atol=1e-12)
    assert all(x.shape == (6, 2) for x in seen)
    with pytest.warns(ConvergenceWarning):
        ended = solve_orthogonal(problem, start=FRAME, callback=lambda p: True)
    assert ended.n_iter == 0
    assert ended.ended == "ended by the callback"


def test_the_same_seed_gives_the_same_bytes():
    problem = OrthogonalProblem(M, N, constraints=[(M, N, -1.0)])
    one, other = (solve_orthogonal(problem, random_state=3).x for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_no_feasible_frame_is_a_warning_with_the_least_violation():
    problem = OrthogonalProblem(
        np.diag(np.arange(5.0)), n_columns=2, constraints=[(np.eye(5), None, -1.0)]
    )
    with pytest.warns(ConvergenceWarning, match="no feasible point found.* is 1 "):
        found = solve_orthogonal(problem, random_state=0)
    assert not found.converged


def test_a_search_that_is_cut_short_warns_with_its_numbers():
    problem = OrthogonalProblem(M, N)
    with pytest.warns(ConvergenceWarning, match="NOT converged .max_iter = 1 reached"):
        solve_orthogonal(problem, start=FRAME, polish=False, max_iter=1)


def test_a_penalty_that_keeps_the_start_is_told():
    problem = OrthogonalProblem(M, N)
    with pytest.warns(UserWarning, match="it keeps the start"):
        solve_orthogonal(
            problem,
            start=FRAME,
            penalty=1e9 * problem.slope,
            polish=False,
            solver="relaxation",
            max_iter=2,
        )


def test_square_non_negative_frames_are_permutations():
    with pytest.warns(UserWarning, match="only permutations are feasible"):
        found = solve_orthogonal(
            OrthogonalProblem(linear=-np.eye(3), nonnegative=True), random_state=0
        )
    assert found.certificate.infeasibility <= 1e-12


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"relaxation": "spd"}, InvalidInputError, "did you mean 'sdp'"),
        ({"solver": "newton"}, InvalidInputError, "solver must be one of"),
        ({"penalty": -1.0}, InvalidInputError, "penalty must be positive or 'auto'"),
        ({"tol": 0.0}, InvalidInputError, "tol must be positive"),
        ({"max_iter": 0}, InvalidInputError, "max_iter must be at least 1"),
        ({"start": np.ones((6, 2))}, InvalidInputError, "orthonormal columns"),
        ({"start": np.eye(3)}, InvalidInputError, r"start must have shape \(6, 2\)"),
        ({"random_state": "x"}, InvalidInputError, "cannot be used to seed"),
        ({"solver": "eigen"}, SolverMismatchError, "not both"),
        ({"solver": "softmin"}, SolverMismatchError, "needs a maximum"),
        ({"solver": "fista", "relaxation": "parabolic"}, InvalidInputError, "fista"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(how, error, words):
    with pytest.raises(error, match=words):
        solve_orthogonal(OrthogonalProblem(M, N), **how)


def test_only_a_problem_is_solved():
    with pytest.raises(
        InvalidTypeError, match="must be an OrthogonalProblem, got ndarray"
    ):
        solve_orthogonal(M)
