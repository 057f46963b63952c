"""Twin Gaussian processes (KL, inverse KL, Sharma-Mittal)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_responses
from counterpoise.data.parameters import (
    RandomState,
    check_choice,
    check_integer,
    check_number,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel, nearest_distance
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import attested
from counterpoise.twin_gp.approximations import (
    ExactModel,
    LandmarkModel,
    LocalModel,
    Model,
    blocks,
    build,
    check_factors_fit,
    first_ones,
    in_blocks,
    judge,
    lightest,
    too_light,
)
from counterpoise.twin_gp.base import StructuredRegressor
from counterpoise.twin_gp.baselines import (
    INSTEAD,
    build_gpr,
    certified_dual,
    gpr_answers,
    warn_unproved,
)
from counterpoise.twin_gp.problem import (
    DIVERGENCES,
    PUSH,
    UNEXPLAINED,
    InputPart,
    Settings,
    TwinRows,
    column_variances,
    input_kernel,
    of_order,
    output_kernel,
    products,
)
from counterpoise.twin_gp.search import (
    THETAS,
    Axis,
    held_out_score,
    search,
    search_axes,
)

# -----------------------------------------------------------------------------
# Answers to test rows with what is known about them, and what must be said.
# -----------------------------------------------------------------------------


# An answer further than this from all training outputs, in widths of the output kernel,
# is like none of them; and so is one further than the outputs' spread.
UNLIKE_WIDTHS = 3.0


class TwinAnswers(NamedTuple):
    """Answers to test rows, an entry each.

    Attributes
    ----------
    outputs : array of shape (m, d)
    nats : array of shape (m,)
        The divergence above its lower bound; zero where nobody asked.
    residual : array of shape (m,)
        Scaled stationarity; zero for lost rows.
    moved : array of shape (m,)
        Distance from the GPR mean.
    lost : array of shape (m,)
        Whether the input is like no training input, so that the answer is the GPR mean.
    """

    outputs: Array
    nats: Array
    residual: Array
    moved: Array
    lost: NDArray[np.bool_]


def solve(model: Model, X: Array, tol: float, proved: bool) -> TwinAnswers:
    """Answer test rows that fit in memory together."""
    problems = model.pose(X)
    found = problems.answers(tol)
    nats = problems.prove(found.x).gap if proved else np.zeros(len(X))
    moved = np.linalg.norm(found.x - problems.mean(), axis=1)
    return TwinAnswers(found.x, nats, found.residual, moved, problems.lost)


def warn_of_answers(
    answers: TwinAnswers, rows: TwinRows, gamma_y: float, tol: float
) -> None:
    """Say which answers did not settle, have left the outputs, or know no input."""
    count = len(answers.outputs)
    if answers.lost.any():
        warn_user(
            f"{answers.lost.mean():.1%} of the rows are like no training input (these "
            f"explain less than {UNEXPLAINED:.0%} of their variance): their answer is "
            "the GPR mean"
        )
    short = answers.residual > tol
    if short.any():
        warn_user(
            f"{int(short.sum())} of {count} answers did not reach tol = {tol:g}: their "
            f"scaled gradients go up to {answers.residual.max():.1e}; raise the ridges "
            "or accept a larger tol",
            ConvergenceWarning,
        )
    width = 1.0 / np.sqrt(2.0 * gamma_y)
    spread = float(np.sqrt(column_variances(rows.Y, rows.weight).sum()))
    far = min(UNLIKE_WIDTHS * width, spread)
    unlike = nearest_distance(answers.outputs, rows.Y) > far
    gone = unlike & (answers.moved > far)
    if gone.any():
        warn_user(
            f"{gone.mean():.1%} of the answers have left the training outputs by more "
            f"than {far / spread:.2g} of their spread: the divergence asks for outputs "
            "like no other where the input says little; raise ridge_y, or use another "
            "divergence or WeightedGPR"
        )
    still = unlike & ~gone & ~answers.lost
    if still.any():
        warn_user(
            f"{still.mean():.1%} of the answers are like no training output: gamma_y = "
            f"{gamma_y:.3g} is too large for them, and they say no more than the GPR "
            "mean they started from"
        )


# -----------------------------------------------------------------------------
# The whole divergence of the two Gaussians, not only what y decides of it.
# -----------------------------------------------------------------------------


def divergences(model: Model, X: Array, Y: Array) -> Array:
    """Return the divergence, in nats, over training rows and test row, exactly.

    By the chain rule it is that of the training rows plus the answer's gap. Through
    landmarks or neighbors the factors of all rows, or of each row's neighbors, are
    made for it.
    """
    if isinstance(model, LocalModel):
        pairs = zip(X[:, None], Y[:, None], strict=True)
        return np.concatenate([divergences(_around(model, x), x, y) for x, y in pairs])
    exact = model.exact() if isinstance(model, LandmarkModel) else model
    gaps, first = [], 0
    for part in blocks(X, exact.row_bytes()):
        gaps.append(exact.pose(part).prove(Y[first : first + len(part)]).gap)
        first += len(part)
    return of_training_rows(exact) + np.concatenate(gaps)


def of_training_rows(model: ExactModel) -> float:
    """Return the divergence of the training rows' Gaussians: N^3 flops for KL."""
    inputs, outputs, settings = model.inputs.factor, model.outputs, model.settings
    logs = inputs.log_determinant() - outputs.log_determinant()
    kind = settings.loss.mixed
    if kind == "linear":
        trace = float(np.sum(inputs.forward(outputs.lower.T) ** 2))
        return 0.5 * (trace - len(model.rows) + logs)
    if kind == "quadratic":
        trace = float(np.sum(outputs.forward(inputs.lower.T) ** 2))
        return 0.5 * (trace - len(model.rows) - logs)
    assert model.mixture is not None
    t = settings.theta
    mean = (1 - t) * inputs.log_determinant() + t * outputs.log_determinant()
    return (model.mixture.log_determinant() - mean) / (2.0 * (1.0 - t))


