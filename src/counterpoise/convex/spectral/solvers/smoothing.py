"""Nesterov steps on a smooth stand-in for the spectral norm."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.requirements import Requirements
from counterpoise.convex.spectral.solvers.frobenius import (
    MomentQuadratics,
    moment_quadratics,
)
from counterpoise.convex.spectral.solvers.incumbent import (
    Incumbent,
    of_moments_or_kernel,
    refuse_spread,
)
from counterpoise.convex.spectral.solvers.smooth_norm import (
    FeatureForm,
    KernelForm,
    smooth_form,
)
from counterpoise.numerics.arrays import Array

# A p beyond this changes nothing that floating point can see.
LARGEST_POWER = 100_000


@dataclass(frozen=True, eq=False)
class _SmoothingMemory:
    """Where Nesterov's scheme is: its three points, sum of gradients, J u_0."""

    k: int
    u: Array
    v: Array
    w: Array
    weighted_sum: Array
    image_of_first: Array
    dual_sum: Array | float
    programmes: MomentQuadratics
    form: FeatureForm | KernelForm
    best: Incumbent


@dataclass(frozen=True)
class Smoothing:
    r"""Cortes and Mohri's second algorithm: Nesterov's scheme on a smooth norm.

    .. math:: G_p(z) = \tfrac12 \left(Tr\, M(z)^{2p}\right)^{1/p}, \qquad
              \tfrac12\|M\|_2^2 \le G_p \le \tfrac12 r^{1/p} \|M\|_2^2

    with r the rank of M. Its gradient is Lipschitz with constant :math:`2p - 1` in the
    norm of :math:`J_{ij} = (x_i'x_j)^2`. From :math:`u_0`, the minimiser of the
    Frobenius norm, step k takes

    .. math:: v_k &= \arg\min_v \nabla G_p(u_k)'v + \tfrac{2p-1}{2}\|v - u_k\|_J^2 \\
              w_k &= \arg\min_w \textstyle\sum_{i \le k} \tfrac{i+1}{2}
                     \nabla G_p(u_i)'w + \tfrac{2p-1}{2}\|w - u_0\|_J^2 \\
              u_{k+1} &= \tfrac{2}{k+3} w_k + \tfrac{k+1}{k+3} v_k

    Dual matrices are :math:`M^{2p-1}` and its running average, divided by their nuclear
    norms. A step costs :math:`O(mN^2 + N^3)` for the gradient, in the kernel form
    :math:`O((m+n)^3 \log p)`, and two quadratic programmes of some fifteen factors of
    order m.

    Parameters
    ----------
    power : int, optional
        p; the authors ran 5 steps with 16. By default the least that keeps the smooth
        norm's factor within the accuracy, :math:`\log r / \log(1 + \epsilon)`.
    accuracy : float
        :math:`\epsilon`, used where `power` is None. It is guaranteed after
        :math:`4\sqrt{(1+\epsilon) r \log r} / \epsilon` steps (`steps_for`).
    by : {"eigen", "squaring"}
        How powers of M are found: from an eigen-decomposition or by repeated squaring,
        :math:`O(N^3 \log p)`. A kernel's are found by squaring.

    References
    ----------
    Cortes and Mohri (2011), algorithm 2, with the sign of (19), the 1/2 of (16) and the
    count of theorem 5 put right.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.convex import solve
    >>> from counterpoise.convex.spectral import Discrepancy
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Discrepancy(rows, np.array([[0.75, 0.5], [0.5, 0.75]]))
    >>> solution = solve(problem, Smoothing(power=16), tol=1e-3)
    >>> solution.converged
    True
    """

    power: int | None = None
    accuracy: float = 0.1
    by: Literal["eigen", "squaring"] = "eigen"

    def __post_init__(self) -> None:
        if self.power is not None and self.power < 1:
            raise ValueError(f"power must be at least 1, got {self.power}")
        if not self.accuracy > 0.0:
            raise ValueError(f"accuracy must be positive, got {self.accuracy}")
        if self.by not in ("eigen", "squaring"):
            raise ValueError(f"by must be 'eigen' or 'squaring', got {self.by!r}")

    @property
    def accepts(self) -> Requirements:
        """Second moments of rows, or a kernel."""
        return of_moments_or_kernel()

    def power_for(self, rank: int) -> int:
        """Return p for a matrix of this rank."""
        if self.power is not None:
            return self.power
        least = math.log(max(rank, 2)) / math.log1p(self.accuracy)
        return min(math.ceil(least), LARGEST_POWER)

    def steps_for(self, rank: int) -> int:
        """Return the steps that guarantee the accuracy; far fewer are needed."""
        size = (1.0 + self.accuracy) * rank * math.log(max(rank, 2))
        return math.ceil(4.0 * math.sqrt(size) / self.accuracy)

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at x or at the minimiser of the Frobenius norm."""
        refuse_spread(problem, "smoothing")
        form = smooth_form(problem, self.by)
        programmes, pull = moment_quadratics(problem)
        first = programmes.minimise(1.0, -pull) if x is None else problem.inside(x)
        best = Incumbent(first, problem.value(first))
        _, itself = form.gradient(first, 1)
        if itself is not None:
            best = form.or_dual(best, itself)
        image = programmes.curvature.image(first)
        none = np.zeros(len(first))
        memory = _SmoothingMemory(
            0, first, first, first, none, image, 0.0, programmes, form, best
        )
        return best.state(problem, memory, stalled=best.value == 0.0)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one step of the scheme."""
        memory: _SmoothingMemory = state.memory
        programmes, form = memory.programmes, memory.form
        p, k, u = self.power_for(form.rank), memory.k, memory.u
        gradient, dual = form.gradient(u, p)
        if dual is None:
            return memory.best.or_valued(u, 0.0).state(problem, memory, stalled=True)
        bend = 2.0 * p - 1.0
        image = programmes.curvature.image(u)
        v = programmes.minimise(bend, gradient - bend * image, memory.v)
        total = memory.weighted_sum + 0.5 * (k + 1) * gradient
        w = programmes.minimise(bend, total - bend * memory.image_of_first, memory.w)
        average = memory.dual_sum + (k + 1) * dual
        best = memory.best.or_point(problem, v)
        best = form.or_dual(form.or_dual(best, dual), average)
        there = replace(
            memory,
            k=k + 1,
            u=2.0 / (k + 3) * w + (k + 1.0) / (k + 3) * v,
            v=v,
            w=w,
            weighted_sum=total,
            dual_sum=average,
            best=best,
        )
        return best.state(problem, there)
