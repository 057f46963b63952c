r"""Weights of least linear discrepancy over rows that are read block by block.

The dual of

.. math:: \min_z \Bigl\| A_P - \sum_i z_i \phi_i \phi_i' \Bigr\|_2
    + b \Bigl(|z|^2 - \frac1n\Bigr), \qquad z \ge 0, \; \sum_i z_i = 1

is, over symmetric Y of nuclear norm at most one,

.. math:: L(Y) = \langle A_P, Y \rangle + \min_z \Bigl[b \bigl(|z|^2 - \tfrac1n\bigr)
    - \sum_i z_i \phi_i'Y\phi_i\Bigr],

whose minimiser :math:`z_i = (\phi_i'Y\phi_i / 2b - \tau)_+` is a function of the row.
L has the gradient :math:`A_P - \sum_i z_i \phi_i\phi_i'` and, where no row enters or
leaves, a constant second derivative: Newton steps over the ball end in few passes. What
is kept is a number a source row, and a matrix of (N(N+1)/2)^2 numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.spectral.discrepancy import LEAST_SCALE
from counterpoise.convex.spectral.solvers.dual_newton import ENOUGH, STEP_HALVINGS
from counterpoise.convex.spectral.steps.dual_newton import (
    FreeRows,
    newton_point,
    worst_direction,
)
from counterpoise.engine import Blocks, current_budget, map_reduce, whole_vector
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.projections import project_simplex
from counterpoise.validation import InvalidInput

# Columns, the constant among them, whose products are still few enough to be stored.
COLUMNS_BY_PASSES = 60


@dataclass(frozen=True, eq=False)
class QuadraticWeights:
    r"""Weights that are a quadratic function of a row, cut at zero.

    .. math:: w(x) = n (\phi(x)'Y\phi(x) / 2b - \tau)_+
    """

    form: Array
    threshold: float
    bend: float
    n_rows: int
    constant: bool

    def at(self, rows: Array) -> Array:
        """Return the weights of rows on scaled columns."""
        return self.n_rows * np.maximum(self._reach(rows), 0.0)

    def _reach(self, rows: Array) -> Array:
        pulls = pulls_of(_features(rows, self.constant), self.form)
        return pulls / (2.0 * self.bend) - self.threshold


@dataclass(frozen=True, eq=False)
class LeastDiscrepancy:
    """What was found: the weights, how good they are, and what it took."""

    weights: QuadraticWeights
    certificate: Certificate
    norm: float
    uniform: float
    spread: float
    n_iter: int


def refuse_beside_blocks(weighter: Any) -> None:
    """Refuse parameters that weights by passes cannot have."""
    wanted = {"kernel": "linear", "cap": None, "solver": "auto", "exponent": 1.0}
    for name, value in wanted.items():
        given = getattr(weighter, name)
        if given != value:
            raise InvalidInput(
                f"DiscrepancyWeights takes blocks with {name}={value!r} only, got "
                f"{given!r}"
            )


def spread_of_rows(rows: Blocks, constant: bool, largest: float) -> Any:
    """Return a function of the norm at equal weights: the default spread.

    As `default_spread`, by the moments of all rows.
    """
    moment, fourth = map_reduce(rows, _FeatureNoise(constant, rows.n_rows), _added)
    variance = np.linalg.eigvalsh(fourth - moment @ moment)[-1]
    noise = float(np.sqrt(max(float(variance), 0.0) / rows.n_rows))
    return lambda uniform: min(0.5 * noise / uniform, largest) if uniform > 0 else 0.0


def least_discrepancy(
    rows: Blocks,
    aims: Blocks,
    *,
    constant: bool,
    spread: Any,
    tol: float,
    max_iter: int,
) -> LeastDiscrepancy:
    """Return the weights of least discrepancy, by passes over all rows.

    Parameters
    ----------
    rows, aims : Blocks
        Source and target on scaled columns.
    constant : bool
        Whether hypotheses have a constant.
    spread : callable
        Takes the norm at equal weights, returns s, above zero.
    tol : float
        Gap to reach, relative to the larger of the lower bound and a hundredth of the
        norm at equal weights.
    max_iter : int
        Largest number of Newton steps.
    """
    n = rows.n_rows
    target = map_reduce(aims, _FeatureMoment(constant, aims.n_rows))
    source = map_reduce(rows, _FeatureMoment(constant, n))
    _check_products(len(target))
    uniform = _norm(target - source)
    bend = spread(uniform) * uniform * n
    if bend <= 0.0:
        raise InvalidInput(
            "weights of least discrepancy need a spread above zero where rows come in "
            "blocks: without it they are no function of a row"
        )
    dual = _DualOfRows(rows, target, constant, bend)
    here = dual.at(worst_direction(target - source))
    best, steps = here, 0
    while steps < max_iter and not _claim(best, here.bound, uniform).holds(tol):
        move = newton_point(here.form, here.gradient, here.curvature) - here.form
        length = 1.0
        for _ in range(STEP_HALVINGS):
            there = dual.at(here.form + length * move)
            if there.bound >= here.bound + ENOUGH * length * float(
                np.sum(here.gradient * move)
            ):
                break
            length *= 0.5
        else:
            break
        steps += 1
        here = there
        best = here if here.value < best.value else best
    claim = _claim(best, here.bound, uniform)
    found = QuadraticWeights(best.form, best.threshold, bend, n, constant)
    norm = _norm(best.gradient)
    return LeastDiscrepancy(found, claim, norm, uniform, bend / (uniform * n), steps)


@dataclass(frozen=True, eq=False)
class _DualPoint:
    form: Array
    threshold: float
    bound: float
    value: float
    gradient: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class _DualOfRows:
    rows: Blocks
    target: Array
    constant: bool
    bend: float

    def at(self, form: Array) -> _DualPoint:
        """Return everything that two passes tell about a dual matrix."""
        n, twice = self.rows.n_rows, 2.0 * self.bend
        work = _FormPulls(form, self.constant)
        pulls = whole_vector(self.rows, work)
        z = project_simplex(pulls / twice)
        top = int(np.argmax(z))
        threshold = float(pulls[top] / twice - z[top])
        even = self.bend * (float(z @ z) - 1.0 / n)
        bound = float(np.sum(self.target * form)) - float(pulls @ z) + even
        found = map_reduce(
            self.rows, _Curvature(form, threshold, twice, self.constant), _added
        )
        moment, *sums = found
        gradient = self.target - moment
        curvature = FreeRows(*sums).curvature(self.bend)
        value = _norm(gradient) + even
        return _DualPoint(form, threshold, bound, value, gradient, curvature)


def _claim(best: _DualPoint, bound: float, uniform: float) -> Certificate:
    bound = min(max(bound, 0.0), best.value)
    return Certificate(
        kind="dual bound",
        objective=best.value,
        bound=bound,
        gap=best.value - bound,
        scale=max(bound, LEAST_SCALE * uniform),
        infeasibility=0.0,
    )


def pulls_of(features: Array, form: Array) -> Array:
    """Return x'Yx of every row."""
    out: Array = np.einsum("ij,ij->i", features @ form, features)
    return out


def _features(rows: Array, constant: bool) -> Array:
    return np.column_stack([rows, np.ones(len(rows))]) if constant else rows


def _norm(form: Array) -> float:
    return float(np.abs(np.linalg.eigvalsh(form)).max())


def _check_products(N: int) -> None:
    size = 8 * (N * (N + 1) // 2) ** 2
    if N > COLUMNS_BY_PASSES or 4 * size > current_budget():
        raise InvalidInput(
            f"{N - 1} columns have {N * (N + 1) // 2} products, and the matrix of all "
            f"pairs of those takes {size / 1e6:.0f} MB, several times: at most "
            f"{COLUMNS_BY_PASSES - 1} columns are taken in blocks. MixtureKLIEP with "
            'statistics="diag" takes more'
        )


@dataclass(frozen=True, eq=False)
class _FeatureMoment:
    constant: bool
    n_rows: int

    def __call__(self, rows: Array, first: int) -> Array:
        features = _features(rows, self.constant)
        return features.T @ features / self.n_rows


@dataclass(frozen=True, eq=False)
class _FeatureNoise:
    """Second moments, and those weighed by the squared norms of the rows."""

    constant: bool
    n_rows: int

    def __call__(self, rows: Array, first: int) -> tuple[Array, Array]:
        features = _features(rows, self.constant)
        squares = np.einsum("ij,ij->i", features, features)[:, None]
        return (
            features.T @ features / self.n_rows,
            features.T @ (features * squares) / self.n_rows,
        )


@dataclass(frozen=True, eq=False)
class _FormPulls:
    form: Array
    constant: bool

    def __call__(self, rows: Array, first: Any) -> Array:
        return pulls_of(_features(rows, self.constant), self.form)


@dataclass(frozen=True, eq=False)
class _Curvature:
    """The weighted moment, and moments of the products of rows with a weight."""

    form: Array
    threshold: float
    twice_bend: float
    constant: bool

    def __call__(self, rows: Array, first: int) -> tuple[Any, ...]:
        features = _features(rows, self.constant)
        z = pulls_of(features, self.form) / self.twice_bend - self.threshold
        features, z = features[z > 0.0], z[z > 0.0]
        moment = features.T @ (features * z[:, None])
        free = FreeRows.of(features)
        return moment, free.products, free.total, free.count


def _added(earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(earlier, later, strict=True))