def _around(model: LocalModel, x: Array) -> ExactModel:
    """Return the model of all rows that is made of one test row's neighbors."""
    near, root = model.neighbors(x)
    used = root[0] > 0.0
    rows = model.rows.take(near[0][used])
    counted = TwinRows(rows.X, rows.Y, root[0][used] ** 2, rows.group)
    return ExactModel.of(counted, model.settings)


# -----------------------------------------------------------------------------
# The distinct minima of a test row: the ambiguity itself.
# -----------------------------------------------------------------------------


# Minima nearer to one another than this, in widths of the output kernel, are one.
SAME_MINIMUM = 0.05
# Training rows, the most similar to the test input, among which starts are chosen.
SIMILAR_ROWS = 100
# A point whose residual is above this has not come to a minimum.
SETTLED = 1e-4


class Modes(NamedTuple):
    """The minima of one test row, the best first.

    Attributes
    ----------
    outputs : array of shape (k,) or (k, d)
    losses : array of shape (k,)
        The divergence in nats, up to a constant of the row.
    gaps : array of shape (k,)
        Each loss above what no y goes below.
    """

    outputs: Array
    losses: Array
    gaps: Array


def starts(model: Model, x: Array, n_init: int) -> Array:
    """Return outputs to start from: of rows like x, far from one another."""
    rows, settings = model.rows, model.settings
    similar = Kernel("rbf", settings.gamma_x).matrix(x[None], rows.X)[0] * rows.root
    near = np.argsort(-similar, kind="stable")[:SIMILAR_ROWS]
    chosen = [near[0]]
    away = np.linalg.norm(rows.Y[near] - rows.Y[near[0]], axis=1)
    while len(chosen) < min(n_init, near.size):
        k = int(np.argmax(away))
        chosen.append(near[k])
        away = np.minimum(away, np.linalg.norm(rows.Y[near] - rows.Y[near[k]], axis=1))
    return rows.Y[np.array(chosen)]


