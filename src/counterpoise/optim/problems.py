"""Problems: an objective with a set or penalty, start and certificate."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array, Indices, finite_array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.likelihoods import MixedTilts, NegativeMeanLog, TiltedLikelihood
from counterpoise.optim.objectives import (
    FactoredDistance,
    KernelDistance,
    Objective,
    Quadratic,
    newton_direction,
)
from counterpoise.optim.sets import Domain, Penalty, Simplex


class ProblemBase:
    """What problems share whose proof is made of one evaluation."""

    objective: Any

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        here = self.objective.evaluate(x)
        return self.judge(x, here.value, here.gradient)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        raise NotImplementedError


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value > 0.0:
            raise ValueError(f"{name} must be positive, got {value}")


# -----------------------------------------------------------------------------
# Weighted kernel ridge regression, and what the residual of its equations proves.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KernelRidge:
    r"""Minimize :math:`\sum_i p_i (y_i - h(x_i) - b)^2 / 2 + \lambda \|h\|_K^2 / 2`.

    With :math:`S = \mathrm{diag}(\sqrt{p})` and :math:`h = \sum_i (Sv)_i k(x_i, .)` the
    equations are :math:`(SKS + \lambda I) v = S(y - b)`, and for *any* v, with r what
    they leave,

    .. math:: \text{objective at } v - \text{dual value at } v = |r|^2 / 2

    exactly, so that half the squared residual bounds the excess over the optimum. With
    an intercept b is the best one for v, and v is first made orthogonal to
    :math:`s = \sqrt{p}`, which the dual asks for. Several responses are several such
    problems: values and gaps are added up. Cost: two products with K.

    Parameters
    ----------
    product : callable
        `product(c)` returns Kc; c has a column a response.
    responses : array of shape (n, k)
        y.
    share : array of shape (n,)
        p, which sums to one.
    ridge : float
        :math:`\lambda`, positive.
    intercept : bool
        Whether there is a b.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[1.0], [3.0]])
    >>> problem = KernelRidge(np.eye(2).dot, y, np.full(2, 0.5), 1.0, False)
    >>> problem.certify(np.sqrt(0.5) * y / 1.5).gap < 1e-30
    True
    """

    product: Callable[[Array], Array]
    responses: Array
    share: Array
    ridge: float
    intercept: bool = True

    def __post_init__(self) -> None:
        _check_positive(ridge=self.ridge)

    @property
    def objective(self) -> Any:
        """The problem itself has `value`."""
        return self

    @cached_property
    def roots(self) -> Array:
        """The square roots s of the shares, as a column."""
        return np.sqrt(self.share)[:, None]

    @cached_property
    def scale(self) -> float:
        """The value of the best constant (zero without an intercept), or one if zero.

        What rounding leaves of equal responses is no unit: at least 1e-12 of their
        squares.
        """
        moved = self.responses
        if self.intercept:
            moved = moved - self.share @ moved
        value = 0.5 * float((self.share @ (moved * moved)).sum())
        least = 0.5e-12 * float((self.share @ self.responses**2).sum())
        return max(value, least) or 1.0

    def start(self) -> Array:
        """Return zero."""
        return np.zeros_like(self.responses)

    def intercepts(self, v: Array) -> Array:
        """Return the best b for v, one a response; zeros without an intercept."""
        if not self.intercept:
            return np.zeros(self.responses.shape[1])
        v = self._inside(v)
        return self.share @ (self.responses - self.product(self.roots * v))

    def value(self, v: Array) -> float:
        """Return the objective at v and its best b."""
        return self._value_and_gap(v)[0]

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        value, gap = self._value_and_gap(x)
        off = float(np.abs(x - self._inside(x)).max(initial=0.0))
        return Certificate(
            kind="duality gap",
            objective=value,
            bound=value - gap,
            gap=gap,
            scale=self.scale,
            residual=float(np.sqrt(2.0 * gap)),
            infeasibility=off / max(1.0, float(np.abs(x).max(initial=0.0))),
        )

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Return the same; there is no cheaper way."""
        return self.certify(x)

    def _inside(self, v: Array) -> Array:
        if not self.intercept:
            return v
        return v - self.roots * (self.roots.T @ v)

    def _value_and_gap(self, v: Array) -> tuple[float, float]:
        v = self._inside(v)
        image = self.product(self.roots * v)
        left = self.responses - image
        if self.intercept:
            left = left - self.share @ left
        left = self.roots * left
        norm = float(np.sum(self.roots * v * image))
        value = 0.5 * float(np.sum(left * left)) + 0.5 * self.ridge * norm
        rest = left - self.ridge * v
        return value, 0.5 * float(np.sum(rest * rest))


