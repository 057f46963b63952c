"""The pieces of the spectral interior point against dense linear algebra."""

import numpy as np
import pytest
from scipy.linalg import eigh

from counterpoise.optim.spectral import interior_point as schur_matrix
from counterpoise.optim.spectral.interior_point import (
    PanelCholesky,
    SpectralInterior,
    schur_of,
    spectral_norm,
)
from counterpoise.optim.spectral.problem import kernel_ritz, orthonormal
from counterpoise.optim.spectral.working_set import smoothed_weights

RNG = np.random.default_rng(0)


def definite(N):
    A = RNG.normal(size=(N, N))
    return A @ A.T + 0.1 * np.eye(N)


@pytest.mark.parametrize("way", ["dense", "pairs", "single"])
def test_the_newton_matrix_is_solved_in_every_way(way, monkeypatch):
    m, N = 250, 5
    rows, diagonal = RNG.normal(size=(m, N)), RNG.exponential(size=m) + 0.1
    matrices = [(definite(N), definite(N)), (definite(N), definite(N))]
    factors = [tuple(np.linalg.cholesky(A) for A in pair) for pair in matrices]
    H = np.diag(diagonal)
    for Y, P in matrices:
        H += (rows @ Y @ rows.T) * (rows @ P @ rows.T)
    if way != "pairs":
        monkeypatch.setattr(schur_matrix, "CHEAP_ROWS", 10**6)
    if way == "single":
        monkeypatch.setattr(schur_matrix, "SINGLE_ROWS", 10)
    schur = schur_of(rows, factors, matrices, diagonal)
    right = RNG.normal(size=(m, 2))
    found = schur.solve(right)
    # In single precision the solver is a preconditioner.
    close = 0.2 if way == "single" else 1e-7
    assert np.linalg.norm(H @ found - right) <= close * np.linalg.norm(right)
    assert schur.multiply(right[:, 0]) == pytest.approx(H @ right[:, 0])
    assert schur.exact == (way == "dense")


@pytest.mark.parametrize("cap", [None, 0.05])
@pytest.mark.parametrize("bend", [0.0, 2.0])
def test_every_iterate_is_feasible_and_the_gap_closes(cap, bend):
    rows, target = RNG.normal(size=(60, 4)), 4.0 * np.eye(4)
    interior = SpectralInterior(rows, target, cap, bend)
    here = interior.start()
    for _ in range(12):
        here = interior.advance(here)
        assert here.z.min() > 0.0
        assert here.z.sum() == pytest.approx(1.0)
        assert cap is None or here.z.max() <= cap
        assert here.norm == pytest.approx(np.linalg.norm(interior.operator(here.z), 2))
        assert here.t >= here.norm
        for Y in (here.above, here.below):
            assert np.linalg.eigvalsh(Y)[0] > 0.0
        assert np.trace(here.above) + np.trace(here.below) == pytest.approx(1.0)
    value = here.norm + bend * (here.z @ here.z)
    gradient = 2.0 * bend * here.z - here.pulls
    order, left, least = np.argsort(gradient), 1.0, 0.0
    for i in order:
        share = min(left, 1.0 if cap is None else cap)
        least += share * gradient[i]
        left -= share
    excess = float(gradient @ here.z) - least
    dual = float(np.sum(target * here.Y)) - float(here.pulls @ here.z)
    dual += bend * (here.z @ here.z) - excess
    assert value - dual <= 1e-3 * value


def test_a_factor_by_panels_is_the_factor(monkeypatch):
    from counterpoise.optim.spectral import interior_point as panel_cholesky

    monkeypatch.setattr(panel_cholesky, "PANEL", 7)
    A, B = definite(30), RNG.normal(size=(30, 4))
    factor = PanelCholesky(30, lambda i, j: A[i:j, :j].copy())
    assert np.linalg.cholesky(A) @ factor.forward(B) == pytest.approx(B)
    A[20, 20] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite at row 14"):
        PanelCholesky(30, lambda i, j: A[i:j, :j].copy())


def test_ritz_values_are_the_ends_of_the_spectrum():
    F = RNG.normal(size=(200, 12))
    weights = RNG.normal(size=200)
    exact = eigh(F.T @ (weights[:, None] * F), eigvals_only=True)
    start = weights[:, None] * RNG.normal(size=(200, 4))
    pairs = kernel_ritz(lambda B: F @ (F.T @ B), weights, start, 6, 2, 1e-10)
    assert pairs.values == pytest.approx(exact[[0, 1, -2, -1]], rel=1e-8)
    assert pairs.norm == pytest.approx(np.abs(exact).max(), rel=1e-6)


def test_a_basis_is_orthonormal_beside_another():
    F = RNG.normal(size=(50, 20))
    K = F @ F.T
    B = RNG.normal(size=(50, 6))
    one = orthonormal(B[:, :3], K @ B[:, :3], 1e-10)
    two = orthonormal(B, K @ B, 1e-10, one, lambda C: K @ C)
    both = np.concatenate([one[0], two[0]], axis=1)
    assert both.shape[1] == 6
    assert both.T @ K @ both == pytest.approx(np.eye(6), abs=1e-9)
    assert two[1] == pytest.approx(K @ two[0])


def test_smoothed_steps_go_down():
    rows, target = RNG.normal(size=(300, 8)) + 0.5, np.eye(8)
    z = smoothed_weights(rows, target)
    even = spectral_norm(target - rows.T @ rows / 300)
    assert z.min() >= 0.0
    assert z.sum() == pytest.approx(1.0)
    assert spectral_norm(target - (rows * z[:, None]).T @ rows) < 0.2 * even
