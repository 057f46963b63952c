"""What a fitted `Adapted` offers: predictions, intervals, summary, saving."""

import math
from collections.abc import Callable
from copy import copy
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.guard import Guard
from counterpoise.adaptation.label_shift import ClassShareWeights, LabelShift
from counterpoise.adaptation.model_io import save
from counterpoise.adaptation.out_of_core import (
    answered,
    predict_block_weights,
    write_block_predictions,
)
from counterpoise.adaptation.partial import (
    PartialGuard,
    over_all_classes,
    values_over_all_classes,
)
from counterpoise.data.arrays import Classifier, check_columns, n_rows
from counterpoise.data.blocks import Blocks
from counterpoise.data.columns import weighted_quantile
from counterpoise.data.encoder import TableEncoder, encoded
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array
from counterpoise.optim.loop import Solution
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


def calibrate(
    model: Classifier, X: object, y: ArrayLike, weights: Array
) -> Calibration:
    """Return the calibration of a fitted estimator on held-out labeled rows.

    Regressors are scored by :math:`|y - f(x)|`, classifiers by the probability of all
    classes more probable than the label. `weights` are density ratios.
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


class FittedModel(BaseEstimator):
    """An inner estimator with the weights that it was fitted by.

    Subclasses set `estimator_`, `weight_estimator_`, `encoder_`, `reference_` and
    `calibration_` in `fit`, and have the parameter `estimator`.
    """

    estimator: Any
    resample: bool
    max_samples: int | None
    estimator_: Any
    weight_estimator_: Any
    encoder_: TableEncoder | None
    diagnosis_: Diagnosis | None
    label_shift_: LabelShift | None
    guard_: Guard | PartialGuard | None
    reference_: Any
    calibration_: Calibration | None
    weights_: Array
    effective_sample_size_: float
    exponent_: float
    mixing_: float
    adapted_: bool
    absent_classes_: NDArray[Any]
    target_labels_: NDArray[Any]
    # By which `estimate_performance` recognizes the rows of the fit.
    _row_marks_: NDArray[np.uint32] | None = None
    # All classes of the source, where a partial weight estimator left some out.
    _every_class_: NDArray[Any] | None = None
    # What the estimator sees of blocks, and the seed by which their rows were drawn.
    _seen_rows_: Any = None
    _drawn_by_: int | None = None
    # Models of the folds of weight selection, by their rows; None: they are not kept.
    _fold_models: dict[bytes, Any] | None = None

    @_offered("predict")
    def predict(self, X: object) -> Any:
        """Return the estimator's predictions, also of rows in `engine.Blocks`."""
        check_is_fitted(self)
        if isinstance(X, Blocks):
            return answered(self, X, "predict")
        return self.estimator_.predict(X)

    @_offered("predict_proba")
    def predict_proba(self, X: object) -> Any:
        """Return the classifier's probabilities, none for classes judged absent."""
        check_is_fitted(self)
        if isinstance(X, Blocks):
            p = answered(self, X, "predict_proba")
        else:
            p = self.estimator_.predict_proba(X)
        return over_all_classes(p, self.estimator_.classes_, self._every_class_)

    @_offered("predict_log_proba")
    def predict_log_proba(self, X: object) -> Any:
        """Return the logarithms of the classifier's probabilities."""
        check_is_fitted(self)
        if self._every_class_ is None:
            return self.estimator_.predict_log_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_offered("decision_function")
    def decision_function(self, X: object) -> Any:
        """Return the classifier's decision values, least for classes judged absent."""
        check_is_fitted(self)
        values = self.estimator_.decision_function(X)
        return values_over_all_classes(
            values, self.estimator_.classes_, self._every_class_
        )

    @_offered("score")
    def score(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the estimator's own score of labeled rows, as they come.

        `target_scorer` and `estimate_performance` estimate the target's.
        """
        check_is_fitted(self)
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(X, y, **more))

    def predict_weights(self, X: object) -> Array:
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
            return np.asarray(predict_block_weights(self, X))
        if self.weight_estimator_ is None:
            check_columns(self, X, reset=False)
            return np.ones(n_rows(X))
        if self._every_class_ is None:
            X = encoded(self.encoder_, X)
        # A partial weight estimator takes labels.
        weights: Array = self.weight_estimator_.predict_weights(X)
        return weights

    def write_predictions(
        self,
        X: object,
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
        check_is_fitted(self)
        write_block_predictions(
            self, Blocks.of(X), path, name=id_column, chances=probabilities
        )

    def predict_interval(self, X: object, confidence_level: float = 0.9) -> Array:
        r"""Return intervals that hold the response with probability `confidence_level`.

        Weighted split conformal: half of the width at a row is the `confidence_level`
        quantile of the held-out absolute errors, weighted by their density ratios, with
        the row's own ratio at infinity.

        Parameters
        ----------
        X : table of shape (k, d)
        confidence_level : float

        Returns
        -------
        array of shape (k, 2)
            Lower and upper ends, infinite where the source says too little about a row.

        Notes
        -----
        The coverage is exact over draws of both samples if the density ratio is, and
        :math:`p(y \mid x)` has not changed.
        """
        radius = self._calibration(of_classes=False).radius(
            self._test_weights(X), confidence_level
        )
        return intervals_of(self.predict(X), radius)

    def predict_set(self, X: object, confidence_level: float = 0.9) -> Any:
        """Return for every row which classes its set has, as booleans.

        Adaptive prediction sets, weighted as in `predict_interval`: the likeliest
        classes up to the weighted quantile; all of them where the source says too
        little about a row.

        Parameters
        ----------
        X : table of shape (k, d)
        confidence_level : float

        Returns
        -------
        boolean array of shape (k, n_classes)
            In the order of `classes_`.
        """
        radius = self._calibration(of_classes=True).radius(
            self._test_weights(X), confidence_level
        )
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
        name = type(self.estimator_).__name__
        if self.diagnosis_ is None:
            return f"{name}, fitted without a target: nothing is adapted."
        diagnosis, weight_estimator = self.diagnosis_, self.weight_estimator_
        by_class = self._every_class_ is not None
        lines = [
            f"Shift: {diagnosis.verdict}. {diagnosis.uncovered_fraction:.1%} of the "
            f"target is thinly covered; AUC of source against target "
            f"{diagnosis.auc:.3f} ({diagnosis.auc_low:.3f} to "
            f"{diagnosis.auc_high:.3f}).",
            f"Weights: {self._weights_in_words()}",
        ]
        if self.guard_ is not None:
            lines.append(f"Guard: {self.guard_.reason}.")
        if self.label_shift_ is not None and self.label_shift_.moved:
            by_labels = isinstance(weight_estimator, BY_LABELS)
            advice = "" if by_labels else _label_shift_advice(self.label_shift_)
            lines.append(f"Labels: {self.label_shift_.words}{advice}.")
        if by_class:
            lines.append(f"Classes: {_classes_in_words(self)}")
        n, rows = self.weights_.size, "rows without weights"
        if self.adapted_:
            rows = f"weighted rows worth {self.effective_sample_size_:.0f} of {n}"
            with_target = getattr(weight_estimator, "with_target", False)
            if with_target and not self.resample and self.max_samples is None:
                m = self.target_labels_.size
                rows += f", and to {m} target rows by `target_labels_`"
        else:
            rows = f"{n} {rows}"
        lines.append(f"Model: {name}, fitted to {rows}.")
        if by_class:
            lines.append(ASSUMPTION_OF_CLASSES)
        elif isinstance(weight_estimator, BY_LABELS):
            lines.append(ASSUMPTION_OF_LABELS)
        else:
            lines.append(ASSUMPTION)
        return "\n".join(lines)

    def _weights_in_words(self) -> str:
        """Return the method, its certificate, and how much of the weights is used."""
        weight_estimator = self.weight_estimator_
        if weight_estimator is None:
            return "none were asked for."
        inner = getattr(weight_estimator, "weight_estimator_", weight_estimator)
        words = type(inner).__name__
        if inner is not weight_estimator:
            results = getattr(weight_estimator, "cv_results_", None) or {}
            words += (
                ", for there are too few rows to choose by cross-validation"
                if len(results.get("candidate", ())) == 1
                else ", the simplest that is as good as the best by its held-out score"
            )
        words += _certificate_in_words(weight_estimator.solution_)
        if self.guard_ is not None and self.guard_.kind == "mixing":
            return f"{words}; {self.mixing_:.3g} of them used, beside equal weights."
        if self._every_class_ is not None:
            return f"{words}; by class, absent ones weigh nothing."
        return f"{words}; used to the power {self.exponent_:g}."

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
        lean._row_marks_ = lean._fold_models = None
        lean.callback = None
        if hasattr(self.weight_estimator_, "without_rows"):
            lean.weight_estimator_ = self.weight_estimator_.without_rows()
        save(lean, path, overwrite=overwrite)

    @property
    def classes_(self) -> Any:
        """The classes of a fitted classifier."""
        if not hasattr(self, "estimator_"):
            raise AttributeError("classes_ are known after fit")
        if self._every_class_ is None:
            return self.estimator_.classes_
        return self._every_class_

    @property
    def _weighs_by_label(self) -> bool:
        return getattr(self.weight_estimator_, "needs_labels", False)

    def is_extrapolation(self, X: object) -> NDArray[np.bool_]:
        """Return which rows the fit knows no density ratio of.

        In holes among the source rows, outside the range of both samples, of a larger
        ratio than any target row of the fit, or with a category that neither sample had
        (`TableEncoder.has_new_category`). None is where nothing was weighed.

        Parameters
        ----------
        X : table of shape (k, d)
        """
        check_is_fitted(self)
        if not self._knows_extrapolation():
            return np.zeros(n_rows(X), dtype=bool)
        beyond: NDArray[np.bool_] = self.weight_estimator_.is_extrapolation(
            encoded(self.encoder_, X)
        )
        if self.encoder_ is not None:
            beyond = beyond | self.encoder_.has_new_category(X)
        return beyond

    def _knows_extrapolation(self) -> bool:
        return not self._weighs_by_label and hasattr(
            self.weight_estimator_, "is_extrapolation"
        )

    def is_uncovered(self, X: object) -> NDArray[np.bool_]:
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
        if found is None or self._weighs_by_label:
            return np.zeros(n_rows(X), dtype=bool)
        known = np.asarray(found, dtype=np.float64)
        limit = weighted_quantile(known, np.ones(known.size), UNCOVERED_QUANTILE)
        return np.asarray(self.predict_weights(X) > limit)

    def _test_weights(self, X: object) -> Array:
        """Return the rows' density ratios, beyond all where they are not known."""
        weights = self.predict_weights(X)
        if not self._knows_extrapolation():
            return weights
        beyond = self.weight_estimator_.is_extrapolation(encoded(self.encoder_, X))
        return np.where(beyond, _UNKNOWN, weights)

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

    def _repr_html_(self) -> str:
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "estimator_"):
            return diagram
        lines = "".join(f"<p>{escape(one)}</p>" for one in self.summary().splitlines())
        if self.diagnosis_ is None:
            return f"<div>{lines}</div>{diagram}"
        shift = self.diagnosis_._repr_html_()
        folded = f"<details><summary>The shift</summary>{shift}</details>"
        return f"<div>{lines}{folded}</div>{diagram}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's own would leave the summary out.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


def _label_shift_advice(shift: LabelShift) -> str:
    """Return what to do where classes in other shares explain the shift."""
    if not shift.is_label_shift:
        return ""
    if shift.preferred == "labels":
        return ': weight_estimator="labels" makes up for that'
    return (
        ': weight_estimator="labels" would make up for that, weights by inputs explain '
        "more of it on held-out rows"
    )


def _classes_in_words(model: FittedModel) -> str:
    """Return which classes the target seems to have."""
    absent, n = [str(one) for one in model.absent_classes_], len(model.classes_)
    if not absent:
        return f"all {n} of the source seem to be in the target."
    named = ", ".join(absent[:MOST_NAMED])
    if len(absent) > MOST_NAMED:
        named += f" and {len(absent) - MOST_NAMED} more"
    return (
        f"{len(absent)} of {n} are judged absent from the target ({named}); a class of "
        "one or two rows would be among them."
    )


def _certificate_in_words(solution: Solution | None) -> str:
    """Return what the certificate of the weights says, without times."""
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
