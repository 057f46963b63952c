"""What a fitted `Adapted` offers: predictions, intervals, summary, saving."""

import math
from collections.abc import Callable
from copy import copy
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.label_shift import ClassShareWeights
from counterpoise.adaptation.model_io import save
from counterpoise.adaptation.out_of_core import answered, weighed_blocks, write_answers
from counterpoise.adaptation.partial import over_all_classes, values_over_all_classes
from counterpoise.adaptation.routing import rows_of
from counterpoise.data.arrays import check_columns, n_rows
from counterpoise.data.blocks import Blocks
from counterpoise.data.columns import weighted_quantile
from counterpoise.data.encoder import encoded
from counterpoise.data.samples import SamplesAsRead
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.conformal import (
    Calibration,
    absolute_scores,
    adaptive_scores,
    intervals_of,
    sets_of,
)
from counterpoise.performance.metrics import is_classifier
from counterpoise.shift.diagnosis import Diagnosis, diagnose
from counterpoise.shift.support import UNCOVERED_QUANTILE
from counterpoise.weights.label_shift import LabelShiftWeights

# -----------------------------------------------------------------------------
# A fitted model's story in words.
# -----------------------------------------------------------------------------


ASSUMPTION = (
    "All of this assumes that p(y | x), the label given the inputs, is the same in "
    "both samples; inputs alone cannot show otherwise."
)

ASSUMPTION_OF_CLASSES = (
    "All of this assumes that the target has no class that the source has not; inputs "
    "alone cannot show otherwise."
)

ASSUMPTION_OF_LABELS = (
    "All of this assumes that p(x | y), the inputs given the label, is the same in "
    "both samples, and only the shares of the labels have moved."
)
BY_LABELS = (ClassShareWeights, LabelShiftWeights)

# Absent classes that are named one by one.
MOST_NAMED = 10


def summary_of(model: Any) -> str:
    """Return what an `Adapted` found, chose and assumes, a line each."""
    name = type(model.estimator_).__name__
    if model.diagnosis_ is None:
        return f"{name}, fitted without a target: nothing is adapted."
    diagnosis = model.diagnosis_
    lines = [
        f"Shift: {diagnosis.verdict}. {diagnosis.uncovered_fraction:.1%} of the target "
        f"is thinly "
        f"covered; AUC of source against target {diagnosis.auc:.3f} "
        f"({diagnosis.auc_low:.3f} to {diagnosis.auc_high:.3f}).",
        f"Weights: {_weights(model)}",
    ]
    if model.guard_ is not None:
        lines.append(f"Guard: {model.guard_.reason}.")
    by_class = getattr(model, "_every_class_", None) is not None
    shift = getattr(model, "label_shift_", None)
    if shift is not None and shift.moved:
        lines.append(f"Labels: {shift.words}{_advice(model, shift)}.")
    if by_class:
        lines.append(f"Classes: {_classes(model)}")
    n = model.weights_.size
    lines += [
        f"Model: {name}, fitted to "
        + (
            f"weighted rows worth {model.effective_sample_size_:.0f} of {n}"
            f"{_labelled(model)}."
            if model.adapted_
            else f"{n} rows without weights."
        ),
        ASSUMPTION_OF_CLASSES
        if by_class
        else ASSUMPTION_OF_LABELS
        if isinstance(model.weight_estimator_, BY_LABELS)
        else ASSUMPTION,
    ]
    return "\n".join(lines)


def _advice(model: Any, shift: Any) -> str:
    """Return what to do where classes in other shares explain the shift."""
    if not shift.is_label_shift or isinstance(model.weight_estimator_, BY_LABELS):
        return ""
    if shift.preferred == "labels":
        return ': weight_estimator="labels" makes up for that'
    return (
        ': weight_estimator="labels" would make up for that, weights by inputs explain '
        "more of "
        "it on held-out rows"
    )


def _labelled(model: Any) -> str:
    """Return what joined the source rows, if anything did."""
    joins = getattr(model.weight_estimator_, "with_target", False)
    if not joins or model.resample or model.max_samples is not None:
        return ""
    return f", and to {model.target_labels_.size} target rows by `target_labels_`"


