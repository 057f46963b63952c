"""What classifiers of two classes have in common once there are more."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from counterpoise.learners.svm.base import PathSVM
from counterpoise.learners.svm.voting import confidences, pairs_of, winners
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidInput, as_classes, check_choice, check_number


class ClassifierSVM(ClassifierMixin, PathSVM):
    """Labels of machines that are each of two classes, one against one.

    A machine's function is positive for the second class of two, and for the first of
    its pair where there are more, as in scikit-learn.
    """

    class_weight: Any
    decision_function_shape: str = "ovr"
    break_ties: bool = False

    def decision_function(self, X: Any) -> Array:
        """Return the decision function: (n,) for two classes, else a column a class."""
        pairwise = self._functions(X)
        return self._shaped(pairwise)

    def predict(self, X: Any) -> Any:
        """Return the classes."""
        return self._answers(self._functions(X))

    def _know_classes(self, labels: Any) -> None:
        """Set `classes_`, and `codes_` of the rows that have these labels."""
        self.classes_, self.codes_ = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                "The number of classes has to be greater than one; got "
                f"{len(self.classes_)} class"
            )

    def _class_weights(self, mass: Array) -> Array:
        n_classes = len(self.classes_)
        if self.class_weight is None:
            return np.ones(n_classes)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ["balanced"])
            # A class that has no row has no use for a factor.
            there = np.where(mass > 0.0, mass, mass.sum() / n_classes)
            balanced: Array = mass.sum() / (n_classes * there)
            return balanced
        out = np.ones(n_classes)
        known = self.classes_.tolist()
        for label, weight in dict(self.class_weight).items():
            if label not in known:
                raise InvalidInput(f"class_weight names {label!r}, classes are {known}")
            out[known.index(label)] = check_number(
                f"class_weight[{label!r}]", weight, low=0, closed="neither"
            )
        return out

    def _bounds(self, weights: Array, C: float) -> Array:
        out: Array = C * self.class_weight_[self.codes_] * weights
        return out

    def _codes(self, y: Any, n_rows: int, *, name: str = "y") -> Indices:
        labels = as_classes(y, n_rows, name=name)
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        wrong = np.flatnonzero(self.classes_[codes] != labels)
        if wrong.size:
            row = int(wrong[0])
            label = labels[[row]].tolist()[0]
            raise InvalidInput(
                f"{name} has the unknown label {label!r} in row {row} (counted from 0)"
            )
        return codes

    def _shaped(self, pairwise: Array) -> Array:
        if len(self.classes_) == 2:
            return pairwise[:, 0]
        if self.decision_function_shape == "ovo":
            return pairwise
        return confidences(pairwise, len(self.classes_))

    def _answers(self, functions: Array) -> Any:
        n_classes = len(self.classes_)
        if self.break_ties and n_classes > 2:
            if self.decision_function_shape == "ovo":
                raise InvalidInput(
                    "break_ties must be False when decision_function_shape is 'ovo'"
                )
            return self.classes_[np.argmax(confidences(functions, n_classes), axis=1)]
        return self.classes_[winners(functions, n_classes)]

    def _report(self) -> None:
        support, betas, biases = self._coefficients()
        order = np.argsort(self.codes_[support], kind="stable")
        support, betas = support[order], betas[order]
        self.support_ = support
        self.n_support_ = np.bincount(
            self.codes_[support], minlength=len(self.classes_)
        )
        if self.kernel != "precomputed":
            self.support_vectors_ = self.X_fit_[support]
        self.intercept_ = biases
        n_classes = len(self.classes_)
        if n_classes == 2:
            self.dual_coef_ = betas.T.copy()
            return
        dual = np.zeros((n_classes - 1, support.size))
        codes = self.codes_[support]
        for k, (i, j) in enumerate(pairs_of(n_classes)):
            dual[j - 1, codes == i] = betas[codes == i, k]
            dual[i, codes == j] = betas[codes == j, k]
        self.dual_coef_ = dual
