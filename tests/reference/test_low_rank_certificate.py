"""What is proved on a factor of KLIEP's kernel, against the whole kernel."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.data.two_samples import TwoSamples
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import Corrective, MixtureLikelihood, solve
from counterpoise.weights.kernel_design import LowRankDesign


def two_problems(seed):
    """Return KLIEP's problem on a factor of capped rank, and on the whole kernel."""
    rng = np.random.default_rng(seed)
    d, n, m = int(rng.integers(1, 4)), 150, int(rng.integers(40, 120))
    X, T = rng.standard_normal((n, d)), 0.4 + 0.9 * rng.standard_normal((m, d))
    p, q = (None, None) if seed % 3 else (rng.random(n) + 0.1, rng.random(m) + 0.1)
    samples = TwoSamples.of(X, T, p, q)
    gamma = 0.5 / 10.0 ** rng.uniform(-0.8, 1.2)
    relative = float(rng.choice([0.0, 0.1]))
    capped = LowRankDesign.of_rank(
        samples, Kernel("rbf", gamma), relative, int(rng.integers(1, 30))
    )
    b = samples.source_share @ rbf_kernel(X, T, gamma=gamma)
    K = rbf_kernel(T, gamma=gamma)
    b = (1.0 - relative) * b + relative * (samples.target_share @ K)
    q = samples.target_share
    return MixtureLikelihood(capped, q), MixtureLikelihood(K / b, q)


@pytest.mark.parametrize("part", range(4))
def test_the_certificate_is_never_below_the_true_gap_however_low_the_rank(part):
    coarse = fine = 0
    for seed in range(50 * part, 50 * part + 50):
        capped, whole = two_problems(seed)
        rng = np.random.default_rng(seed)
        m = whole.domain.size
        points = [capped.start(), np.full(m, 1.0 / m)]
        points += [np.zeros(m), np.zeros(m)]
        points[2][rng.choice(m, 5, replace=False)] = rng.dirichlet(np.ones(5))
        points[3][rng.integers(m)] = 1.0
        points.append(solve(capped, Corrective(), tol=1e-7, max_iter=30).x)
        points.append(solve(whole, Corrective(), tol=1e-10).x)
        for x in points:
            proved, true = capped.certify(x), whole.certify(x)
            if not np.isfinite(true.objective):
                continue
            assert proved.objective == pytest.approx(true.objective, abs=1e-9)
            assert proved.gap >= true.gap - 1e-12 * max(1.0, abs(true.objective)), seed
        coarse += capped.A.root.max() > 0.1
        fine += capped.A.root.max() < 1e-5
    assert coarse > 10
    assert fine > 2


def test_both_errors_of_the_factor_are_there_and_both_are_bounded():
    kernels = means = 0
    for seed in range(50):
        capped, whole = two_problems(seed)
        design = capped.A
        v = whole.weights / whole.objective.image(solve(whole, Corrective()).x)
        scale, least = design.scale.copy(), design.least_scale.copy()
        design.columns(np.arange(scale.size))  # from now on all means are exact
        exact = design.scale
        assert (least <= exact * (1.0 + 1e-9)).all()
        means += (scale > exact * (1.0 + 1e-6)).any()
        true = v @ whole.A
        bare = (design.factor @ v) @ design.factor
        bound = bare + design.root * float(design.root @ v)
        assert (bound / exact >= true - 1e-9 * true.max()).all()
        kernels += (bare / exact < true - 1e-6).any()
    assert kernels > 10
    assert means > 10
