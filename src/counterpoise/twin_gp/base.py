"""The base class of structured-output regressors, with conformal balls."""

import logging
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.frames import is_missing
from counterpoise.data.labels_and_weights import as_responses, as_weights
from counterpoise.data.parameters import (
    RandomState,
    as_seed,
    check_choice,
    check_number,
)
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import InvalidInputError, InvalidTypeError, warn_user
from counterpoise.linalg.arrays import Array, Indices, quantiles_below_infinity
from counterpoise.twin_gp.problem import TwinRows, column_variances, width_rule
from counterpoise.twin_gp.search import (
    SPLIT_KINDS,
    Axis,
    SearchOutcome,
    check_widths,
    distances,
    held_out_score,
    search,
    search_axes,
    splits,
)

# -----------------------------------------------------------------------------
# What regressors of structured outputs share: the door, the unit, the search.
# -----------------------------------------------------------------------------


# Fewer rows than this, counted by what their weights are worth, make a small model.
SMALL_MODEL_ROWS = 30
# Weights worth this share of the rows or more are as good as equal.
AS_GOOD_AS_EQUAL = 0.999
# Weights of a mean outside of this are hardly meant as numbers of rows.
USUAL_MEANS = 0.1, 1e4


_log = logging.getLogger("counterpoise")


class StructuredRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Rows in, a vector of outputs out, with weights, search and conformal balls.

    A method says what it searches (`_axes`), how it fits (`_build`), what it answers
    (`_answers`) and what is proved (`_judge`); all else is here.
    """

    search: str | None
    search_weights: bool
    random_state: RandomState
    standardize_y: bool
    calibration_fraction: float
    weighted_: bool
    usual_weight_: float

    @property
    @abstractmethod
    def _numbers(self) -> tuple[str, ...]:
        """The names of the numbers of a model, which a search may choose."""

    def _check_parameters(self) -> None:
        """Refuse further parameters that make no sense."""

    def _axes(self, rows: TwinRows) -> dict[str, Axis]:
        """Return what is searched: all numbers but widths that the parameters say."""
        names = [
            name
            for name in self._numbers
            if not (name.startswith("gamma") and getattr(self, name) is not None)
        ]
        return search_axes(names, rows)

    def _given(self, rows: TwinRows) -> dict[str, float]:
        """Return the numbers that the parameters say, the rule for widths applied."""
        numbers = {}
        for name in self._numbers:
            value = getattr(self, name)
            if value is None:
                value = width_rule(rows.X if name == "gamma_x" else rows.Y, rows.weight)
            numbers[name] = float(value)
        return numbers

    @abstractmethod
    def _build(self, rows: TwinRows, numbers: Mapping[str, float], final: bool) -> Any:
        """Return a model of the rows; a rough one will do unless it is the final."""

    @abstractmethod
    def _answers(self, model: Any, X: Array, final: bool) -> Array:
        """Return the outputs at rows, on the scale of the model, without a warning."""

    @abstractmethod
    def _judge(self, model: Any) -> None:
        """Keep what is proved about a model that was just fitted, and warn."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
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
        # A search chooses ridges of its own.
        check_widths(
            {name: getattr(self, name) for name in self._numbers},
            warn_of_ridges=self.search is None,
        )
        self._check_parameters()
        # What a search of an earlier fit has left.
        for name in ("cv_results_", "holdout_score_", "gpr_holdout_score_"):
            self.__dict__.pop(name, None)
        X = estimator_matrix(self, X, reset=True)
        Y = as_responses(y, len(X), multi_output=True)
        weights = as_weights(sample_weight, len(X))
        self._one_output = Y.ndim == 1
        Y = Y.reshape(len(X), -1)
        places = None if groups is None else _places(groups, len(X))
        self._judge_weights(weights[weights > 0.0], Y.shape[1])
        whole = TwinRows.merged(X, Y, weights, places)
        rows, held = self._kept_apart(whole, as_seed(self.random_state))
        rows = self._in_units(rows)
        if self.search is not None:
            self._search(rows, groups is not None)
        else:
            self._keep_numbers(self._given(rows))
        self.X_fit_, self.y_fit_, self.sample_weight_ = rows.X, rows.Y, rows.weight
        self._fitted_with = self.get_params(deep=False)
        self.model_ = self._build(rows, self._numbers_in_use(), True)
        self._judge(self.model_)
        self._calibrate(held)
        return self

    def predict_set(
        self,
        X: ArrayLike,
        confidence_level: float = 0.9,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        r"""Return the radii of balls around `predict(X)` that hold the outputs.

        The radius of a row of weight w is the `confidence_level` quantile of

        .. math:: \sum_i p_i \delta_{r_i} + p\,\delta_\infty, \qquad
            p_i \propto w_i,\; p \propto w,

        over the rows that `calibration_fraction` kept out of the fit and of the search,
        with
        :math:`r_i` their distances from their answers. With the density ratio as
        weights, the ball holds the output of a target row with a chance of at least
        `confidence_level`. Where the ratio is one of outputs (`LabelShiftWeights`) that
        of a row without a label is unknown, and nothing is promised.

        Parameters
        ----------
        X : array-like or frame of shape (m, d)
        confidence_level : float
            The share of outputs to be held.
        sample_weight : array of shape (m,), optional
            The rows' own weights, on the scale of those of `fit` (a weight estimator's
            `weigh(X)`); needed where those were not all equal.

        Returns
        -------
        array of shape (m,)
            Euclidean over all outputs, in their unit; infinite where the row's weight
            exceeds what the calibration rows can outweigh.
        """
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        check_number(
            "confidence_level", confidence_level, low=0.0, high=1.0, closed="neither"
        )
        if not len(self.calibration_scores_):
            raise InvalidInputError(
                "predict_set needs rows kept out of the fit: set calibration_fraction "
                "to their share, such as 0.25"
            )
        if sample_weight is None and self.weighted_:
            raise InvalidInputError(
                "the model was fitted with weights: predict_set needs sample_weight, "
                "the weights of the rows of X on the same scale"
            )
        if sample_weight is None:
            sample_weight = self.usual_weight_
        weights = as_weights(sample_weight, len(X))
        radius = quantiles_below_infinity(
            self.calibration_scores_,
            self.calibration_weights_,
            weights,
            confidence_level,
        )
        endless = np.isinf(radius)
        if endless.any():
            total = float(self.calibration_weights_.sum())
            most = float(weights[endless].max())
            warn_user(
                f"{endless.mean():.1%} of the radii are infinite: beside the "
                f"{len(self.calibration_scores_)} calibration rows, of total weight "
                f"{total:.4g}, a row of weight {most:.4g} has no finite ball above "
                f"level {total / (total + most):.3g}, and {confidence_level:g} was "
                "asked for; raise calibration_fraction, or lower confidence_level"
            )
        return radius

    def _kept_apart(
        self, rows: TwinRows, seed: int
    ) -> tuple[TwinRows, TwinRows | None]:
        """Return the rows to fit to, and those to calibrate on."""
        if self.calibration_fraction == 0.0:
            return rows, None
        names, group = np.unique(rows.group, return_inverse=True)
        n_held = round(self.calibration_fraction * names.size)
        if not 0 < n_held < names.size:
            what = "sample" if names.size == 1 else "different samples or groups"
            raise InvalidInputError(
                f"calibration_fraction = {self.calibration_fraction:g} of {names.size} "
                f"{what} leaves {n_held} to calibrate on and {names.size - n_held} to "
                "fit to"
            )
        chance = np.random.default_rng(seed).permutation(names.size)
        held = np.isin(group, chance[:n_held])
        return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))

    def _calibrate(self, held: TwinRows | None) -> None:
        self.calibration_scores_ = self.calibration_weights_ = np.empty(0)
        if held is None:
            return
        answers = self._answers(self.model_, held.X, True)
        far = distances(held.Y, (answers + self.y_center_) * self.y_scale_)
        order = np.argsort(far, kind="stable")
        self.calibration_scores_ = far[order]
        self.calibration_weights_ = held.weight[order]

    def _in_units(self, rows: TwinRows) -> TwinRows:
        """Return the rows with outputs around zero, of unit variance where asked."""
        self.n_outputs_ = rows.Y.shape[1]
        self.y_scale_ = _scales(rows, self.standardize_y)
        rows = rows.with_outputs(rows.Y / self.y_scale_)
        self.constant_ = _is_constant(rows)
        self.y_center_ = rows.mean
        return rows.with_outputs(rows.Y - self.y_center_)

    def _numbers_in_use(self) -> dict[str, float]:
        return {name: getattr(self, f"{name}_") for name in self._numbers}

    def _keep_numbers(self, numbers: Mapping[str, float]) -> None:
        for name in self._numbers:
            setattr(self, f"{name}_", numbers[name])

    def _live(self) -> Any:
        """Return the model, made again from its rows after copying or loading."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            # Parameters may have been set since.
            then = copy(self).set_params(**self._fitted_with)
            self.model_ = then._build(self._rows(), self._numbers_in_use(), True)
        return self.model_

    def _rows(self) -> TwinRows:
        n = len(self.X_fit_)
        return TwinRows(self.X_fit_, self.y_fit_, self.sample_weight_, np.arange(n))

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = dict(super().__getstate__())
        state.pop("model_", None)
        return state

    def _out(self, Y: Array) -> Array:
        """Return answers in the unit and the shape of the outputs of `fit`."""
        Y = (Y + self.y_center_) * self.y_scale_
        return Y[:, 0] if self._one_output else Y

    def _search(self, rows: TwinRows, grouped: bool) -> None:
        assert self.search is not None
        given = self._given(rows)
        if self.constant_:
            self._keep_numbers(given)
            self.holdout_score_, self.cv_results_ = 0.0, {"score": np.zeros(0)}
            return
        parts = splits(rows, self.search, as_seed(self.random_state), grouped)
        axes = self._axes(rows)
        tied = {"ridge_y": "ridge_x"} if "ridge_y" in axes else {}
        n_held = sum(len(held) for _, held in parts)
        if n_held < len(axes):
            warn_user(
                f"the search chooses {len(axes)} numbers by {n_held} held-out rows: "
                "give more rows, or fix some of the numbers"
            )
        found = search(axes, lambda c: self._held_out(rows, parts, given | c), tied)
        self._keep_numbers(given | found.best)
        self.cv_results_ = found.results
        self.holdout_score_ = found.score
        self._warn_of_search(found)
        self._compare(rows, parts, found.score)

    def _warn_of_search(self, found: SearchOutcome) -> None:
        if found.edges:
            chosen = ", ".join(
                f"{name} = {found.best[name]:.3g}" for name in found.edges
            )
            warn_user(
                f"the search ended at the edge of what it offers ({chosen}): better "
                f"values may lie beyond{self._beyond(found.best)}"
            )
        if found.exhausted:
            warn_user(
                f"the search used up its {len(found.results['score'])} candidates "
                "before it had tried all around the best: fix a width to search the "
                "others further"
            )

    def _beyond(self, best: Mapping[str, float]) -> str:
        """Return advice about what lies beyond an edge, if there is any."""
        return ""

    def _compare(
        self, rows: TwinRows, parts: list[tuple[Indices, Indices]], score: float
    ) -> None:
        """Set a simpler method beside the best candidate, where there is one."""

    def _held_out(
        self,
        rows: TwinRows,
        parts: list[tuple[Indices, Indices]],
        numbers: Mapping[str, float],
    ) -> float:
        def answers(fit: TwinRows, X: Array) -> Array:
            return self._answers(self._build(fit, numbers, False), X, False)

        try:
            score = held_out_score(rows, parts, answers, self.search_weights)
        except np.linalg.LinAlgError:
            score = np.inf
        _log.info("%s: held-out distance %.5g", type(self).__name__, score)
        return score if np.isfinite(score) else np.inf

    def _judge_weights(self, weights: Array, n_outputs: int) -> None:
        size = effective_sample_size(weights)
        self.effective_sample_size_ = size
        self.weighted_ = size < AS_GOOD_AS_EQUAL * len(weights)
        self.usual_weight_ = float(weights.mean())
        low, high = USUAL_MEANS
        if not low <= self.usual_weight_ <= high:
            warn_user(
                f"the weights have a mean of {self.usual_weight_:.3g} and are used as "
                "given, as numbers of rows: divide them by their mean unless that is "
                "meant"
            )
        least = max(2 * n_outputs, SMALL_MODEL_ROWS)
        if self.weighted_ and size < least:
            warn_user(
                f"the weights leave an effective sample size of {size:.1f} of "
                f"{len(weights)} rows, fewer than {least}: flatten them "
                "(counterpoise.flatten) or expect the model of a small sample"
            )

    def _check_common(self) -> None:
        if self.search is not None:
            check_choice("search", self.search, SPLIT_KINDS)
        check_number(
            "calibration_fraction",
            self.calibration_fraction,
            low=0.0,
            high=1.0,
            closed="left",
        )
        for name in ("standardize_y", "search_weights"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidTypeError(
                    f"{name} must be True or False, got {getattr(self, name)!r}"
                )


def _places(groups: ArrayLike, n: int) -> Indices:
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise InvalidInputError(f"groups must have shape ({n},), got {labels.shape}")
    for row, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise InvalidInputError(
                f"groups must name a group in every row, row {row} is {label!r}"
            )
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise InvalidInputError(f"groups must be of one type, got {kinds}") from None


def _scales(rows: TwinRows, standardize: bool) -> Array:
    """Return what to divide every output by; one for constant ones."""
    if not standardize:
        return np.ones(rows.Y.shape[1])
    scale = np.sqrt(column_variances(rows.Y, rows.weight))
    return np.where(scale > 1e-12 * np.abs(rows.Y).max(axis=0), scale, 1.0)


def _is_constant(rows: TwinRows) -> bool:
    total = float(column_variances(rows.Y, rows.weight).sum())
    return not total > (1e-12 * float(np.abs(rows.Y).max(initial=1e-300))) ** 2