def minima(model: Model, x: Array, n_init: int, tol: float) -> Modes:
    """Return the distinct minima found from the GPR mean and other starts.

    Each point is pushed a little and let go again: a minimum comes back, a saddle does
    not. A row that is like no training input has one mode, the GPR mean.
    """
    one = model.pose(x[None])
    if one.lost[0]:
        mean = one.mean()
        proof = one.prove(mean)
        return Modes(mean, proof.value, proof.gap)
    first = one.start()
    if n_init > 1:
        first = np.vstack([first, starts(model, x, n_init - 1)])
    row = np.zeros(len(first), dtype=np.intp)
    found = one.solve(first, row, tol)
    push: Array = np.random.default_rng(0).normal(size=(first.shape[1],))
    if one.directions is not None:
        push = one.directions @ (push @ one.directions)
    unit = push / np.linalg.norm(push)
    found = one.solve(found.x + PUSH * model.settings.radius * unit, row, tol)
    order = np.argsort(found.value, kind="stable")
    settled = order[found.residual[order] <= max(SETTLED, tol)]
    kept = _distinct(found.x, settled if settled.size else order[:1], model)
    losses = found.value[kept]
    return Modes(found.x[kept], losses, np.maximum(losses - one.bounds()[0], 0.0))


def _distinct(Y: Array, order: Indices, model: Model) -> Indices:
    """Return the points that are no copies of a better one."""
    kept: list[int] = []
    least = SAME_MINIMUM * model.settings.radius
    for row in order:
        away = [np.linalg.norm(Y[row] - Y[other]) for other in kept]
        if not away or min(away) > least:
            kept.append(int(row))
    return np.array(kept, dtype=np.intp)


# -----------------------------------------------------------------------------
# Twin Gaussian processes in closed form: the target's kernel vector, then a mean.
# -----------------------------------------------------------------------------


# Similarities are kept inside these, so that their logarithms are finite.
LEAST_SIMILARITY, MOST_SIMILARITY = 1e-12, 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class _Direct:
    inputs: InputPart
    S_y: Array
    n_rows: int

    @property
    def rows(self) -> TwinRows:
        return self.inputs.rows

    @cached_property
    def most(self) -> int:
        """The most rows that can be needed to reach their number by weight."""
        return lightest(self.rows.weight, self.n_rows)


