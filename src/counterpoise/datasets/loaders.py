"""Bundled tables, and what every data set returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# What the arguments of a data set must be, and the generator behind its draws.
# -----------------------------------------------------------------------------


Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: Seed) -> np.random.Generator:
    """Return the generator to draw from, the same for the same integer."""
    if isinstance(random_state, np.random.RandomState):
        # Seeding from its stream moves it on, so a second call draws anew.
        return np.random.default_rng(random_state.randint(0, 2**31, size=4).tolist())
    seed = isinstance(random_state, int | np.integer) and random_state >= 0
    if seed or random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise InvalidInputError(
        "random_state must be None, an integer of at least 0, a numpy Generator "
        f"or a RandomState, got {random_state!r}"
    )


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is not an integer of at least `least`."""
    if not (_number(value) and isinstance(value, int | np.integer) and value >= least):
        raise InvalidInputError(
            f"{name} must be an integer of at least {least}, got {value!r}"
        )


def check_finite(name: str, value: object) -> None:
    """Refuse what is not a finite number."""
    if not _number(value):
        raise InvalidInputError(f"{name} must be a finite number, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse what is not a finite number above zero."""
    if not (_number(value) and value > 0):
        raise InvalidInputError(f"{name} must be positive, got {value!r}")


def check_nonnegative(name: str, value: object) -> None:
    """Refuse what is not a finite number of at least zero."""
    if not (_number(value) and value >= 0):
        raise InvalidInputError(f"{name} must be at least 0, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Refuse what is not a number between zero and one."""
    if not (_number(value) and 0 <= value <= 1):
        raise InvalidInputError(f"{name} must be between 0 and 1, got {value!r}")


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


# -----------------------------------------------------------------------------
# The record that every data set of this room comes back as.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shift:
    r"""A source sample, a target sample, and the density ratio between them.

    The ratio is the function

    .. math:: w(x) = p_{\text{target}}(x) / p_{\text{source}}(x),

    whose expectation over the source is one. It is not divided by its mean over
    the rows that were drawn, so that mean is one only up to chance. Unpacking gives
    the first five fields, ``X, y, X_target, y_target, ratio``.

    Parameters
    ----------
    X : array of shape (n, d)
        Source rows.
    y : array of shape (n,) or (n, k)
        Their labels.
    X_target : array of shape (m, d)
        Target rows.
    y_target : array of shape (m,) or (m, k)
        Their labels, which a method that adapts does not see.
    ratio : array of shape (n,) or None
        The density ratio at the source rows; None where there is none. In
        `make_articulated_pose` it is a ratio of poses, not of x.
    ratio_target : array of shape (m,) or None
        The same function at the target rows.
    feature_names : tuple of str or None
        Names of the columns, where they have any.
    covered : bool array of shape (m,) or None
        Whether a target row was drawn where the source has rows, in data sets made
        to have rows of both kinds.

    Examples
    --------
    >>> from counterpoise.datasets import make_sinc_shift
    >>> X, y, X_target, y_target, ratio = make_sinc_shift(n=5, m=3, random_state=0)
    >>> X.shape, X_target.shape, ratio.shape
    ((5, 1), (3, 1), (5,))
    """

    X: Array
    y: NDArray[Any]
    X_target: Array
    y_target: NDArray[Any]
    ratio: Array | None
    ratio_target: Array | None
    feature_names: tuple[str, ...] | None = None
    covered: NDArray[np.bool_] | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.X_target, self.y_target, self.ratio))


# -----------------------------------------------------------------------------
# Real tables, divided into source and target by a known rule.
# -----------------------------------------------------------------------------


def load_breast_cancer_shift(random_state: Seed = 0) -> Shift:
    r"""Tumours to classify: a screening clinic's, and a referral hospital's.

    The 569 tumours of scikit-learn's breast cancer set are the pool. Small ones are
    mostly found by the screening clinic, whose records are the source; large ones are
    mostly sent to the hospital, the target. A tumour goes to the source with
    probability

    .. math::

        s(x) = 0.1 + \frac{0.8}{1 + \exp\bigl((\text{mean radius} - 15) / 2\bigr)},

    else to the target. The rule looks at nothing but a column of x, so p(y given x) is
    the same in both, though 22 % of the source and 58 % of the target are expected to
    be malignant. A domain classifier that knows s has an AUC of about 0.77.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        With 30 feature names; y is 0 for malignant and 1 for benign, as in
        scikit-learn. The ratio is :math:`(1 - s) / s \cdot \bar s / (1 - \bar s)`,
        :math:`\bar s` the mean of s over the pool: the exact ratio when the pool is
        taken for the population, of expectation one over the source. It runs from 0.18
        to 12.3.

    References
    ----------
    W. Street, W. Wolberg and O. Mangasarian, 1993, for the table.

    Examples
    --------
    >>> from counterpoise.datasets import load_breast_cancer_shift
    >>> shift = load_breast_cancer_shift()
    >>> len(shift.X) + len(shift.X_target), shift.feature_names[0]
    (569, 'mean radius')
    """
    from sklearn.datasets import load_breast_cancer

    pool = load_breast_cancer()
    radius = pool.data[:, 0]
    chance = 0.1 + 0.8 * expit((15 - radius) / 2)
    return _divide(pool.data, pool.target, chance, pool.feature_names, random_state)


def load_diabetes_shift(random_state: Seed = 0) -> Shift:
    r"""Progress of diabetes to predict: a trial's patients, and a clinic's.

    The 442 patients of scikit-learn's diabetes set, in their raw units, are the pool.
    The trial, the source, enrolled mostly younger and leaner ones; the others are those
    whom the clinic, the target, sees. A patient goes to the source with probability

    .. math::

        s(x) = 0.1 + \frac{0.8}
        {1 + \exp\bigl((\text{age} - 50) / 10 + (\text{bmi} - 27) / 4 - 0.5\bigr)},

    else to the target. The rule looks at nothing but columns of x, so p(y given x) is
    the same in both, though the mean of y is expected to be 137 in the source and 174
    in the target. A domain classifier that knows s has an AUC of about 0.77.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        With 10 feature names; y is a measure of the disease a year later, from 25 to
        346. The ratio is :math:`(1 - s) / s \cdot \bar s / (1 - \bar s)`,
        :math:`\bar s` the mean of s over the pool: the exact ratio when the pool is
        taken for the population, of expectation one over the source. It runs from 0.17
        to 11.2.

    References
    ----------
    B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, 2004, for the table.

    Examples
    --------
    >>> from counterpoise.datasets import load_diabetes_shift
    >>> shift = load_diabetes_shift()
    >>> len(shift.X) + len(shift.X_target), shift.feature_names[0]
    (442, 'age')
    """
    from sklearn.datasets import load_diabetes

    pool = load_diabetes(scaled=False)
    age, bmi = pool.data[:, 0], pool.data[:, 2]
    chance = 0.1 + 0.8 * expit(0.5 - (age - 50) / 10 - (bmi - 27) / 4)
    return _divide(pool.data, pool.target, chance, pool.feature_names, random_state)


def _divide(
    X: Array, y: NDArray[Any], chance: Array, names: list[str], random_state: Seed
) -> Shift:
    """Send each row to the source with its chance, else to the target."""
    source = generator(random_state).random(len(X)) < chance
    mean = chance.mean()
    ratio = (1 - chance) / chance * mean / (1 - mean)
    return Shift(
        X=X[source],
        y=y[source],
        X_target=X[~source],
        y_target=y[~source],
        ratio=ratio[source],
        ratio_target=ratio[~source],
        feature_names=tuple(str(name) for name in names),
    )
