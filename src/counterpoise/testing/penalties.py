"""What a penalty must satisfy."""

import math
from typing import Any

import numpy as np


def check_penalty(penalty: Any, random_state: int = 0) -> None:
    """Check that a penalty is a norm and that its prox and dual norm belong to it.

    Homogeneity and the triangle inequality; the prox beats random points and obeys the
    three-point inequality; g's <= dual_norm(g) value(s), and the prox of g is zero
    exactly from the step dual_norm(g) on, which is Moreau's identity at zero.

    Examples
    --------
    >>> from counterpoise.convex import L1
    >>> from counterpoise.testing import check_penalty
    >>> check_penalty(L1(4, 0.5))
    """
    rng = np.random.default_rng(random_state)
    n = penalty.size
    assert penalty.value(np.zeros(n)) == 0.0
    for _ in range(20):
        x, y, v = rng.standard_normal((3, n))
        assert penalty.value(x) > 0.0
        assert math.isclose(
            penalty.value(-2.5 * x), 2.5 * penalty.value(x), rel_tol=1e-12
        )
        assert penalty.value(x + y) <= penalty.value(x) + penalty.value(y) + 1e-12
        assert x @ y <= penalty.dual_norm(x) * penalty.value(y) * (1.0 + 1e-12)
        step = 10.0 ** rng.uniform(-2, 1)
        near = penalty.prox(v, step)
        best = step * penalty.value(near) + 0.5 * float((near - v) @ (near - v))
        for other in (x, v, 0.0 * v, near + 1e-3 * x):
            there = step * penalty.value(other) + 0.5 * float((other - v) @ (other - v))
            apart = 0.5 * float((other - near) @ (other - near))
            assert there >= best + apart - 1e-9, "the prox is not the minimiser"
        threshold = penalty.dual_norm(v)
        assert not penalty.prox(v, 1.0001 * threshold).any(), "dual norm too small"
        assert penalty.prox(v, 0.9999 * threshold).any(), "dual norm too large"
