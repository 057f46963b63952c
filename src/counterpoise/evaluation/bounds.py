r"""Guarantees about the loss of a model that was fitted to weighted source rows.

Throughout, h minimises the weighted mean loss on the source plus
:math:`\lambda \|h\|_K^2` over the whole space of a kernel K, and :math:`h'` the same on
the labelled target sample, which nobody has; neither has an unpenalised intercept, so
`WeightedKernelRidge(fit_intercept=False)` with `alpha` :math:`= \lambda`. M is the
difference of the second-moment operators of target and weighted source, and
:math:`\|M\|` what `discrepancy` and `DiscrepancyWeights.discrepancy_` give, *without*
the factor: over hypotheses of norm at most :math:`\Lambda` the discrepancy of the
squared loss is :math:`4 \Lambda^2 \|M\|`, and the functions here put the factor in.

None of these is an estimate of the error: all are loose, by a factor of two to ten
where it was measured. They say what cannot happen, under assumptions that are written
into every result. The terms that need labels of the target (`eta`, `delta`) are the
user's to assume; the default, zero, says that labels depend on the rows in the target
as in the source.

With a universal kernel on a compact set, such as the Gaussian one, the discrepancy of
two distributions is zero if and only if they are equal (Cortes and Mohri, theorem 1);
with the linear kernel if and only if their second moments are.

Notes
-----
Three statements in print need repair. The theorems bound :math:`\|h' - h\|` by the
discrepancy over a ball that must hold h, :math:`h'` and the reference hypothesis, which
is not said: here `norm_bound` is that radius. In the pointwise theorem
:math:`\eta = \max |f_Q - f_P|`, not the largest loss. The bound for any hypothesis
needs the triangle inequality and is false for the squared loss (h = 0, 1, 2: 4 > 1 +
1); `any_hypothesis` takes roots there.

References
----------
Y. Mansour, M. Mohri and A. Rostamizadeh, 2009. C. Cortes and M. Mohri, 2011.
D. Alvarez Melis, 2013.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from counterpoise.numerics.arrays import finite_array
from counterpoise.validation import (
    as_responses,
    as_weights,
    check_choice,
    check_integer,
    check_number,
)

__all__ = [
    "Guarantee",
    "any_hypothesis",
    "contraction_deviation",
    "discrepancy_deviation",
    "kernel_ridge",
    "model_distance",
    "pointwise_loss",
    "rademacher_complexity",
    "ridge_norm",
]

_BALL = "norm_bound is at least the norms of h, of h' and of the reference hypothesis"
_NO_INTERCEPT = "h and h' minimise mean loss + alpha * norm**2, without an intercept"
_KERNEL = "K(x, x) <= radius**2 at every row, those of the target included"
_SAMPLE = "the target rows are an i.i.d. sample, without weights"


@dataclass(frozen=True)
class Guarantee:
    """A number that something does not exceed, and what that rests on.

    ``float`` of it is `value`.

    Attributes
    ----------
    value : float
        The bound.
    bounds : str
        What is bounded.
    form : str
        Which statement gave the number.
    assumptions : tuple of str
        All that must hold.
    """

    value: float
    bounds: str
    form: str
    assumptions: tuple[str, ...]

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        assumed = "; ".join(self.assumptions)
        return f"{self.bounds} <= {self.value:.4g} ({self.form}; assuming: {assumed})"


def pointwise_loss(
    operator_norm: float,
    *,
    norm_bound: float,
    alpha: float,
    radius: float,
    mu: float,
    eta: float = 0.0,
) -> Guarantee:
    r"""Return a bound of the difference of losses of two models at any point.

    .. math::

        |L(h'(x), y) - L(h(x), y)| \le
        \mu R \sqrt{(4 \Lambda^2 \|M\| + \mu \eta) / \lambda}

    Parameters
    ----------
    operator_norm : float
        :math:`\|M\|`, of `discrepancy`. For another loss than the squared one give its
        own discrepancy divided by :math:`4 \Lambda^2`.
    norm_bound : float
        :math:`\Lambda`; `ridge_norm` gives one for h.
    alpha : float
        :math:`\lambda`.
    radius : float
        R, with :math:`K(x, x) \le R^2`; one for the Gaussian kernel.
    mu : float
        Lipschitz constant of the loss: twice the root of the largest loss for the
        squared loss, one for the absolute and the hinge loss.
    eta : float
        The largest :math:`|f_Q - f_P|` over source rows, an assumption.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> float(pointwise_loss(0.01, norm_bound=1, alpha=0.04, radius=1, mu=2))
    2.0
    """
    disc = _disc(operator_norm, norm_bound)
    alpha, radius = _positive(alpha=alpha), _positive(radius=radius)
    mu, eta = _positive(mu=mu), _checked(eta=eta)
    return Guarantee(
        value=mu * radius * sqrt((disc + mu * eta) / alpha),
        bounds="|L(h'(x), y) - L(h(x), y)| at any (x, y)",
        form="pointwise, by the discrepancy",
        assumptions=(
            _NO_INTERCEPT,
            f"the loss is convex and {mu:g}-Lipschitz on the range met",
            _BALL,
            _KERNEL,
            f"the labels f_Q and f_P differ by at most {eta:g} at source rows, and f_P "
            "is in the ball",
        ),
    )


def model_distance(
    operator_norm: float,
    *,
    norm_bound: float,
    alpha: float,
    delta: float = 0.0,
    distance: float | None = None,
) -> Guarantee:
    r"""Return a bound of the distance of two ridge models in the kernel's norm.

    The smaller of

    .. math::

        \|h' - h\|_K \le \frac{\delta + \sqrt{\delta^2 + 16 \lambda \Lambda^2 \|M\|}}
        {2 \lambda}, \qquad
        \|h' - h\|_K \le \frac{\delta + \|M\| \, \|h - h_0\|_K}{\lambda},

    the theorem for any loss specialised to the squared one, and what follows from the
    identity :math:`h' - h = (A_P + \lambda)^{-1} [(e_P - e_q) - M (h - h_0)]`; the
    second is linear in :math:`\|M\|` and smaller once that is below about
    :math:`4 \lambda`.

    Parameters
    ----------
    operator_norm, norm_bound, alpha : float
        :math:`\|M\|`, :math:`\Lambda`, :math:`\lambda`.
    delta : float
        :math:`\|E_P[(h_0 - f_P) \phi] - E_q[(h_0 - f_Q) \phi]\|_K` for the reference
        hypothesis :math:`h_0`, an assumption; zero where :math:`f_P = f_Q = h_0`.
    distance : float or None
        :math:`\|h - h_0\|_K`. None: :math:`\Lambda` where `delta` is zero, as
        :math:`h_0 = f` then, else :math:`2 \Lambda`.

    Returns
    -------
    Guarantee
        Its `form` names the smaller.

    Examples
    --------
    >>> found = model_distance(0.125, norm_bound=1.0, alpha=0.5)
    >>> found.value, found.form
    (0.25, 'linear in the discrepancy')
    """
    disc = _disc(operator_norm, norm_bound)
    alpha, delta = _positive(alpha=alpha), _checked(delta=delta)
    check_number("distance", distance, low=0.0, options=(None,))
    if distance is None:
        distance = norm_bound if delta == 0.0 else 2.0 * norm_bound
    root = (delta + sqrt(delta**2 + 4.0 * alpha * disc)) / (2.0 * alpha)
    linear = (delta + operator_norm * distance) / alpha
    same = "f_P = f_Q is one function of the kernel's space, of norm at most norm_bound"
    return Guarantee(
        value=min(root, linear),
        bounds="||h' - h||_K",
        form="linear in the discrepancy"
        if linear <= root
        else "root of the discrepancy",
        assumptions=(
            _NO_INTERCEPT,
            "the loss is the squared one",
            _BALL,
            same if delta == 0.0 else f"delta of the reference is at most {delta:g}",
        ),
    )


def kernel_ridge(
    operator_norm: float,
    *,
    norm_bound: float,
    alpha: float,
    radius: float,
    loss_bound: float,
    delta: float = 0.0,
    distance: float | None = None,
) -> Guarantee:
    r"""Return a bound of the difference of squared losses of two ridge models.

    .. math:: |L(h'(x), y) - L(h(x), y)| \le 2 R \sqrt{B} \, \|h' - h\|_K

    with the distance bounded by `model_distance`; in its first form, with
    :math:`\delta = 0`, :math:`4 R \Lambda \sqrt{B \|M\| / \lambda}`.

    Parameters
    ----------
    operator_norm, norm_bound, alpha, delta, distance : as in `model_distance`
        :math:`\|M\|`, :math:`\Lambda`, :math:`\lambda`, :math:`\delta`.
    radius : float
        R, with :math:`K(x, x) \le R^2`; one for the Gaussian kernel.
    loss_bound : float
        B, which no squared loss of h or :math:`h'` exceeds.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> numbers = {"norm_bound": 1.0, "alpha": 0.5, "radius": 1.0, "loss_bound": 4.0}
    >>> float(kernel_ridge(0.125, **numbers))
    1.0
    """
    apart = model_distance(
        operator_norm,
        norm_bound=norm_bound,
        alpha=alpha,
        delta=delta,
        distance=distance,
    )
    radius, largest = _positive(radius=radius), _checked(loss_bound=loss_bound)
    return Guarantee(
        value=2.0 * radius * sqrt(largest) * apart.value,
        bounds="|L(h'(x), y) - L(h(x), y)| at any (x, y), squared loss",
        form=apart.form,
        assumptions=(
            *apart.assumptions,
            _KERNEL,
            f"no squared loss of h or h' exceeds {largest:g}",
        ),
    )


def ridge_norm(y: Any, alpha: float, sample_weight: Any = None) -> float:
    r"""Return a number that the norm of a ridge model does not exceed.

    :math:`\|h\|_K^2 \le E_q[y^2] / \lambda`, because the zero function is no better
    than h.

    Examples
    --------
    >>> ridge_norm([1.0, -1.0, 1.0], alpha=0.25)
    2.0
    """
    alpha = _positive(alpha=alpha)
    values = as_responses(y, np.shape(y)[0] if np.ndim(y) else 0)
    if not values.size:
        raise ValueError("y is empty: at least one response is needed")
    weights = as_weights(sample_weight, len(values))
    return sqrt(float(weights @ values**2) / float(weights.sum()) / alpha)


def discrepancy_deviation(
    n: int,
    *,
    radius: float,
    confidence: float = 0.95,
    kernel_diagonal: Any = None,
    method: str = "operator",
) -> Guarantee:
    r"""Return how far the second moments of a sample are from those of its population.

    With a chance of at least :math:`1 - d` (the confidence)

    .. math::

        \|A_P - A_{\hat P}\| \le R^2 \frac{1 + \sqrt{\log(1/d)}}{\sqrt n}
        \quad\text{("operator")}, \qquad
        \frac{2}{n} \sqrt{\sum_i K_{ii}^2} + 3 R^2 \sqrt{\frac{\log(2/d)}{2n}}
        \quad\text{("rademacher")}.

    As weights of the source are chosen by the rows, only the target's term is needed:
    :math:`\|A_P - A_q\| \le \|A_{\hat P} - A_q\|` plus this number.

    Parameters
    ----------
    n : int
        Rows of the sample.
    radius : float
        R, with :math:`K(x, x) \le R^2`.
    confidence : float
        :math:`1 - d`.
    kernel_diagonal : array of shape (n,), optional
        :math:`K_{ii}` of the sample, for "rademacher"; None: :math:`R^2`.
    method : {"operator", "rademacher"}
        The first follows from the mean and bounded differences of the deviation in the
        Hilbert-Schmidt norm (one row moves it by at most :math:`\sqrt 2 R^2 / n`); the
        second, from symmetrisation, gains where the diagonal is mostly far below
        :math:`R^2`.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> round(float(discrepancy_deviation(500, radius=1.0)), 3)
    0.122
    """
    check_choice("method", method, ("operator", "rademacher"))
    n = check_integer("n", n, low=1)
    squared = _positive(radius=radius) ** 2
    d = 1.0 - check_number(
        "confidence", confidence, low=0.0, high=1.0, closed="neither"
    )
    if method == "operator":
        value = squared * (1.0 + sqrt(log(1.0 / d))) / sqrt(n)
    else:
        diagonal = np.full(n, squared)
        if kernel_diagonal is not None:
            diagonal = finite_array("kernel_diagonal", kernel_diagonal, 1)
        # The square of a root may be smaller than the number, by rounding.
        most = squared * (1.0 + 1e-12)
        if diagonal.size != n or diagonal.min() < 0 or diagonal.max() > most:
            raise ValueError(
                f"kernel_diagonal must have {n} entries between 0 and radius**2 = "
                f"{squared:g}, got {diagonal.size} from {diagonal.min():g} to "
                f"{diagonal.max():g}"
            )
        value = 2.0 * float(np.sqrt(diagonal @ diagonal)) / n
        value += 3.0 * squared * sqrt(log(2.0 / d) / (2.0 * n))
    return Guarantee(
        value=value,
        bounds="||A_P - A_Phat||, to be added to the operator norm",
        form=method,
        assumptions=(_SAMPLE, _KERNEL, f"with a chance of at least {confidence:g}"),
    )


def rademacher_complexity(kernel_diagonal: Any, norm_bound: float) -> float:
    r"""Return a bound of the Rademacher complexity of a ball of hypotheses.

    :math:`E \sup_{\|h\| \le \Lambda} |\frac{2}{n} \sum_i \sigma_i h(x_i)| \le
    2 \Lambda \sqrt{\mathrm{tr} K} / n`, in the definition with the factor two and the
    absolute value, which `contraction_deviation` needs.

    Examples
    --------
    >>> rademacher_complexity([1.0, 1.0, 1.0, 1.0], norm_bound=3.0)
    3.0
    """
    diagonal = finite_array("kernel_diagonal", kernel_diagonal, 1)
    if diagonal.min() < 0:
        raise ValueError(
            f"kernel_diagonal must not be negative, got {diagonal.min():g}"
        )
    bound = _checked(norm_bound=norm_bound)
    return 2.0 * bound * sqrt(float(diagonal.sum())) / diagonal.size


def contraction_deviation(
    n: int,
    m: int,
    *,
    complexity: float,
    complexity_target: float,
    loss_bound: float,
    power: float = 2.0,
    confidence: float = 0.95,
) -> Guarantee:
    r"""Return how far the discrepancy of two samples is from that of the populations.

    For the loss :math:`|h - h'|^q`, at most B, with a chance of at least
    :math:`1 - d`

    .. math::

        disc(P, Q) - disc(\hat P, \hat Q) \le 4 q B^{(q-1)/q} (R_S + R_T)
        + 3 B \Bigl(\sqrt{\tfrac{\log(4/d)}{2n}} + \sqrt{\tfrac{\log(4/d)}{2m}}\Bigr)

    Parameters
    ----------
    n, m : int
        Rows of source and target, both without weights.
    complexity, complexity_target : float
        :math:`R_S, R_T`, of `rademacher_complexity` on either sample.
    loss_bound : float
        B.
    power : float
        q, at least one.
    confidence : float
        :math:`1 - d`.

    Returns
    -------
    Guarantee
        Of the discrepancy itself, the factor :math:`4 \Lambda^2` included. For the
        squared loss `discrepancy_deviation` is far sharper.

    Examples
    --------
    >>> numbers = {"complexity": 0.1, "complexity_target": 0.1, "loss_bound": 1.0}
    >>> round(float(contraction_deviation(1000, 1000, **numbers)), 2)
    1.88
    """
    check_integer("n", n, low=1)
    check_integer("m", m, low=1)
    check_number("power", power, low=1.0)
    largest = _checked(loss_bound=loss_bound)
    d = 1.0 - check_number(
        "confidence", confidence, low=0.0, high=1.0, closed="neither"
    )
    slope = power * largest ** ((power - 1.0) / power)
    both = _checked(complexity=complexity) + _checked(
        complexity_target=complexity_target
    )
    chance = sqrt(log(4.0 / d) / (2.0 * n)) + sqrt(log(4.0 / d) / (2.0 * m))
    return Guarantee(
        value=4.0 * slope * both + 3.0 * largest * chance,
        bounds="disc(P, Q) - disc(Phat, Qhat)",
        form="contraction",
        assumptions=(
            "both samples are i.i.d., without weights",
            f"the loss |h - h'|**{power:g} is at most {largest:g} for all hypotheses",
            f"with a chance of at least {1.0 - d:g}",
        ),
    )


def any_hypothesis(
    source_loss: float,
    discrepancy: float,
    optimum_distance: float,
    optimum_loss: float,
    *,
    loss: str = "squared",
) -> Guarantee:
    r"""Return a bound of the target loss of any hypothesis, where all terms are known.

    For a loss with the triangle inequality, with :math:`h_Q^*, h_P^*` the best
    hypotheses on source and target,

    .. math::

        L_P(h, f_P) \le L_Q(h, h_Q^*) + disc(P, Q) + L_P(h_Q^*, h_P^*)
        + L_P(h_P^*, f_P);

    for the squared loss the same with roots,

    .. math::

        \sqrt{L_P(h, f_P)} \le \sqrt{L_Q(h, h_Q^*) + disc} + \sqrt{L_P(h_Q^*, h_P^*)}
        + \sqrt{L_P(h_P^*, f_P)}.

    The last two terms need the target's labels: this is for simulations.

    Parameters
    ----------
    source_loss : float
        :math:`L_Q(h, h_Q^*)`.
    discrepancy : float
        disc(P, Q), the factor :math:`4 \Lambda^2` included.
    optimum_distance, optimum_loss : float
        :math:`L_P(h_Q^*, h_P^*)` and :math:`L_P(h_P^*, f_P)`.
    loss : {"squared", "absolute", "zero-one"}
        The last two satisfy the triangle inequality.

    Returns
    -------
    Guarantee

    Examples
    --------
    >>> float(any_hypothesis(1.0, 0.0, 1.0, 0.0)), 2.0**2
    (4.0, 4.0)
    """
    check_choice("loss", loss, ("squared", "absolute", "zero-one"))
    first = _checked(source_loss=source_loss) + _checked(discrepancy=discrepancy)
    second = _checked(optimum_distance=optimum_distance)
    third = _checked(optimum_loss=optimum_loss)
    roots = loss == "squared"
    value = (
        (sqrt(first) + sqrt(second) + sqrt(third)) ** 2
        if roots
        else first + second + third
    )
    return Guarantee(
        value=value,
        bounds="L_P(h, f_P)",
        form="triangle inequality of roots" if roots else "triangle inequality",
        assumptions=(
            "h and the best hypotheses on source and target are in the class of the "
            "discrepancy",
        ),
    )


def _disc(operator_norm: float, norm_bound: float) -> float:
    """Return the discrepancy of the squared loss over a ball."""
    norm = _checked(operator_norm=operator_norm)
    return 4.0 * _checked(norm_bound=norm_bound) ** 2 * norm


def _checked(**named: Any) -> float:
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0)


def _positive(**named: Any) -> float:
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0, closed="neither")