# -----------------------------------------------------------------------------
# Weighted means brought together, and what is provable of their distance.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeanMatching(ProblemBase):
    r"""Minimize the distance between a weighted mean and a mean over `domain`.

    A factored kernel :math:`K = A'A + R`, R positive semidefinite, sees every element
    but for its part outside the factor's span, whose squared norm is
    :math:`R_{ii}`. The true squared distance of x is that within the span plus that
    outside it, which lies between 0 and

    .. math:: e(x)^2 = \left(\sum_i x_i \sqrt{R_{ii}} + \delta\right)^2

    with :math:`\delta` the same of the mean to reach. So the value within the span less
    its Frank-Wolfe gap is a lower bound of the **true** problem, and the value plus
    :math:`e(x)^2` (`objective` of the certificate) is no less than the true value of x.

    Parameters
    ----------
    objective : FactoredDistance or KernelDistance
    domain : Domain
        Its points are non-negative.
    scale : float
        The unit of the gap.
    residual : array of shape (n,), optional
        The diagonal of R; None: the kernel is exact.
    outside : float
        :math:`\delta`.
    """

    objective: FactoredDistance | KernelDistance
    domain: Any
    scale: float = 1.0
    residual: Array | None = None
    outside: float = 0.0

    def __post_init__(self) -> None:
        _check_positive(scale=self.scale)

    def start(self) -> Array:
        """Return the domain's own start."""
        start: Array = self.domain.start()
        return start

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient within the span prove."""
        inside = float(gradient @ (x - self.domain.vertex(gradient)))
        objective = value + self.error(x)
        # A squared distance is never negative.
        bound = max(value - max(inside, 0.0), 0.0)
        return Certificate(
            kind="Frank-Wolfe gap and what the factor leaves out"
            if self.residual is not None
            else "Frank-Wolfe gap",
            objective=objective,
            bound=bound,
            gap=max(objective - bound, 0.0) if math.isfinite(objective) else math.inf,
            scale=self.scale,
            infeasibility=self.domain.infeasibility(x),
        )

    def error(self, x: Array) -> float:
        """Return the most that the factor hides of the squared distance at x."""
        if self._roots is None:
            return self.outside**2
        return (float(self._roots @ np.abs(x)) + self.outside) ** 2

    @cached_property
    def _roots(self) -> Array | None:
        return None if self.residual is None else np.sqrt(self.residual)


# -----------------------------------------------------------------------------
# Minimize over a set.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Constrained(ProblemBase):
    r"""Minimize `objective` over `domain`.

    Convexity gives :math:`f(s) \ge f(x) + g'(s - x)` for every s of the domain, so that
    the Frank-Wolfe gap :math:`g'(x - v)`, v the vertex that minimizes :math:`g'v`,
    bounds the excess of x. Cost: one gradient and one call of `vertex`.

    Parameters
    ----------
    objective : Objective
    domain : Domain
    scale : float
        The unit of the gap.
    """

    objective: Objective
    domain: Domain
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(scale=self.scale)

    def start(self) -> Array:
        """Return the domain's own start."""
        return self.domain.start()

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        gap = math.inf
        if math.isfinite(value):
            gap = float(gradient @ (x - self.domain.vertex(gradient)))
        outside = self.domain.infeasibility(x)
        return Certificate(
            kind="Frank-Wolfe gap",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            # Outside the set a point may lie below the bound: that is no smaller gap.
            gap=abs(gap) if outside > 0.0 else max(gap, 0.0),
            scale=self.scale,
            infeasibility=outside,
        )


