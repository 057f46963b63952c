"""An order of rows that does not depend on where they stand."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.data.two_samples import canonical_order


def test_the_order_of_rows_is_lexicographic():
    rng = np.random.default_rng(1)
    X, share = rng.integers(0, 3, size=(60, 3)).astype(float), rng.uniform(size=60)
    expected = np.lexsort((share, X[:, 2], X[:, 1], X[:, 0]))
    np.testing.assert_array_equal(canonical_order(X, share), expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_order_of_rows_does_not_depend_on_how_they_came(form):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(50, 4)) * rng.normal(size=(50, 4))
    mixed = rng.permutation(50)
    first = X[canonical_order(form(X), np.ones(50))]
    second = X[mixed][canonical_order(form(X[mixed]), np.ones(50))]
    np.testing.assert_array_equal(first, second)
