"""Learning guarantees under distribution shift."""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import finite_array

# -----------------------------------------------------------------------------
# A bound with all that it rests on.
# -----------------------------------------------------------------------------


BOUNDED_KERNEL = "K(x, x) <= radius**2 at every row, those of the target included"


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


def at_least_zero(**named: object) -> float:
    """Return the one number that is named, which must not be negative."""
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0)


def positive(**named: object) -> float:
    """Return the one number that is named, which must be positive."""
    ((name, value),) = named.items()
    return check_number(name, value, low=0.0, closed="neither")


# -----------------------------------------------------------------------------
# How far samples are from their populations, with a chance that is chosen.
# -----------------------------------------------------------------------------


_SAMPLE = "the target rows are an i.i.d. sample, without weights"


def discrepancy_deviation(
    n: int,
    *,
    radius: float,
    confidence: float = 0.95,
    kernel_diagonal: ArrayLike | None = None,
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
        second, from symmetrization, gains where the diagonal is mostly far below
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
    squared = positive(radius=radius) ** 2
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
            raise InvalidInputError(
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
        assumptions=(
            _SAMPLE,
            BOUNDED_KERNEL,
            f"with a chance of at least {confidence:g}",
        ),
    )


def rademacher_complexity(kernel_diagonal: ArrayLike, norm_bound: float) -> float:
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
        raise InvalidInputError(
            f"kernel_diagonal must not be negative, got {diagonal.min():g}"
        )
    bound = at_least_zero(norm_bound=norm_bound)
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
    largest = at_least_zero(loss_bound=loss_bound)
    d = 1.0 - check_number(
        "confidence", confidence, low=0.0, high=1.0, closed="neither"
    )
    slope = power * largest ** ((power - 1.0) / power)
    both = at_least_zero(complexity=complexity) + at_least_zero(
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
