"""What regressors of structured outputs share: the door, the search, the balls."""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from counterpoise.learners.twin_gp.rows import Rows, column_variances
from counterpoise.learners.twin_gp.search import (
    KINDS,
    Axis,
    distances,
    held_out_score,
    search,
    splits,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.quantiles import quantiles_below_infinity
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.validation import (
    as_responses,
    as_weights,
    check_choice,
    check_number,
    estimator_matrix,
    warn_user,
)

# Fewer rows than this, counted by what their weights are worth, make a small model.
FEW_ROWS = 30
# Weights worth this share of the rows or more are as good as equal.
AS_GOOD_AS_EQUAL = 0.999


class StructuredRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Rows in, a vector of outputs out, with weights, search and conformal balls.

    A method says what it searches (`_axes`), how it fits (`_build`) and what it
    answers (`_answers`); all else is here.
    """

    search: str | None
    search_weights: bool
    calibration: float
    random_state: Any
    standardize_y: bool

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _axes(self, rows: Rows) -> tuple[dict[str, Axis], dict[str, str]]:
        """Return what is searched, and which axes follow another at first."""

    @abstractmethod
    def _given(self, rows: Rows) -> dict[str, float]:
        """Return the numbers that the parameters say, rules applied."""

    @abstractmethod
    def _build(self, rows: Rows, numbers: Mapping[str, float], final: bool) -> Any:
        """Return a model of the rows; a rough one will do unless it is the final."""

    @abstractmethod
    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        """Return the outputs at rows, on the scale of the model."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,) or (n, k)
            Outputs of one unit; angles as sine and cosine.
        sample_weight : array of shape (n,), optional
            Not negative, used as given: weight two is the row twice, zero its
            absence, and the ridge stands for the noise of a row of weight one.
        groups : array of shape (n,), optional
            Rows of a group (frames of a video) are held out together.

        Returns
        -------
        self
        """
        self._check_common()
        self._check_parameters()
        X = estimator_matrix(self, X, reset=True)
        Y = as_responses(y, len(X), multi_output=True)
        weights = as_weights(sample_weight, len(X))
        self._one_output = Y.ndim == 1
        Y = Y.reshape(len(X), -1)
        places = None
        if groups is not None:
            places = _places(groups, len(X))
        self.y_scale_ = _scales(Y, weights, self.standardize_y)
        rows = Rows.merged(X, Y / self.y_scale_, weights, places)
        self._judge_weights(weights[weights > 0.0], Y.shape[1])
        rows, held = self._kept_apart(rows)
        self.n_outputs_ = Y.shape[1]
        self.constant_ = _is_constant(rows)
        self.y_center_ = rows.mean
        rows = rows.centred(self.y_center_)
        held = held if held is None else held.centred(self.y_center_)
        if self.search is not None and not self.constant_:
            self._search(rows, groups is not None)
        else:
            self._keep_numbers(self._given(rows))
        self.X_fit_, self.y_fit_, self.sample_weight_ = rows.X, rows.Y, rows.weight
        self.model_ = self._build(rows, self._numbers(), True)
        self._calibrate(held)
        return self

    def predict_set(
        self, X: Any, level: float = 0.9, *, sample_weight: Any = None
    ) -> Array:
        r"""Return the radii of balls around `predict(X)` that hold the outputs.

        The radius of a row of weight w is the `level` quantile of

        .. math:: \sum_i p_i \delta_{r_i} + p\,\delta_\infty, \qquad
            p_i \propto w_i,\; p \propto w,

        over the rows that `calibration` kept out of the fit, with :math:`r_i` their
        distances from their answers. With the density ratio as weights, the ball
        holds the output of a target row with a chance of at least `level`.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        level : float
            The share of outputs to be held.
        sample_weight : array of shape (m,), optional
            The rows' own weights, on the scale of those of `fit` (a weighter's
            `weigh(X)`); needed where the model was fitted with weights.

        Returns
        -------
        array of shape (m,)
            Euclidean over all outputs, in their unit; infinite where the row's weight
            exceeds what the calibration rows can outweigh.
        """
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        check_number("level", level, low=0.0, high=1.0, closed="neither")
        if not len(self.calibration_scores_):
            raise ValueError(
                "predict_set needs rows kept out of the fit: set calibration to their "
                "share, such as 0.25"
            )
        if sample_weight is None and self.weighted_:
            raise ValueError(
                "the model was fitted with weights: predict_set needs sample_weight, "
                "the weights of the rows of X on the same scale"
            )
        weights = as_weights(sample_weight, len(X))
        radius = quantiles_below_infinity(
            self.calibration_scores_, self.calibration_weights_, weights, level
        )
        endless = float(np.isinf(radius).mean())
        if endless > 0.0:
            warn_user(
                f"{endless:.1%} of the radii are infinite: the weights of these rows "
                "exceed what the calibration rows can outweigh at this level"
            )
        return radius

    def _numbers(self) -> dict[str, float]:
        """Return the numbers in use."""
        return {name: getattr(self, f"{name}_") for name in self._number_names()}

    @abstractmethod
    def _number_names(self) -> tuple[str, ...]:
        """Return what the numbers of a model are called."""

    def _keep_numbers(self, numbers: Mapping[str, float]) -> None:
        for name in self._number_names():
            setattr(self, f"{name}_", numbers[name])

    def _live(self) -> Any:
        """Return the model, made again from its rows after copying or loading."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            self.model_ = self._build(self._rows(), self._numbers(), True)
        return self.model_

    def _rows(self) -> Rows:
        n = len(self.X_fit_)
        return Rows(self.X_fit_, self.y_fit_, self.sample_weight_, np.arange(n))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("model_", None)
        return state

    def _out(self, Y: Array) -> Array:
        """Return answers in the unit and the shape of the outputs of `fit`."""
        Y = (Y + self.y_center_) * self.y_scale_
        return Y[:, 0] if self._one_output else Y

    def _search(self, rows: Rows, grouped: bool) -> None:
        assert self.search is not None
        parts = splits(rows, self.search, self._seed(), grouped)
        axes, tied = self._axes(rows)
        given = self._given(rows)
        found = search(axes, lambda c: self._held_out(rows, parts, given | c), tied)
        self._keep_numbers(given | found.best)
        self.cv_results_ = found.results
        self.holdout_score_ = found.score
        if found.edges:
            chosen = ", ".join(
                f"{name} = {found.best[name]:.3g}" for name in found.edges
            )
            warn_user(
                f"the search ended at the edge of what it offers ({chosen}): better "
                "values may lie beyond"
            )
        self._compare(rows, parts, found.score)

    def _compare(
        self, rows: Rows, parts: list[tuple[Indices, Indices]], score: float
    ) -> None:
        """Set a simpler method beside the best candidate, where there is one."""

    def _held_out(
        self,
        rows: Rows,
        parts: list[tuple[Indices, Indices]],
        numbers: Mapping[str, float],
    ) -> float:
        def answers(fit: Rows, X: Array) -> Array:
            return self._answers(self._build(fit, numbers, False), X, False)

        try:
            score = held_out_score(rows, parts, answers, self.search_weights)
        except np.linalg.LinAlgError:
            return np.inf
        return score if np.isfinite(score) else np.inf

    def _kept_apart(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return the rows to fit to, and those to calibrate on."""
        if self.calibration == 0.0:
            return rows, None
        names, group = np.unique(rows.group, return_inverse=True)
        n_held = round(self.calibration * names.size)
        if not 0 < n_held < names.size:
            raise ValueError(
                f"calibration = {self.calibration:g} of {names.size} different rows or "
                f"groups leaves {n_held} to calibrate on and {names.size - n_held} to "
                "fit to"
            )
        chance = np.random.default_rng(self._seed()).permutation(names.size)
        held = np.isin(group, chance[:n_held])
        return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))

    def _calibrate(self, held: Rows | None) -> None:
        self.calibration_scores_ = self.calibration_weights_ = np.empty(0)
        if held is None:
            return
        with warnings.catch_warnings():
            # What is wrong with answers is said where they are asked for.
            warnings.simplefilter("ignore")
            answers = self._answers(self.model_, held.X, True)
        far = distances(held.Y * self.y_scale_, answers * self.y_scale_)
        order = np.argsort(far, kind="stable")
        self.calibration_scores_ = far[order]
        self.calibration_weights_ = held.weight[order]

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _judge_weights(self, weights: Array, n_outputs: int) -> None:
        size = effective_sample_size(weights)
        self.effective_sample_size_ = size
        self.weighted_ = size < AS_GOOD_AS_EQUAL * len(weights)
        least = max(2 * n_outputs, FEW_ROWS)
        if self.weighted_ and size < least:
            warn_user(
                f"the weights leave an effective sample size of {size:.1f} of "
                f"{len(weights)} rows, fewer than {least}: flatten them "
                "(counterpoise.flatten) or expect the model of a small sample"
            )

    def _check_common(self) -> None:
        if self.search is not None:
            check_choice("search", self.search, KINDS)
        check_number("calibration", self.calibration, low=0.0, high=1.0, closed="left")


def _places(groups: Any, n: int) -> Indices:
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), got {labels.shape}")
    return np.unique(labels, return_inverse=True)[1]


def _scales(Y: Array, weights: Array, standardize: bool) -> Array:
    """Return what to divide every output by; one for constant ones."""
    if not standardize:
        return np.ones(Y.shape[1])
    scale = np.sqrt(column_variances(Y, weights))
    return np.where(scale > 1e-12 * np.abs(Y).max(axis=0), scale, 1.0)


def _is_constant(rows: Rows) -> bool:
    total = float(column_variances(rows.Y, rows.weight).sum())
    return not total > (1e-12 * float(np.abs(rows.Y).max(initial=1e-300))) ** 2
