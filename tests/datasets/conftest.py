from collections.abc import Callable

import numpy as np
import pytest

# Fixed seeds, so a threshold of chance: one in 150 000 a comparison.
LIMIT = 4.5


def functions(X):
    return np.hstack([np.ones((len(X), 1)), X, X**2, np.cos(X)])


def standard_errors_apart(values, ratio, values_target):
    """Distance of weighted source means to target means, in standard errors."""
    weighted = ratio[:, None] * values
    variance = weighted.var(axis=0) / len(values)
    variance += values_target.var(axis=0) / len(values_target)
    means = weighted.mean(axis=0), values_target.mean(axis=0)
    return np.abs(means[0] - means[1]) / np.sqrt(variance)


@pytest.fixture
def assert_reweights() -> Callable[..., None]:
    """Check that the ratio turns source means into target means, and ones do not."""

    def check(values, ratio, values_target):
        apart = standard_errors_apart(
            functions(values), ratio, functions(values_target)
        )
        assert apart.max() < LIMIT
        plain = standard_errors_apart(values, np.ones(len(values)), values_target)
        assert plain.max() > 2 * LIMIT

    return check
