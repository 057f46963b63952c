"""No weights at all, as a weighter."""

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpoise.convex import Certificate, attested
from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.deadline import Deadline


class UniformWeights(WeightEstimator):
    """Weights of one: what `AutoWeights` takes where nothing is gained by weighing.

    Its certificate is of kind "none": nothing is minimised.

    Examples
    --------
    >>> import numpy as np
    >>> UniformWeights().fit(np.zeros((2, 1)), X_target=np.ones((3, 1))).weights_
    array([1., 1.])
    """

    _accepts_sparse = True

    def __init__(
        self,
        *,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        max_time: float | None = None,
        callback: Callable[..., Any] | None = None,
        exponent: float = 1.0,
        force: bool = False,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.force = force
        self.random_state = random_state

    def _check_parameters(self) -> None:
        pass

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        ones = np.ones(samples.source.shape[0])
        proof = Certificate("none", objective=0.0)
        return Fitted(attested(ones[:1], proof, self.tol), ones, None)

    def _weigh(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])