class DirectTwinGP(StructuredRegressor):
    r"""Mean of the rows whose similarities a twin Gaussian process would ask for.

    Minimizing KL over the vector of output similarities instead of over y has a closed
    form,

    .. math:: k = m\, S_y u, \quad u = S_x^{-1} s_x, \quad
        m = \frac{-e_x + \sqrt{e_x^2 + 4 a c_y}}{2a}, \quad a = u'S_y u,

    divided by the roots of the weights. The answer is the mean of the rows with the
    largest similarities, by the shares :math:`-w_i/\log k_i` (weights over squared
    distances). Where an input is so far from all rows that it asks for none, it is the
    weighted mean of all outputs. Fit :math:`N^3/3`, predict :math:`2 N^2` a row.

    Parameters
    ----------
    gamma_x, gamma_y : float or None
        Kernel widths: exp(-gamma * dist**2). None: 1 / (4 sum of weighted variances).
    ridge_x, ridge_y : float
        Noise of a row of weight one, in units of the signal's variance.
    n_rows : int
        How many rows are averaged, counted by their weights; of the last one only what
        is left of the number is used.
    standardize_y : bool
        Whether outputs are divided by their standard deviations.
    search : {"holdout", "kfold", "groups"} or None
        How widths (where None) and ridges are chosen.
    search_weights : bool
        Whether held-out rows count by their weights.
    calibration_fraction : float
        Share of the rows kept out of the fit for `predict_set`.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    gamma_x_, gamma_y_, ridge_x_, ridge_y_ : float
        In use.
    solution_ : Solution
        Dual coefficients of the inputs' GPR with their certificate.

    References
    ----------
    Yamada, Sigal and Raptis (2014).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0.0, 3.0, 40)[:, None]
    >>> model = DirectTwinGP(n_rows=5).fit(X, np.column_stack([np.sin(X), np.cos(X)]))
    >>> model.predict([[1.0]]).round(1)
    array([[0.8, 0.5]])
    """

    _numbers = ("gamma_x", "gamma_y", "ridge_x", "ridge_y")

    def __init__(
        self,
        *,
        gamma_x: float | None = None,
        gamma_y: float | None = None,
        ridge_x: float = 1e-3,
        ridge_y: float = 1e-3,
        n_rows: int = 25,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration_fraction: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.ridge_x = ridge_x
        self.ridge_y = ridge_y
        self.n_rows = n_rows
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def predict(
        self, X: ArrayLike, return_uncertainty: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the outputs at rows, and on request the inputs' variance e_x."""
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        answers, lost = _solve(model, X)
        if lost.any():
            warn_user(
                f"{lost.mean():.1%} of the rows are like no training input (gamma_x = "
                f"{self.gamma_x_:.3g}): their answers are the mean of all outputs"
            )
        out = self._out(answers)
        if not return_uncertainty:
            return out
        part = model.inputs
        return out, in_blocks(
            lambda some: part.schur(part.factor.forward(part.similarities(some))),
            X,
            24 * len(part.rows),
        )

    def _check_parameters(self) -> None:
        check_integer("n_rows", self.n_rows, low=1)

    def _build(
        self, rows: TwinRows, numbers: Mapping[str, float], final: bool
    ) -> _Direct:
        settings = Settings("kl", 0.0, **numbers)
        rows = rows.heard(min(settings.ridge_x, settings.ridge_y))
        # The certificate makes the kernel of the inputs a second time.
        check_factors_fit(len(rows), 3 if final else 2, INSTEAD)
        S_x, S_y = input_kernel(rows, settings), output_kernel(rows, settings)
        return _Direct(InputPart.of(rows, settings, S_x), S_y, self.n_rows)

    def _judge(self, model: _Direct) -> None:
        self.solution_ = certified_dual(model.inputs)
        warn_unproved("DirectTwinGP", self.solution_, model.inputs)
        light = too_light("n_rows", model.rows.weight, model.n_rows)
        if light is not None:
            warn_user(light)

    def _answers(self, model: _Direct, X: Array, final: bool) -> Array:
        return _solve(model, X)[0]


def _solve(model: _Direct, X: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the outputs at rows, and which rows are like no training input."""

    def answer(part: Array) -> Array:
        k = _similarities(model, part)
        out = _mean_of_first(model, k)
        # Otherwise the rows that happen to come first would be averaged.
        out[k.max(axis=1) <= LEAST_SIMILARITY] = np.nan
        return out

    out = in_blocks(answer, X, 64 * len(model.rows) + 64 * model.most)
    lost = np.isnan(out[:, 0])
    out[lost] = model.rows.mean
    return out, lost


def _similarities(model: _Direct, X: Array) -> Array:
    """Return which similarities to the training outputs the inputs ask for, (m, N)."""
    inputs = model.inputs
    h = inputs.factor.forward(inputs.similarities(X))
    e_x = inputs.schur(h)
    u = inputs.factor.backward(h)
    q = u @ model.S_y
    a = np.maximum(products(u, q), 1e-300)
    c_y = 1.0 + inputs.settings.ridge_y
    # The root in the form that does not cancel where a is small.
    m = 2.0 * c_y / (e_x + np.sqrt(e_x * e_x + 4.0 * a * c_y))
    q *= m[:, None]
    q /= inputs.rows.root
    return q


def _mean_of_first(model: _Direct, k: Array) -> Array:
    """Return the mean of the most similar rows' outputs."""
    weight = model.rows.weight
    first, used = first_ones(-k, weight, model.n_rows, model.most)
    like = np.clip(
        np.take_along_axis(k, first, axis=1), LEAST_SIMILARITY, MOST_SIMILARITY
    )
    share = np.zeros_like(k)
    np.put_along_axis(share, first, -used / np.log(like), axis=1)
    share /= share.sum(axis=1)[:, None]
    return share @ model.rows.Y


# -----------------------------------------------------------------------------
# Twin Gaussian processes, for outputs that belong together.
# -----------------------------------------------------------------------------


# Landmarks are poor if answers are off by more than this share of the outputs' spread.
POOR_ANSWERS = 0.05
# In a search answers need not be better than this.
ROUGH_ANSWER_TOL, ROUGH_STEPS = 1e-4, 20


class TwinGP(StructuredRegressor):
    r"""The output whose similarities to the training outputs look like the input's.

    Two Gaussians over the training rows and the test row, one of the inputs, one of
    the outputs, have the covariances

    .. math:: S_x = D K_x D + l_x I, \quad S_y = D K_y D + l_y I, \qquad
        D = \mathrm{diag}(\sqrt{w_i})

    bordered by :math:`s_x = D k_x(X, x)`, :math:`s_y(y) = D k_y(Y, y)` and the corners
    :math:`1 + l`. The answer minimizes the divergence between them over y. Where
    several outputs fit one input "sharma-mittal" takes one of them; regression gives
    their mean, which may be no output at all, and "kl" hardly leaves it.

    Parameters
    ----------
    divergence : {"sharma-mittal", "kl", "inverse-kl"}
        Rényi's divergence from X to Y of order `theta`; KL(Y‖X); KL(X‖Y).
    theta : float
        Share of the outputs in the mixture, in (0, 1); towards 0 answers are those of
        "kl", towards 1 those of "inverse-kl".
    gamma_x, gamma_y : float or None
        Kernel widths: exp(-gamma * dist**2). None: 1 / (4 sum of weighted variances).
    ridge_x, ridge_y : float
        Noise of a row of weight one, in units of the signal's variance.
    n_landmarks : "auto", int or None
        Outputs that stand for the output kernel, which make an evaluation free of the
        number of rows; None: all rows. "auto": at most 400, and all rows up to 500, or
        up to 2000 where landmarks do not stand for them.
    n_neighbors : int or None
        A model a test row, on so many nearest rows counted by weight, where there are
        too many rows for one factor; `n_landmarks` then says nothing.
    standardize_y : bool
        Whether outputs are divided by their standard deviations.
    search : {"holdout", "kfold", "groups"} or None
        How widths (where None), ridges and `theta` are chosen: by the mean distance on
        a held-out quarter, in five folds, or in folds of `groups`. The best GPR on the
        same rows stands beside, and a warning says where it is better.
    search_weights : bool
        Whether held-out rows count by their weights.
    calibration_fraction : float
        Share of the rows kept out of the fit for `predict_set`.
    tol : float
        Scaled gradient at which an answer is found.
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    gamma_x_, gamma_y_, ridge_x_, ridge_y_, theta_ : float
        In use.
    solution_ : Solution
        Answers at twenty training inputs and their certificate: mean values, and the
        largest residual.
    landmark_error_ : float or None
        Mean distance of these answers from the minima of the loss of all rows that lie
        nearest down from them; None for neighbors.
    holdout_score_, gpr_holdout_score_ : float
        Mean held-out distance of the best candidate, and of the best GPR; of
        standardized outputs where `standardize_y`. Candidates are solved roughly
        (landmarks, twenty steps).
    cv_results_ : dict of arrays
        Of all candidates.
    effective_sample_size_ : float
    X_fit_, y_fit_, sample_weight_ : arrays
        The rows that were fitted to, equal ones merged; outputs are divided by
        `y_scale_`, then reduced by `y_center_`.

    Notes
    -----
    Weights are used as given: weight k is the row k times and weight zero its absence,
    as if all ridges but those of the test row's corner were divided by it. Weights of
    mean one need nothing. The ridge comes after the weights; as printed by Chapaneri
    and Jayaswal, before them, the weights cancel exactly and answers are the unweighted
    ones.

    Sharma and Mittal's second parameter, the order, is a strictly growing map of the
    divergence: it never changes an answer, so it is no parameter here and belongs to
    `divergence_value` alone.

    The problem in y is not convex, but each divergence has a lower bound in closed form
    over all y. `predict(X, return_uncertainty=True)` gives how far above it the answer
    is, in nats: a bound of its distance to the global minimum, zero only where
    similarities of inputs and outputs agree. Among rows like the training ones it ranks
    answers by their errors, weakly; it does not tell that a row is unlike them.

    An input that is like no training input asks for an output that is like none, and
    there are many of these: rows of whose variance the training inputs explain less
    than half are answered by the GPR mean, with a warning.
    Answers stay in the affine hull of the training outputs. The search starts at the
    GPR mean, a thousandth of the kernel's width towards the likest row's output, since
    between mirrored rows the mean is a saddle.

    A copy or a loaded model keeps the rows alone and makes its factors again when it is
    first asked. Long searches report every candidate to the logger "counterpoise".

    Weights help where the model is too smooth, where outputs shift
    (`LabelShiftWeights`), and where a budget of rows is drawn by them; a tuned model
    under covariate shift hardly gains. For estimated weights use their root
    (`counterpoise.flatten`). Where outputs are mostly noise GPR is better.

    Fit: three factors of :math:`N^3/3` flops at most. An answer: :math:`N^2` once, then
    O(r (r + d_y)) an evaluation through r landmarks, or :math:`2 N^2` to :math:`6 N^2`
    through all rows; about ten evaluations.

    References
    ----------
    Bo and Sminchisescu (2010). Yamada, Sigal and Raptis (2014). Elhoseiny and Elgammal
    (2015). Chapaneri and Jayaswal (2019).

    Examples
    --------
    >>> from counterpoise.datasets import make_articulated_pose
    >>> shift = make_articulated_pose("none", 200, 3, random_state=0)
    >>> model = TwinGP(ridge_x=1e-2, ridge_y=1e-2).fit(shift.X, shift.y)
    >>> poses, nats = model.predict(shift.X_target, return_uncertainty=True)
    >>> poses.shape, bool((nats >= 0).all())
    ((3, 18), True)
    """

    _numbers = ("gamma_x", "gamma_y", "ridge_x", "ridge_y", "theta")

    def __init__(
        self,
        *,
        divergence: str = "sharma-mittal",
        theta: float = 0.3,
        gamma_x: float | None = None,
        gamma_y: float | None = None,
        ridge_x: float = 1e-3,
        ridge_y: float = 1e-3,
        n_landmarks: int | str | None = "auto",
        n_neighbors: int | None = None,
        standardize_y: bool = False,
        search: str | None = None,
        search_weights: bool = False,
        calibration_fraction: float = 0.0,
        tol: float = 1e-8,
        random_state: RandomState = None,
    ) -> None:
        self.divergence = divergence
        self.theta = theta
        self.gamma_x = gamma_x
        self.gamma_y = gamma_y
        self.ridge_x = ridge_x
        self.ridge_y = ridge_y
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.standardize_y = standardize_y
        self.search = search
        self.search_weights = search_weights
        self.calibration_fraction = calibration_fraction
        self.tol = tol
        self.random_state = random_state

    def predict(
        self, X: ArrayLike, return_uncertainty: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return the outputs at rows, and on request how certain they are.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        return_uncertainty : bool
            Whether to return, beside, the divergence above its lower bound, in nats,
            (m,).

        Returns
        -------
        array of shape (m,) or (m, k), or a pair of arrays
        """
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        if self.constant_:
            out = self._out(self._answers(model, X, True))
            return (out, np.zeros(len(X))) if return_uncertainty else out
        found = [
            solve(model, part, self.tol, return_uncertainty)
            for part in blocks(X, model.row_bytes())
        ]
        answers = TwinAnswers(
            *(np.concatenate(parts) for parts in zip(*found, strict=True))
        )
        warn_of_answers(answers, self._rows(), self.gamma_y_, self.tol)
        out = self._out(answers.outputs)
        return (out, answers.nats) if return_uncertainty else out

    def certify(self, X: ArrayLike, Y: ArrayLike) -> list[Certificate]:
        """Return what is proved about answers, whoever found them, a row each.

        Of kind "divergence": `gap` is the divergence above its lower bound in nats,
        `residual` the scaled gradient, which `holds` judges. Through landmarks it is
        the landmark problem that is judged.
        """
        model = self._live()
        X, Y = self._pairs(X, Y)
        if self.constant_:
            return [Certificate("none", 0.0) for _ in range(len(X))]
        out: list[Certificate] = []
        for part in blocks(X, model.row_bytes()):
            answers = Y[len(out) : len(out) + len(part)]
            out += model.pose(part).prove(answers).certificates()
        return out

    def modes(self, X: ArrayLike, n_init: int = 10) -> list[Modes]:
        """Return the distinct minima of every row, the best first: its ambiguity.

        The search starts where `predict` does and at the outputs of training rows that
        are similar in x and far from one another in y; points that are no minima, since
        a small push makes them leave, are dropped.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        n_init : int

        Returns
        -------
        list of Modes
            Each with `outputs`, `losses` and `gaps` in nats.
        """
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        check_integer("n_init", n_init, low=1)
        if self.constant_:
            mean, none = self._out(np.zeros((1, self.n_outputs_))), np.zeros(1)
            return [Modes(mean, none, none) for _ in range(len(X))]
        found = (minima(model, x, n_init, self.tol) for x in X)
        return [Modes(self._out(one.outputs), one.losses, one.gaps) for one in found]

    def divergence_value(self, X: ArrayLike, Y: ArrayLike, order: float = 1.0) -> Array:
        r"""Return the divergence between the Gaussians of inputs and outputs.

        With D the divergence of `divergence` in nats over all training rows and the
        test row, Sharma and Mittal's of an order is

        .. math:: \bigl(e^{(\text{order} - 1) D} - 1\bigr) / (\text{order} - 1),

        D itself at order one. It grows with D: no order changes which y is best.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        Y : array of shape (m,) or (m, k)
        order : float
            Positive.
        """
        model = self._live()
        X, Y = self._pairs(X, Y)
        check_number("order", order, low=0.0, closed="neither")
        if self.constant_:
            raise InvalidInputError("the outputs are constant: they have no kernel")
        return of_order(divergences(model, X, Y), float(order))

    def _pairs(self, X: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
        X = estimator_matrix(self, X, reset=False)
        Y = as_responses(Y, len(X), multi_output=True, name="Y").reshape(len(X), -1)
        if Y.shape[1] != self.n_outputs_:
            raise InvalidInputError(
                f"Y has {Y.shape[1]} outputs, fit had {self.n_outputs_}"
            )
        return X, Y / self.y_scale_ - self.y_center_

    def _check_parameters(self) -> None:
        check_choice("divergence", self.divergence, DIVERGENCES)
        _check_theta(self.theta)
        check_integer("n_landmarks", self.n_landmarks, low=1, options=["auto", None])
        check_integer("n_neighbors", self.n_neighbors, low=1, options=[None])
        check_number("tol", self.tol, low=0.0, closed="neither")

    def _axes(self, rows: TwinRows) -> dict[str, Axis]:
        axes = super()._axes(rows)
        if self.divergence != "sharma-mittal":
            del axes["theta"]
        return axes

    def _beyond(self, best: Mapping[str, float]) -> str:
        low = self.divergence == "sharma-mittal" and best["theta"] == THETAS[0]
        return ', at theta = 0 those of divergence="kl"' if low else ""

    def _compare(
        self, rows: TwinRows, parts: list[tuple[Indices, Indices]], score: float
    ) -> None:
        given = self._given(rows)

        def gpr_score(candidate: dict[str, float]) -> float:
            numbers = given | candidate
            settings = Settings("kl", **numbers)

            def answers(fit: TwinRows, X: Array) -> Array:
                if self.n_neighbors is None:
                    return gpr_answers(build_gpr(fit, numbers), X)
                near = LocalModel(fit, settings, self.n_neighbors)
                return in_blocks(lambda x: near.pose(x).mean(), X, near.row_bytes())

            try:
                return held_out_score(rows, parts, answers, self.search_weights)
            except np.linalg.LinAlgError:
                return np.inf

        best = search(search_axes(("gamma_x", "ridge_x"), rows), gpr_score).score
        self.gpr_holdout_score_ = best
        if best < score:
            warn_user(
                f"GPR is better on the held-out rows: mean distance {best:.4g} against "
                f"{score:.4g}; use WeightedGPR"
            )

    def _build(
        self, rows: TwinRows, numbers: Mapping[str, float], final: bool
    ) -> Model | None:
        if self.constant_:
            return None
        settings = Settings(self.divergence, **numbers)
        how = self.n_landmarks if final else "search"
        return build(rows, settings, how, self.n_neighbors)

    def _judge(self, model: Model) -> None:
        rows = self._rows()
        if self.constant_:
            self.landmark_error_: float | None = 0.0
            self.solution_ = attested(rows.mean, Certificate("none", 0.0), self.tol)
            return
        self.solution_, self.landmark_error_ = judge(model, self.tol, self.y_scale_)
        complaint = model.complaint() if isinstance(model, LocalModel) else None
        if complaint is not None:
            warn_user(complaint)
        if not self.solution_.converged:
            steep = self.solution_.certificate.residual
            why = (
                f"scaled gradients at training rows go up to {steep:.1e}: raise the "
                "ridges, or accept a larger tol"
            )
            if steep == np.inf:
                why = (
                    "answers to training rows are like no training output: raise "
                    "ridge_y, lower gamma_y, or use another divergence"
                )
            warn_user(f"TwinGP: {self.solution_}; {why}", ConvergenceWarning)
        variances = column_variances(rows.Y * self.y_scale_, rows.weight)
        spread = float(np.sqrt(variances.sum()))
        if self.landmark_error_ and self.landmark_error_ > POOR_ANSWERS * spread:
            warn_user(
                f"answers through landmarks are {self.landmark_error_:.3g} from those "
                f"of all rows in the mean, {self.landmark_error_ / spread:.0%} of the "
                "outputs' spread: raise n_landmarks, or set it to None for all rows"
            )

    def _answers(self, model: Model, X: Array, final: bool) -> Array:
        if self.constant_:
            return np.zeros((len(X), self.n_outputs_))
        how = (self.tol,) if final else (ROUGH_ANSWER_TOL, ROUGH_STEPS)
        return in_blocks(lambda x: model.pose(x).answers(*how).x, X, model.row_bytes())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Its minimum may lie far from all outputs, that of a training row too.
        tags.regressor_tags.poor_score = self.divergence == "inverse-kl"
        return tags


def _check_theta(theta: object) -> None:
    try:
        check_number("theta", theta, low=0.0, high=1.0, closed="neither")
    except InvalidTypeError:
        raise
    except ValueError as error:
        raise InvalidInputError(
            f'{error}; divergence="kl" is the limit at 0, "inverse-kl" that at 1'
        ) from None