# -----------------------------------------------------------------------------
# Minimize with a norm added.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Penalized(ProblemBase):
    r"""Minimize `objective` plus `penalty`, :math:`F(x) = f(x) + \Omega(x)`.

    Where f never goes below :math:`\ell` (its `lower_bound`), an optimum has
    :math:`\Omega(x^*) \le R = F(x) - \ell`, and convexity of f gives

    .. math:: F(x) - F^* \le \Omega(x) + g'x + R \max(0, \Omega^\circ(g) - 1)

    with :math:`g` the gradient of f at x and :math:`\Omega^\circ` the dual norm: all
    three terms vanish at an optimum. Cost: one gradient and one dual norm.

    Parameters
    ----------
    objective : Objective with `lower_bound`
    penalty : Penalty
    scale : float
        The unit of the gap.
    """

    objective: Any
    penalty: Penalty
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(scale=self.scale)
        if not hasattr(self.objective, "lower_bound"):
            raise TypeError(
                f"{type(self.objective).__name__} has no lower_bound: "
                "nothing can be proved about a penalized problem without one"
            )

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(self.penalty.size)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient of the smooth part at x prove."""
        least = float(self.objective.lower_bound)
        if value < least:
            raise ValueError(
                f"the objective is {value:g} at a point, "
                f"below its lower_bound {least:g}"
            )
        penalty = self.penalty.value(x)
        total = value + penalty
        radius = total - least
        excess = max(self.penalty.dual_norm(gradient) - 1.0, 0.0)
        gap = max(penalty + float(gradient @ x) + radius * excess, 0.0)
        return Certificate(
            kind="generalized Frank-Wolfe gap",
            objective=total,
            bound=total - gap,
            gap=gap,
            scale=self.scale,
        )


# -----------------------------------------------------------------------------
# The quadratics of density-ratio fitting: non-negative, or with a ridge.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NonnegativeQuadratic(ProblemBase):
    r"""Minimize :math:`x'Hx/2 - c'x` over :math:`x \ge 0`, H without negative entries.

    The dual is to maximize :math:`-y'Hy/2` over :math:`Hy \ge c`. As H has no negative
    entry, two dual points can be made of any :math:`x \ge 0`: the multiple sx with
    :math:`s = \max_l c_l / (Hx)_l`, and x raised by
    :math:`\max(c - Hx, 0)_l / H_{ll}` in every entry l. The better one bounds the
    optimum from below; both are tight at the solution. Where c has no positive entry
    the solution is zero. Cost: two products with H.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite, no negative entries, a positive diagonal.
    c : array of shape (n,)
        Linear term, with a minus sign in the objective.
    scale : float
        The unit of the gap.

    Examples
    --------
    >>> import numpy as np
    >>> problem = NonnegativeQuadratic(np.eye(2), np.array([1.0, -1.0]))
    >>> problem.certify(np.array([1.0, 0.0])).gap
    0.0
    """

    H: Array
    c: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.H.min() >= 0.0:
            raise ValueError(f"H must be non-negative, got {self.H.min()}")
        if not self.H.diagonal().min() > 0.0:
            raise ValueError("H must have a positive diagonal")
        _check_positive(scale=self.scale)

    @cached_property
    def objective(self) -> Quadratic:
        """The quadratic, without its constraint."""
        return Quadratic(self.H, -self.c)

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(len(self.c))

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        if not math.isfinite(value):
            return Certificate("duality gap", math.inf, scale=self.scale)
        inside, image = np.maximum(x, 0.0), gradient + self.c
        if (x < 0.0).any():
            image = self.H @ inside
        bound = self._lower_bound(inside, image)
        return Certificate(
            kind="duality gap",
            objective=value,
            bound=bound,
            gap=max(value - bound, 0.0),
            scale=self.scale,
            infeasibility=float(max(-x.min(), 0.0)),
        )

    def _lower_bound(self, x: Array, image: Array) -> float:
        """Return the better of two dual values, given Hx; x has no negative entry."""
        wanted = self.c > 0.0
        if not wanted.any():
            return 0.0
        raised = x + np.maximum(self.c - image, 0.0) / self.H.diagonal()
        bound = -0.5 * float(raised @ (self.H @ raised))
        if (image[wanted] > 0.0).all():
            multiple = float((self.c[wanted] / image[wanted]).max())
            bound = max(bound, -0.5 * multiple**2 * float(x @ image))
        return bound


@dataclass(frozen=True, eq=False)
class RidgeQuadratic(ProblemBase):
    r"""Minimize :math:`x'Hx/2 - h'x + \lambda |x|^2 / 2`.

    With the residual :math:`r = (H + \lambda I) x - h` the excess of x is
    :math:`r'(H + \lambda I)^{-1} r / 2 \le |r|^2 / (2 \lambda)`. It is the excess of x
    as it stands: what a method makes of the solution afterwards (negative entries
    put to zero) is no part of the proof, and the certificate's kind says so.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite.
    h : array of shape (n,)
        Linear term, with a minus sign in the objective.
    ridge : float
        :math:`\lambda`, positive.
    scale : float
        The unit of the gap.

    Examples
    --------
    >>> import numpy as np
    >>> problem = RidgeQuadratic(np.eye(2), np.array([1.0, -1.0]), ridge=1.0)
    >>> problem.certify(np.array([0.5, -0.5])).gap
    0.0
    """

    H: Array
    h: Array
    ridge: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(ridge=self.ridge, scale=self.scale)

    @cached_property
    def objective(self) -> Quadratic:
        """The whole quadratic, ridge included."""
        return Quadratic(self.H + self.ridge * np.eye(len(self.h)), -self.h)

    def start(self) -> Array:
        """Return zero."""
        return np.zeros(len(self.h))

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        image = self.H @ x + self.ridge * x
        return self.judge(x, float(0.5 * (x @ image) - self.h @ x), image - self.h)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        gap = math.inf
        if math.isfinite(value):
            gap = float(gradient @ gradient) / (2.0 * self.ridge)
        return Certificate(
            kind="closed form, then clipped",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            gap=gap,
            scale=self.scale,
        )


# -----------------------------------------------------------------------------
# Log-linear models of a density ratio, and what is provable about them.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogLinearRatio(ProblemBase):
    r"""Fit one log-linear density ratio: minimize a `TiltedLikelihood`.

    .. math:: \log \sum_i q_i \exp(S x)_i - t'x + \frac{\rho}{2} |x|^2

    The objective is strongly convex with modulus :math:`\rho`, so its gradient g proves
    :math:`f(x) - f^* \le |g|^2 / (2 \rho)`. Half the squared Newton decrement
    :math:`g'H^{-1}g / 2`, the excess to second order and far smaller where the ridge is
    small, is kept as `residual`. The gap is measured in units of
    :math:`\max(|f|, 0.1)` nats: the optimum is zero where nothing has shifted.

    Parameters
    ----------
    statistics : matrix of shape (n, p)
        S, of the source.
    mean : array of shape (p,)
        t, the mean statistics of the target.
    shares : array of shape (n,)
        q, positive, sum one.
    ridge : float
        rho, positive.
    """

    statistics: Any
    mean: Array
    shares: Array
    ridge: float

    def __post_init__(self) -> None:
        _check_positive(ridge=self.ridge)

    @cached_property
    def objective(self) -> TiltedLikelihood:
        """The negative log likelihood with its ridge."""
        return TiltedLikelihood(self.statistics, self.mean, self.shares, self.ridge)

    def start(self) -> Array:
        """Return zero, the uniform weights."""
        return np.zeros(self.mean.size)

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        here = self.objective.evaluate(x)
        direction = newton_direction(here, rtol=1e-3)
        decrement = -0.5 * float(here.gradient @ direction)
        return replace(self.judge(x, here.value, here.gradient), residual=decrement)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        gap = float(gradient @ gradient) / (2.0 * self.ridge)
        return Certificate(
            kind="gradient over strong convexity",
            objective=value,
            bound=value - gap,
            gap=gap,
            scale=max(abs(value), 0.1),
        )


@dataclass(frozen=True, eq=False)
class LogLinearMixture(ProblemBase):
    r"""Fit a mixture of log-linear density ratios: minimize `MixedTilts`.

    Not convex, so nothing is bounded (kind "stationarity"). The residual, in nats, is
    zero exactly at points that no small change improves to first order:

    .. math:: \max_k g_k - 1 + \sum_k |\nabla_{\eta_k}|^2 / (2 \rho)

    where :math:`g_k = \sum_j r_j a_k(t_j) / w(t_j)` averages to one over the
    proportions. Its unit is :math:`\max(|f|, 0.1)` nats.

    Parameters
    ----------
    As of `MixedTilts`.
    """

    statistics: Any
    statistics_target: Any
    shares: Array
    shares_target: Array
    n_components: int
    ridge: float

    def __post_init__(self) -> None:
        _check_positive(ridge=self.ridge)

    @cached_property
    def objective(self) -> MixedTilts:
        """The negative log likelihood with its ridge."""
        return MixedTilts(
            self.statistics,
            self.statistics_target,
            self.shares,
            self.shares_target,
            self.n_components,
            self.ridge,
        )

    def start(self) -> Array:
        """Return a component for each cluster of target rows.

        The clusters are those of k-means from equal pieces along the direction in
        which the target statistics vary most; whatever the order of the rows.
        """
        labels = self._clusters()
        k = self.n_components
        belongs = np.full((labels.size, k), 0.1 / k)
        belongs[np.arange(labels.size), labels] += 0.9
        proportions, parts = self.objective.parts_of(belongs)
        # Statistics of variance about one make this nearly the component's own fit.
        center = np.asarray(self.shares @ self.statistics)
        slopes = [(part.mean - center) / (1.0 + part.ridge) for part in parts]
        return np.concatenate([proportions, *slopes])

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        k = self.n_components
        slopes = gradient[k:]
        residual = max(float(-gradient[:k].min()) - 1.0, 0.0)
        residual += float(slopes @ slopes) / (2.0 * self.ridge)
        proportions = x[:k]
        return Certificate(
            kind="stationarity",
            objective=value,
            scale=max(abs(value), 0.1),
            residual=residual,
            infeasibility=max(
                abs(float(proportions.sum()) - 1.0), -float(proportions.min()), 0.0
            ),
        )

    def _clusters(self) -> Indices:
        T, share, k = self.statistics_target, self.shares_target, self.n_components
        mean = np.asarray(share @ T)
        axis = np.random.default_rng(0).standard_normal(mean.size)
        for _ in range(30):
            along = np.asarray(T @ axis) - mean @ axis
            axis = np.asarray((share * along) @ T) - float(share @ along) * mean
            axis /= max(float(np.linalg.norm(axis)), 1e-300)
        along = np.asarray(T @ axis)
        order = np.argsort(along)
        position = np.empty(along.size)
        position[order] = np.cumsum(share[order]) - 0.5 * share[order]
        labels = np.minimum((k * position).astype(np.intp), k - 1)
        for _ in range(20):
            nearness = np.full((share.size, k), -np.inf)
            for c in range(k):
                own = share * (labels == c)
                if own.sum() > 0.0:
                    center = np.asarray(own @ T) / own.sum()
                    nearness[:, c] = np.asarray(T @ center) - 0.5 * center @ center
            labels = np.argmax(nearness, axis=1)
        return labels


# -----------------------------------------------------------------------------
# Maximum likelihood of mixture proportions.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MixtureLikelihood(ProblemBase):
    r"""Minimize :math:`-\sum_j w_j \log (Ax)_j` over the unit simplex.

    With :math:`g = A'(w/(Ax))`, Jensen's inequality gives
    :math:`f(x) - f^* \le \log \max_l g_l`, which is tighter than the Frank-Wolfe gap
    :math:`\max_l g_l - 1` (kept as `residual`) at the same cost. The gap is measured in
    units of :math:`\max(|f|, 0.1)` nats: the optimum is zero where nothing has shifted.

    Parameters
    ----------
    A : array or `Design` of shape (m, n)
        Non-negative, no row all zero.
    weights : array of shape (m,), optional
        Weights of the rows.
    """

    A: Any
    weights: Array | None = None

    def __post_init__(self) -> None:
        if hasattr(self.A, "pull"):
            return
        object.__setattr__(self, "A", finite_array("A", self.A, 2))
        if not self.A.min() >= 0.0:
            raise ValueError(f"A must be non-negative, got {self.A.min()}")
        largest = self.A.max(axis=1)
        empty = ~(largest > 0.0)
        if self.weights is not None:
            empty &= np.asarray(self.weights) > 0.0
        if empty.any():
            raise ValueError(
                f"row {int(np.argmax(empty))} of A is zero: no mixture has a likelihood"
            )

    @cached_property
    def objective(self) -> NegativeMeanLog:
        """The negative mean log likelihood."""
        return NegativeMeanLog(self.A, self.weights)

    @cached_property
    def domain(self) -> Simplex:
        """The mixture proportions."""
        return Simplex(self.A.shape[1])

    def start(self) -> Array:
        """Return a mixture of few columns that covers every row.

        While a row has less than a thousandth of its best column's value, the best
        column of the worst such row joins, all with equal shares. A design that is
        not stored gives its own `start()`.
        """
        if not isinstance(self.A, np.ndarray):
            own: Array = self.A.start()
            return own
        A = self.A
        if self.weights is not None:
            A = A[np.asarray(self.weights) > 0.0]
        best = A.max(axis=1)
        chosen: list[int] = []
        cover = np.zeros_like(best)
        for _ in range(len(best)):
            share = cover / best
            worst = int(np.argmin(share))
            if share[worst] >= 1e-3:
                break
            column = int(np.argmax(A[worst]))
            chosen.append(column)
            np.maximum(cover, A[:, column], out=cover)
        x = np.zeros(self.A.shape[1])
        x[chosen] = 1.0 / len(chosen)
        return x

    def restricted(self, i: Indices) -> "MixtureLikelihood":
        """Return the same problem with the columns i alone, stored."""
        if isinstance(self.A, np.ndarray):
            return MixtureLikelihood(self.A[:, i], self.weights)
        return MixtureLikelihood(self.A.stored(i), self.weights)

    def judge(self, x: Array, value: float, gradient: Array) -> Certificate:
        """Say what a value and a gradient at x prove."""
        top = float(-gradient.min()) if math.isfinite(value) else math.inf
        gap = max(math.log(top), 0.0) if math.isfinite(top) else math.inf
        return Certificate(
            kind="log of the largest likelihood slope",
            objective=value,
            bound=value - gap if math.isfinite(gap) else -math.inf,
            gap=gap,
            scale=max(abs(value), 0.1) if math.isfinite(value) else 0.1,
            residual=max(top - 1.0, 0.0),
            infeasibility=self.domain.infeasibility(x),
        )
