"""The record that every data set of this room comes back as."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.numerics.arrays import Array


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