def html_of(model: Any) -> str:
    """Return the same as a fragment of HTML, with the shift folded in."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in summary_of(model).splitlines())
    if model.diagnosis_ is None:
        return f"<div>{lines}</div>"
    shift = model.diagnosis_._repr_html_()
    return f"<div>{lines}<details><summary>The shift</summary>{shift}</details></div>"


def _classes(model: Any) -> str:
    """Return which classes the target seems to have."""
    absent = [str(one) for one in model.absent_classes_]
    if not absent:
        return f"all {len(model.classes_)} of the source seem to be in the target."
    named = ", ".join(absent[:MOST_NAMED])
    more = f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
    return (
        f"{len(absent)} of {len(model.classes_)} are judged absent from the target "
        f"({named}{more}); a class of one or two rows would be among them."
    )


def _weights(model: Any) -> str:
    weight_estimator = model.weight_estimator_
    if weight_estimator is None:
        return "none were asked for."
    inner = getattr(weight_estimator, "weight_estimator_", weight_estimator)
    told = type(inner).__name__
    if inner is not weight_estimator:
        tried = (getattr(weight_estimator, "cv_results_", None) or {}).get(
            "candidate", ()
        )
        told += (
            ", for there are too few rows to choose by cross-validation"
            if len(tried) == 1
            else ", the simplest that is as good as the best by its held-out score"
        )
    proof = _proof(weight_estimator.solution_)
    if model.guard_ is not None and model.guard_.kind == "mixing":
        return f"{told}{proof}; {model.mixing_:.3g} of them used, beside equal weights."
    if getattr(model, "_every_class_", None) is not None:
        return f"{told}{proof}; by class, absent ones weigh nothing."
    return f"{told}{proof}; used to the power {model.exponent_:g}."


def _proof(solution: Any) -> str:
    """Return what is proved about the weights; no times, which differ by run."""
    if solution is None:
        return ""
    proof = solution.certificate
    if proof.kind == "none":
        return "; nothing is proved for this method"
    verdict = "proof holds" if solution.converged else "proof DOES NOT HOLD"
    reached = f"gap {proof.gap:.2e}"
    if not math.isfinite(proof.gap):
        reached = "no bound"
        if proof.residual is not None:
            reached += f", residual {proof.residual:.2e}"
    return (
        f"; {verdict} ({proof.kind}): {reached} at tol {solution.tol:g} times a scale "
        f"of {proof.scale:.3g}"
    )


# -----------------------------------------------------------------------------
# How far off a fitted model was at rows that it has not seen.
# -----------------------------------------------------------------------------


def divided(n: int, share: float, groups: Any, seed: int) -> tuple[Indices, Indices]:
    """Return rows to fit to and rows held out for calibration, groups whole."""
    if share == 0.0:
        return np.arange(n), np.arange(0)
    names = np.arange(n) if groups is None else np.asarray(groups)
    different, place = np.unique(names, return_inverse=True)
    if different.size < 2:
        raise InvalidInputError("calibration needs two groups or more, got one")
    order = np.random.default_rng(seed).permutation(different.size)
    sizes = np.cumsum(np.bincount(place)[order])
    # As many groups as bring the held-out rows nearest to their share.
    count = int(np.argmin(np.abs(sizes[:-1] - share * n))) + 1
    held_out = np.isin(place, order[:count])
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def calibrated(model: Any, X: Any, y: Any, weights: Array) -> Calibration:
    """Return the model's calibration on labelled rows with their density ratios.

    Regressors are scored by :math:`|y - f(x)|`, classifiers by the probability of all
    classes more probable than the label.
    """
    if not is_classifier(model):
        return Calibration.of(absolute_scores(y, model.predict(X)), weights)
    if not hasattr(model, "predict_proba"):
        raise InvalidTypeError(
            f"{type(model).__name__} has no predict_proba: calibration must be 0.0"
        )
    classes, labels = np.asarray(model.classes_), np.asarray(y)
    place = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    place = np.where(classes[place] == labels, place, -1)
    return Calibration.of(adaptive_scores(model.predict_proba(X), place), weights)


def calibrated_on(
    model: Any,
    samples: SamplesAsRead | None,
    X: Any,
    y: Any,
    counts: Array | None,
    rows: Indices,
) -> Calibration:
    """Return what source rows that were held out tell of a fitted model's errors.

    Parameters
    ----------
    model : Adapted
    samples : SamplesAsRead or None
    X, y : all source rows
    counts : array of shape (n,) or None
        The user's own weights.
    rows : indices
        Those held out.
    """
    X, y = rows_of(X, rows), rows_of(y, rows)
    weights = np.ones(rows.size)
    if model.weight_estimator_ is not None and samples is not None:
        of_labels = getattr(model.weight_estimator_, "needs_labels", False)
        weights = model.weight_estimator_.predict_weights(
            y if of_labels else samples.source[rows]
        )
    if counts is not None and counts[rows].any():
        # On the scale of a row that counts once, as the row to predict does.
        weights = weights * counts[rows] / counts[rows].mean()
    return calibrated(model.estimator_, X, y, weights)


# -----------------------------------------------------------------------------
# What a fitted model does: predict, weigh, say what it is sure of, be saved.
# -----------------------------------------------------------------------------


# A weight that no number of held-out rows outweighs.
_UNKNOWN = 1e200

Method = TypeVar("Method", bound=Callable[..., Any])


def _offered(name: str) -> Callable[[Method], Method]:
    """Return a decorator: a method is there if the inner estimator has it."""

    def check(self: "FittedModel") -> bool:
        inner = getattr(self, "estimator_", self.estimator)
        # What is chosen by the label is known to predict, and after fit to do more.
        return name in ("predict", "score") if inner is None else hasattr(inner, name)

    decorator: Callable[[Method], Method] = available_if(check)
    return decorator


class FittedModel(BaseEstimator):
    """An inner estimator with the weights that it was fitted by.

    Subclasses set `estimator_`, `weight_estimator_`, `encoder_`, `reference_` and
    `calibration_` in `fit`, and have the parameter `estimator`.
    """

    # By which `estimate_performance` knows the rows of the fit again.
    _row_marks_: Any

    @_offered("predict")
    def predict(self, X: Any) -> Any:
        """Return the estimator's predictions, also of rows in `engine.Blocks`."""
        if isinstance(X, Blocks):
            return answered(self._checked(), X, "predict")
        return self._fitted_estimator().predict(X)

    @_offered("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Return the classifier's probabilities, none for classes judged absent."""
        if isinstance(X, Blocks):
            chances = answered(self._checked(), X, "predict_proba")
            return self._over_all_classes(chances, self.estimator_.classes_)
        found = self._fitted_estimator()
        return self._over_all_classes(found.predict_proba(X), found.classes_)

    @_offered("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the classifier's probabilities."""
        if getattr(self, "_every_class_", None) is None:
            return self._fitted_estimator().predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_offered("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Return the classifier's decision values, least for classes judged absent."""
        found = self._fitted_estimator()
        values = found.decision_function(X)
        every = getattr(self, "_every_class_", None)
        if every is None or len(found.classes_) == len(every):
            return values
        return values_over_all_classes(values, found.classes_, every)

    @_offered("score")
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the estimator's own score of labelled rows, as they come.

        `target_scorer` and `estimate_performance` estimate the target's.
        """
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._fitted_estimator().score(X, y, **more))

    def predict_weights(self, X: Any) -> Array:
        """Return the density ratio target/source at rows, without the exponent.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or `engine.Blocks` of shape (k, d)

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self)
        if isinstance(X, Blocks):
            return np.asarray(weighed_blocks(self, X))
        if self.weight_estimator_ is None:
            check_columns(self, X, reset=False)
            return np.ones(n_rows(X))
        if getattr(self, "_every_class_", None) is not None:
            # By class: labels are needed, and said to be.
            by_label: Array = self.weight_estimator_.predict_weights(X)
            return by_label
        weights: Array = self.weight_estimator_.predict_weights(
            encoded(self.encoder_, X)
        )
        return weights

    def write_predictions(
        self,
        X: Any,
        path: str | Path,
        *,
        id_column: str | None = None,
        probabilities: bool = False,
    ) -> None:
        """Write the predictions of rows to a Parquet file, in their order.

        Nothing but a block of rows is held in memory; the file appears when it is
        complete.

        Parameters
        ----------
        X : `engine.Blocks`, array-like or frame of shape (k, d)
        path : str or Path
        id_column : str or None
            Column that names the rows; None: their numbers, from 1.
        probabilities : bool
            Whether a classifier's probabilities are written, too.
        """
        write_answers(
            self._checked(), Blocks.of(X), path, name=id_column, chances=probabilities
        )

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        r"""Return intervals that hold the response with probability `level`.

        Weighted split conformal: half of the width at a row is the `level` quantile of
        the held-out absolute errors, weighted by their density ratios, with the row's
        own ratio at infinity.

        Parameters
        ----------
        X : table of shape (k, d)
        level : float

        Returns
        -------
        array of shape (k, 2)
            Lower and upper ends, infinite where the source says too little about a row.

        Notes
        -----
        The coverage is exact over draws of both samples if the density ratio is, and
        :math:`p(y \mid x)` has not changed.
        """
        radius = self._calibration(of_classes=False).radius(self._atoms(X), level)
        return intervals_of(self.predict(X), radius)

    def predict_set(self, X: Any, level: float = 0.9) -> Any:
        """Return for every row which classes its set has, as booleans.

        Adaptive prediction sets, weighted as in `predict_interval`: the likeliest
        classes up to the weighted quantile; all of them where the source says too
        little about a row.

        Parameters
        ----------
        X : table of shape (k, d)
        level : float

        Returns
        -------
        boolean array of shape (k, n_classes)
            In the order of `classes_`.
        """
        radius = self._calibration(of_classes=True).radius(self._atoms(X), level)
        return sets_of(self.predict_proba(X), radius)

    def diagnose(self, X_target_new: Any, *, random_state: Any = None) -> Diagnosis:
        """Return what has changed from the target of `fit` to a new one.

        The words are those of a model that is watched: `n_source` and all else that is
        called the source is the target of the fit. Nothing is fitted again: at most
        5,000 rows of the target of `fit` were kept.

        Parameters
        ----------
        X_target_new : table of shape (k, d), or a tuple of such
        random_state : int, RandomState or None
            As in `diagnose`.
        """
        check_is_fitted(self)
        if self.reference_ is None:
            raise InvalidInputError(
                "there was no X_target in fit: nothing to compare with"
            )
        found = diagnose(self.reference_, X_target_new, random_state=random_state)
        return found.as_watched()

    def summary(self) -> str:
        """Return what was found, chosen and assumed, in words and numbers."""
        check_is_fitted(self)
        return summary_of(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a file that `counterpoise.load` reads.

        The rows of the source are not in it, unless the estimator keeps them; at most
        5,000 rows of the target are, for `diagnose`.

        Parameters
        ----------
        path : str or Path
            A new file.
        overwrite : bool
            Whether one that is there is replaced, in one step, once the new one is
            whole.
        """
        check_is_fitted(self)
        lean = copy(self)
        lean._row_marks_ = None
        lean.callback = None
        if hasattr(self.weight_estimator_, "without_rows"):
            lean.weight_estimator_ = self.weight_estimator_.without_rows()
        save(lean, path, overwrite=overwrite)

    @property
    def classes_(self) -> Any:
        """The classes of a fitted classifier."""
        if not hasattr(self, "estimator_"):
            raise AttributeError("classes_ are known after fit")
        every = getattr(self, "_every_class_", None)
        return self.estimator_.classes_ if every is None else every

    def _over_all_classes(self, probabilities: Any, classes: Any) -> Any:
        every = getattr(self, "_every_class_", None)
        if every is None or len(classes) == len(every):
            return probabilities
        return over_all_classes(probabilities, classes, every)

    def is_extrapolation(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows the fit knows no density ratio of.

        In holes among the source rows, outside the range of both samples, of a larger
        ratio than any target row of the fit, or with a category that neither sample had
        (`TableEncoder.has_new_category`). None is where nothing was weighed.

        Parameters
        ----------
        X : table of shape (k, d)
        """
        check_is_fitted(self)
        of_labels = getattr(self.weight_estimator_, "needs_labels", False)
        if of_labels or not hasattr(self.weight_estimator_, "is_extrapolation"):
            return np.zeros(n_rows(X), dtype=bool)
        beyond: NDArray[np.bool_] = self.weight_estimator_.is_extrapolation(
            encoded(self.encoder_, X)
        )
        if self.encoder_ is not None:
            beyond = beyond | self.encoder_.has_new_category(X)
        return beyond

    def is_uncovered(self, X: Any) -> NDArray[np.bool_]:
        """Return which rows have few source rows like them.

        Those whose weight exceeds that of 99.5 % of the source rows of the fit, as in
        `Diagnosis.uncovered_fraction`; every source row counts alike. None is where
        nothing was weighed, or where the weights go by labels.

        Parameters
        ----------
        X : table of shape (k, d)
        """
        check_is_fitted(self)
        found = getattr(self.weight_estimator_, "weights_", None)
        of_labels = getattr(self.weight_estimator_, "needs_labels", False)
        if found is None or of_labels:
            return np.zeros(n_rows(X), dtype=bool)
        known = np.asarray(found, dtype=np.float64)
        limit = weighted_quantile(known, np.ones(known.size), UNCOVERED_QUANTILE)
        uncovered_fraction: NDArray[np.bool_] = self.predict_weights(X) > limit
        return uncovered_fraction

    def _atoms(self, X: Any) -> Array:
        """Return the rows' own weights, beyond all where the ratio is not known."""
        weights = self.predict_weights(X)
        of_labels = getattr(self.weight_estimator_, "needs_labels", False)
        if hasattr(self.weight_estimator_, "is_extrapolation") and not of_labels:
            weights = weights.copy()
            weights[
                self.weight_estimator_.is_extrapolation(encoded(self.encoder_, X))
            ] = _UNKNOWN
        return weights

    def _calibration(self, *, of_classes: bool) -> Calibration:
        check_is_fitted(self)
        if is_classifier(self.estimator_) != of_classes:
            raise InvalidInputError(
                "the model predicts numbers: use predict_interval"
                if of_classes
                else "the model predicts classes: use predict_set"
            )
        if self.calibration_ is None:
            raise InvalidInputError(
                "prediction sets need held-out rows: fit with "
                "calibration_fraction=0.2, say"
            )
        return self.calibration_

    def _checked(self) -> "FittedModel":
        check_is_fitted(self)
        return self

    def _fitted_estimator(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _repr_html_(self) -> str:
        diagram: str = estimator_html_repr(self)
        return f"{html_of(self)}{diagram}" if hasattr(self, "estimator_") else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's own would leave the summary out.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")
