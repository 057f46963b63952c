"""Real tables, divided into source and target by a known rule."""

from typing import Any

from numpy.typing import NDArray
from scipy.special import expit

from counterpoise.datasets.parameters import Seed, generator
from counterpoise.datasets.shift import Shift
from counterpoise.numerics.arrays import Array


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
