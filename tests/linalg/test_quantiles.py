import numpy as np
import pytest

from counterpoise.linalg.arrays import quantiles_below_infinity


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.99])
def test_equal_weights_give_the_order_statistic_of_split_conformal(level):
    values = np.sort(np.random.default_rng(0).normal(size=50))
    found = quantiles_below_infinity(values, np.ones(50), np.array([1.0]), level)[0]
    rank = int(np.ceil(level * 51))
    assert found == (values[rank - 1] if rank <= 50 else np.inf)


def test_whole_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    values, counts = np.sort(rng.normal(size=30)), rng.integers(0, 4, size=30)
    repeated = np.repeat(values, counts)
    for level in (0.2, 0.7, 0.95):
        for atom in (0.0, 1.0, 5.0):
            one, other = (
                quantiles_below_infinity(v, w, np.array([atom]), level)[0]
                for v, w in (
                    (values, counts.astype(float)),
                    (repeated, np.ones(repeated.size)),
                )
            )
            assert one == other


def test_a_larger_atom_never_shrinks_the_quantile():
    values = np.sort(np.random.default_rng(2).normal(size=20))
    atoms = np.linspace(0, 10, 40)
    found = quantiles_below_infinity(values, np.full(20, 0.5), atoms, 0.6)
    assert (found[1:] >= found[:-1]).all()
    assert np.isinf(found[-1])
    assert np.isfinite(found[0])
