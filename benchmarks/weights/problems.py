"""Data with known ratios, and KLIEP's problem on given centers."""

import numpy as np

from counterpoise.data.two_samples import TwoSamples
from counterpoise.datasets import Shift, make_gaussian_shift, make_sinc_shift
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import Corrective, MixtureLikelihood, Solution, solve
from counterpoise.weights.kernel_design import StoredDesign, source_means

# Width of the Gaussian kernel in each dimension, on raw columns.
SIGMA = {1: 0.2, 5: 1.0, 10: 1.5, 50: 3.0}


def gaussian_pair(d: int, n: int, m: int, seed: int) -> Shift:
    """Return N(0, .5^2) -> N(0, .3^2) if d = 1, else N(0, I) -> N(.5/sqrt d, .81 I)."""
    if d == 1:
        return make_sinc_shift(n, m, random_state=seed)
    return make_gaussian_shift(d, n, m, shift=0.5, scale=0.9, random_state=seed)


def bimodal_pair(n: int, m: int, seed: int) -> tuple:
    """Return source, target and ratio: N(0, 1.5^2 I) -> two Gaussians, in the plane."""
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.standard_normal((n, 2))
    mode = np.array([1.2, 1.2])
    sign = np.where(rng.random((m, 1)) < 0.5, 1.0, -1.0)
    X_target = sign * mode + 0.5 * rng.standard_normal((m, 2))
    peaks = _normal(X, mode, 0.5) + _normal(X, -mode, 0.5)
    return X, X_target, 0.5 * peaks / _normal(X, np.zeros(2), 1.5)


def gamma_of(sigma: float) -> float:
    """Return the kernel's parameter for a width."""
    return 0.5 / sigma**2


def mixture_problem(X, X_target, centers, sigma: float) -> MixtureLikelihood:
    """Return KLIEP's problem on given centers, its kernel stored."""
    samples = TwoSamples.of(X, X_target, None, None)
    kernel = Kernel("rbf", gamma_of(sigma))
    scale = source_means(samples, centers, kernel)
    design = StoredDesign.of(X_target, centers, kernel, scale)
    return MixtureLikelihood(design, samples.target_share)


def corrective(d: int) -> Corrective:
    """Return the solver as KLIEP sets it up."""
    return Corrective(n_join=30 if d >= 10 else 10)


def fit_on_centers(X, X_target, centers, sigma, *, tol=1e-6, callback=None):
    """Return solution and source weights: all that a peer's fit does, by our solver."""
    problem = mixture_problem(X, X_target, centers, sigma)
    found: Solution = solve(problem, corrective(X.shape[1]), tol=tol, callback=callback)
    used = np.flatnonzero(found.x)
    coef = found.x[used] / problem.A.scale[used]
    return found, Kernel("rbf", gamma_of(sigma)).push(X, centers[used], coef)


def judge(X, X_target, centers, sigma, coef):
    """Return our certificate of somebody's coefficients, brought to mean one."""
    problem = mixture_problem(X, X_target, centers, sigma)
    shares = np.maximum(coef, 0.0) * problem.A.scale
    return problem.certify(shares / shares.sum())


def nmse(weights, ratio) -> float:
    """Return the mean squared error, both scaled to mean one."""
    weights = np.asarray(weights, dtype=float)
    return float(np.mean((weights / weights.mean() - ratio / ratio.mean()) ** 2))


def _normal(X, mean, scale):
    squares = ((X - mean) ** 2).sum(axis=1)
    return np.exp(-0.5 * squares / scale**2) / scale ** X.shape[1]
