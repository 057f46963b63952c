r"""Functions to minimise, and what each of them can do.

An objective has `value(x)` and `gradient(x)`; it knows nothing of its domain. What else
it can do has a name, and a solver that needs it asks for it by that name:

=============  =====================================================================
`image`        `image(x)`, linear in x; `value_at(x, image)` and
               `gradient_at(x, image)` are then cheap, and a step along a line needs
               the image of its direction only
`along`        `along(x, direction, limit, images=None)`: the exact minimiser over
               t in [0, limit] of the value at x + t direction (`images`: those of x
               and of the direction)
`columns`      `columns(i)`: the images of the coordinate vectors i, as columns
`model`        `model(i, columns, image)`: gradient and Hessian in the coordinates i
`distinct`     `distinct(i, count, alike)`: the first coordinates of i, no two alike
`prox`         `prox(v, step)`: the minimiser of value + |x - v|^2 / (2 step)
`blocks`       `blocks(size)`: pairs (share, objective) whose weighted mean this is
`lower_bound`  a number that the value never goes below, on the whole space
`conic`        `conic()`: a `ConicForm`, for interior-point solvers
`newton`       `newton(extra)`: the solver of (Hessian + diag(extra)) y = right
`hessian`      `hessian(x)`: the matrix of second derivatives; `hessian_operator(x)`:
               its product with a vector; `direction(x, gradient)`: Newton's, solved
               in the objective's own way
`parts`        `parts(x)`, `split(x)`: the convex problems of a mixture's components
=============  =====================================================================
"""

from counterpoise.convex.objectives.conic_form import ConicForm
from counterpoise.convex.objectives.least_squares import LeastSquares
from counterpoise.convex.objectives.logistic import LogisticLoss, SoftmaxLine
from counterpoise.convex.objectives.mean_distance import (
    FactoredDistance,
    KernelDistance,
)
from counterpoise.convex.objectives.negative_mean_log import NegativeMeanLog
from counterpoise.convex.objectives.objective import Objective
from counterpoise.convex.objectives.quadratic import Quadratic
from counterpoise.convex.objectives.tilted_likelihood import (
    MixedTilts,
    TiltedLikelihood,
)

__all__ = [
    "ConicForm",
    "FactoredDistance",
    "KernelDistance",
    "LeastSquares",
    "LogisticLoss",
    "MixedTilts",
    "NegativeMeanLog",
    "Objective",
    "Quadratic",
    "SoftmaxLine",
    "TiltedLikelihood",
]
