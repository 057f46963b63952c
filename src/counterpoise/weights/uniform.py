"""No weights at all, as a weighter."""

import numpy as np

from counterpoise.convex import Certificate, attested
from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import Matrix
from counterpoise.weights.base import Fitted, WeightEstimator
from counterpoise.weights.deadline import Deadline


class UniformWeights(WeightEstimator):
    """Weights of one: what `AutoWeights` takes where nothing is gained by weighing.

    :math:`w_i = 1`. Its certificate is of kind "none": nothing is minimised.

    Examples
    --------
    >>> import numpy as np
    >>> UniformWeights().fit(np.zeros((2, 1)), X_target=np.ones((3, 1))).weights_
    array([1., 1.])
    """

    _accepts_sparse = True
    gives_ones = True

    def _fit(self, samples: TwoSamples, deadline: Deadline) -> Fitted:
        ones = np.ones(samples.source.shape[0])
        proof = Certificate("none", objective=0.0)
        return Fitted(attested(ones[:1], proof, self.tol), ones, None)

    def _weigh(self, X: Matrix) -> Array:
        return np.ones(X.shape[0])
