"""Twin Gaussian processes, for outputs that belong together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from counterpoise.convex import attested
from counterpoise.convex.certificate import Certificate
from counterpoise.learners.twin_gp.answers import TwinAnswers, solve, warn_of_answers
from counterpoise.learners.twin_gp.base import StructuredRegressor
from counterpoise.learners.twin_gp.gpr import build_gpr, gpr_answers
from counterpoise.learners.twin_gp.models.blocks import blocks, in_blocks
from counterpoise.learners.twin_gp.models.building import build, build_rough, judge
from counterpoise.learners.twin_gp.models.divergence import divergences
from counterpoise.learners.twin_gp.models.local import LocalModel
from counterpoise.learners.twin_gp.models.losses import DIVERGENCES, of_order
from counterpoise.learners.twin_gp.models.modes import Modes, minima
from counterpoise.learners.twin_gp.models.rows import (
    Settings,
    TwinRows,
    column_variances,
)
from counterpoise.learners.twin_gp.search import Axis, held_out_score, search
from counterpoise.learners.twin_gp.widths import (
    check_widths,
    given_widths,
    gpr_axes,
    twin_axes,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    as_responses,
    check_choice,
    check_integer,
    check_number,
    estimator_matrix,
    warn_user,
)

THETAS = (0.01, 0.03, 0.1, 0.3, 0.6, 0.85)
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
    :math:`1 + l`. The answer minimises the divergence between them over y. Where
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
    calibration : float
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
        nearest down from them; None for neighbours.
    holdout_score_, gpr_holdout_score_ : float
        Mean held-out distance of the best candidate, and of the best GPR; of
        standardised outputs where `standardize_y`. Candidates are solved roughly
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
    (`TargetShiftWeights`), and where a budget of rows is drawn by them; a tuned model
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
        calibration: float = 0.0,
        tol: float = 1e-8,
        random_state: Any = None,
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
        self.calibration = calibration
        self.tol = tol
        self.random_state = random_state

    def predict(self, X: Any, return_uncertainty: bool = False) -> Any:
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

    def certify(self, X: Any, Y: Any) -> list[Certificate]:
        """Return what is proved about answers, whoever found them, a row each.

        Of kind "divergence": `gap` is the divergence above its lower bound in nats,
        `residual` the scaled gradient, which `holds` judges. Through landmarks it is
        the landmark problem that is judged.
        """
        model = self._live()
        X, Y = self._pairs(X, Y)
        if self.constant_:
            return [Certificate("none", 0.0) for _ in range(len(X))]
        parts, first = blocks(X, model.row_bytes()), 0
        out: list[Certificate] = []
        for part in parts:
            some = Y[first : first + len(part)]
            out += model.pose(part).prove(some).certificates()
            first += len(part)
        return out

    def modes(self, X: Any, n_starts: int = 10) -> list[Modes]:
        """Return the distinct minima of every row, the best first: its ambiguity.

        The search starts where `predict` does and at the outputs of training rows that
        are similar in x and far from one another in y; points that are no minima, since
        a small push makes them leave, are dropped.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        n_starts : int

        Returns
        -------
        list of Modes
            Each with `outputs`, `losses` and `gaps` in nats.
        """
        model = self._live()
        X = estimator_matrix(self, X, reset=False)
        check_integer("n_starts", n_starts, low=1)
        if self.constant_:
            mean, none = self._out(np.zeros((1, self.n_outputs_))), np.zeros(1)
            return [Modes(mean, none, none) for _ in range(len(X))]
        found = (minima(model, x, n_starts, self.tol) for x in X)
        return [Modes(self._out(one.outputs), one.losses, one.gaps) for one in found]

    def divergence_value(self, X: Any, Y: Any, order: float = 1.0) -> Array:
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
            raise InvalidInput("the outputs are constant: they have no kernel")
        return of_order(divergences(model, X, Y), float(order))

    def _pairs(self, X: Any, Y: Any) -> tuple[Array, Array]:
        X = estimator_matrix(self, X, reset=False)
        Y = as_responses(Y, len(X), multi_output=True, name="Y").reshape(len(X), -1)
        if Y.shape[1] != self.n_outputs_:
            raise InvalidInput(f"Y has {Y.shape[1]} outputs, fit had {self.n_outputs_}")
        return X, Y / self.y_scale_ - self.y_center_

    def _check_parameters(self) -> None:
        check_choice("divergence", self.divergence, DIVERGENCES)
        _check_theta(self.theta)
        check_widths(self, ("gamma_x", "gamma_y", "ridge_x", "ridge_y"))
        check_integer("n_landmarks", self.n_landmarks, low=1, options=["auto", None])
        check_integer("n_neighbors", self.n_neighbors, low=1, options=[None])
        check_number("tol", self.tol, low=0.0, closed="neither")

    def _number_names(self) -> tuple[str, ...]:
        return "gamma_x", "gamma_y", "ridge_x", "ridge_y", "theta"

    def _given(self, rows: TwinRows) -> dict[str, float]:
        return given_widths(self, rows) | {"theta": float(self.theta)}

    def _axes(self, rows: TwinRows) -> tuple[dict[str, Axis], dict[str, str]]:
        axes, tied = twin_axes(self, rows)
        if self.divergence == "sharma-mittal":
            axes["theta"] = Axis(THETAS, (0.3,))
        return axes, tied

    def _beyond(self, best: Mapping[str, float]) -> str:
        low = self.divergence == "sharma-mittal" and best["theta"] == THETAS[0]
        return ', at theta = 0 those of divergence="kl"' if low else ""

    def _compare(
        self, rows: TwinRows, parts: list[tuple[Indices, Indices]], score: float
    ) -> None:
        given = self._given(rows)

        def gpr_score(candidate: dict[str, float]) -> float:
            numbers = given | candidate
            settings = replace(self._settings(numbers), divergence="kl")

            def answers(fit: TwinRows, X: Array) -> Array:
                if self.n_neighbors is None:
                    return gpr_answers(build_gpr(fit, numbers), X)
                near = LocalModel(fit, settings, self.n_neighbors)
                return in_blocks(lambda x: near.pose(x).mean(), X, near.row_bytes())

            try:
                return held_out_score(rows, parts, answers, self.search_weights)
            except np.linalg.LinAlgError:
                return np.inf

        best = search(gpr_axes(None, rows), gpr_score).score
        self.gpr_holdout_score_ = best
        if best < score:
            warn_user(
                f"GPR is better on the held-out rows: mean distance {best:.4g} against "
                f"{score:.4g}; use WeightedGPR"
            )

    def _settings(self, numbers: Mapping[str, float]) -> Settings:
        return Settings(self.divergence, **numbers)

    def _build(self, rows: TwinRows, numbers: Mapping[str, float], final: bool) -> Any:
        if self.constant_:
            return None
        settings = self._settings(numbers)
        if not final:
            return build_rough(rows, settings, self.n_neighbors)
        return build(rows, settings, self.n_landmarks, self.n_neighbors)

    def _judge(self, model: Any) -> None:
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

    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        if self.constant_:
            return np.zeros((len(X), self.n_outputs_))
        how = (self.tol,) if final else (ROUGH_ANSWER_TOL, ROUGH_STEPS)
        return in_blocks(lambda x: model.pose(x).answers(*how).x, X, model.row_bytes())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Its minimum may lie far from all outputs, that of a training row too.
        tags.regressor_tags.poor_score = self.divergence == "inverse-kl"
        return tags


def _check_theta(theta: Any) -> None:
    try:
        check_number("theta", theta, low=0.0, high=1.0, closed="neither")
    except InvalidType:
        raise
    except ValueError as error:
        raise InvalidInput(
            f'{error}; divergence="kl" is the limit at 0, "inverse-kl" that at 1'
        ) from None
