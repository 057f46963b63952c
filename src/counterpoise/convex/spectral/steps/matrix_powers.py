r"""Odd powers and hyperbolic functions of matrices, safe from overflow.

With p = 59 or an exponent of several hundred the entries themselves leave the range of
floating point: every function works on a matrix divided by its largest entry and keeps
the logarithm of what was divided out.
"""

import math

import numpy as np
from scipy.linalg import eigh

from counterpoise.numerics.arrays import Array

# Terms of the exponential's series: 1 / 19! is below rounding at a norm of one.
TERMS = 18


def power_by_squaring(A: Array, k: int) -> tuple[Array, float]:
    r"""Return B and s with :math:`A^k = e^s B` and largest entry of B one.

    A need not be symmetric. :math:`O(\log k)` matrix products; :math:`k \ge 1`.

    Examples
    --------
    >>> import numpy as np
    >>> B, s = power_by_squaring(np.diag([1e200, 2e200]), 5)
    >>> float(B[0, 0]), bool(np.isclose(s, 5 * np.log(2e200)))
    (0.03125, True)
    """
    base, base_log = _divided(A, 0.0)
    out: Array | None = None
    out_log = 0.0
    while True:
        if k & 1:
            if out is None:
                out, out_log = base, base_log
            else:
                out, out_log = _divided(out @ base, out_log + base_log)
        k >>= 1
        if not k:
            break
        base, base_log = _divided(base @ base, 2.0 * base_log)
    assert out is not None
    return out, out_log


def odd_power(M: Array, p: int, by: str = "eigen") -> tuple[Array, float, float]:
    r"""Return B, s, t with :math:`M^{2p-1} = e^s B` and :math:`Tr M^{2p} = e^t`.

    M is symmetric. By one eigen-decomposition (`by="eigen"`, :math:`9N^3`) or by
    repeated squaring (`by="squaring"`, :math:`O(N^3 \log p)`); t is minus infinity
    where M is zero.
    """
    if by == "squaring":
        if not M.any():
            return np.zeros_like(M), 0.0, -math.inf
        B, s = power_by_squaring(M, 2 * p - 1)
        return B, s, s + math.log(float(np.sum(B * M)))
    values, vectors = eigh(M, check_finite=False)
    top = float(np.abs(values).max())
    if top == 0.0:
        return np.zeros_like(M), 0.0, -math.inf
    ratios = values / top
    B = (vectors * ratios ** (2 * p - 1)) @ vectors.T
    trace = float(np.sum(ratios ** (2 * p)))
    return B, (2 * p - 1) * math.log(top), 2 * p * math.log(top) + math.log(trace)


def hyperbolic_ratio(S: Array, by: str = "eigen") -> Array:
    r"""Return :math:`\sinh(S) / Tr \cosh(S)`, of nuclear norm at most one.

    By one eigen-decomposition of the symmetric S (`by="eigen"`) or by powers alone
    (`by="powering"`): the series of :math:`e^{S/2^k}`, squared k times, for S and -S,
    :math:`2 (18 + \log_2 \|S\|)` products of N x N matrices.

    Examples
    --------
    >>> import numpy as np
    >>> hyperbolic_ratio(np.diag([2000.0, -1000.0])).round(6) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    if by == "powering":
        plus, plus_log = _exponential(S)
        minus, minus_log = _exponential(-S)
        top = max(plus_log, minus_log)
        plus *= math.exp(plus_log - top)
        minus *= math.exp(minus_log - top)
        ratio: Array = (plus - minus) / float(np.trace(plus) + np.trace(minus))
        return 0.5 * (ratio + ratio.T)
    values, vectors = eigh(S, check_finite=False, driver="evd")
    top = float(np.abs(values).max())
    up, down = np.exp(values - top), np.exp(-values - top)
    out: Array = (vectors * ((up - down) / float(np.sum(up + down)))) @ vectors.T
    return out


def _exponential(A: Array) -> tuple[Array, float]:
    """Return B and s with exp(A) = e^s B: a series of a small multiple, squared."""
    norm = float(np.abs(A).sum(axis=0).max())
    squarings = max(0, math.ceil(math.log2(norm))) if norm > 0.0 else 0
    small = A / 2.0**squarings
    eye = np.eye(len(A))
    out = eye
    for k in range(TERMS, 0, -1):
        out = eye + small @ out / k
    log = 0.0
    for _ in range(squarings):
        out, log = _divided(out @ out, 2.0 * log)
    return out, log


def _divided(A: Array, log: float) -> tuple[Array, float]:
    """Return A divided by its largest entry, and the logarithm with it."""
    size = float(np.abs(A).max())
    if size == 0.0:
        return A, log
    return A / size, log + math.log(size)
