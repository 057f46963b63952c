r"""Guarantees about the loss of a model that was fitted to weighted source rows.

Throughout, h minimizes the weighted mean loss on the source plus
:math:`\lambda \|h\|_K^2` over the whole space of a kernel K, and :math:`h'` the same on
the labeled target sample, which nobody has; neither has an unpenalized intercept, so
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

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from counterpoise.data.labels_and_weights import as_responses, row_counts
from counterpoise.data.parameters import check_choice, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.performance.learning_bounds import (
    BOUNDED_KERNEL,
    Guarantee,
    at_least_zero,
    contraction_deviation,
    discrepancy_deviation,
    positive,
    rademacher_complexity,
)

_BALL = "norm_bound is at least the norms of h, of h' and of the reference hypothesis"
_NO_INTERCEPT = "h and h' minimize mean loss + alpha * norm**2, without an intercept"

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
    alpha, radius = positive(alpha=alpha), positive(radius=radius)
    mu, eta = positive(mu=mu), at_least_zero(eta=eta)
    return Guarantee(
        value=mu * radius * sqrt((disc + mu * eta) / alpha),
        bounds="|L(h'(x), y) - L(h(x), y)| at any (x, y)",
        form="pointwise, by the discrepancy",
        assumptions=(
            _NO_INTERCEPT,
            f"the loss is convex and {mu:g}-Lipschitz on the range met",
            _BALL,
            BOUNDED_KERNEL,
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
    alpha, delta = positive(alpha=alpha), at_least_zero(delta=delta)
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
    radius, largest = positive(radius=radius), at_least_zero(loss_bound=loss_bound)
    return Guarantee(
        value=2.0 * radius * sqrt(largest) * apart.value,
        bounds="|L(h'(x), y) - L(h(x), y)| at any (x, y), squared loss",
        form=apart.form,
        assumptions=(
            *apart.assumptions,
            BOUNDED_KERNEL,
            f"no squared loss of h or h' exceeds {largest:g}",
        ),
    )


def ridge_norm(
    y: ArrayLike, alpha: float, sample_weight: ArrayLike | None = None
) -> float:
    r"""Return a number that the norm of a ridge model does not exceed.

    :math:`\|h\|_K^2 \le E_q[y^2] / \lambda`, because the zero function is no better
    than h.

    Examples
    --------
    >>> ridge_norm([1.0, -1.0, 1.0], alpha=0.25)
    2.0
    """
    alpha = positive(alpha=alpha)
    values = as_responses(y, np.shape(y)[0] if np.ndim(y) else 0)
    if not values.size:
        raise InvalidInputError("y is empty: at least one response is needed")
    weights = row_counts(sample_weight, len(values))
    return sqrt(float(weights @ values**2) / float(weights.sum()) / alpha)


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
    first = at_least_zero(source_loss=source_loss) + at_least_zero(
        discrepancy=discrepancy
    )
    second = at_least_zero(optimum_distance=optimum_distance)
    third = at_least_zero(optimum_loss=optimum_loss)
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
    norm = at_least_zero(operator_norm=operator_norm)
    return 4.0 * at_least_zero(norm_bound=norm_bound) ** 2 * norm
