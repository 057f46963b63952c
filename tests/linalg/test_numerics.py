"""Array functions against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoise.linalg import compiled as compiled_module
from counterpoise.linalg.cholesky import append_row, remove_row, solve_factored
from counterpoise.optim.sets import project_capped_simplex, project_simplex

finite = st.floats(-1e6, 1e6, allow_nan=False)


@given(arrays(float, st.integers(1, 20), elements=finite))
def test_a_simplex_projection_sums_to_one_and_is_nearest(point):
    near = project_simplex(point)
    assert near.min() >= 0.0
    assert near.sum() == pytest.approx(1.0, abs=1e-9)
    # Optimality: one multiplier for all positive entries, a larger one for the rest.
    levels = (point - near)[near > 0]
    assert np.ptp(levels) <= 1e-9 * max(1.0, np.abs(point).max())
    assert (
        point[near == 0] <= levels.mean() + 1e-9 * max(1, np.abs(point).max())
    ).all()


@given(
    arrays(float, 8, elements=st.floats(-100, 100)),
    arrays(float, 8, elements=st.floats(0.01, 2)),
    st.floats(0.01, 0.99),
)
def test_a_capped_projection_meets_bounds_and_sum(point, upper, share):
    total = share * upper.sum()
    near = project_capped_simplex(point, upper, total)
    assert (near >= 0.0).all()
    assert (near <= upper).all()
    assert near.sum() == pytest.approx(total, abs=1e-9)
    inside = (near > 0) & (near < upper)
    if inside.any():
        level = (point - near)[inside].mean()
        assert np.abs((point - near)[inside] - level).max() <= 1e-9
        assert (point[near == 0] <= level + 1e-9).all()
        assert ((point - upper)[near == upper] >= level - 1e-9).all()


def test_a_factor_follows_added_and_removed_rows():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((30, 12))
    M = root.T @ root
    factor = np.zeros((12, 12))
    kept = []
    for _ in range(200):
        absent = [i for i in range(12) if i not in kept]
        if absent and (not kept or rng.random() < 0.6):
            new = int(rng.choice(absent))
            append_row(factor, len(kept), M[new, kept].astype(float), M[new, new], 0.0)
            kept.append(new)
        else:
            position = int(rng.integers(len(kept)))
            remove_row(factor, len(kept), position)
            kept.pop(position)
        k = len(kept)
        L = np.tril(factor[:k, :k])
        np.testing.assert_allclose(L @ L.T, M[np.ix_(kept, kept)], atol=1e-10)
        right = rng.standard_normal(k)
        np.testing.assert_allclose(
            M[np.ix_(kept, kept)] @ solve_factored(factor, k, right), right, atol=1e-9
        )


def test_a_machine_without_a_writable_cache_still_compiles(monkeypatch):
    genuine = compiled_module.njit

    def no_cache(*arguments, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return genuine(*arguments, **options)

    monkeypatch.setattr(compiled_module, "njit", no_cache)

    @compiled_module.compiled
    def double(x: float) -> float:
        return 2.0 * x

    assert double(1.5) == 3.0
