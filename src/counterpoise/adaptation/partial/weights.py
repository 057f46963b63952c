"""Weights by class, where the target has only some of the source's classes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.partial.guard import (
    WEAK_ENTROPY,
    PartialGuard,
    judge_selection,
    relative_entropy,
)
from counterpoise.adaptation.partial.prior_em import prior_by_em
from counterpoise.adaptation.partial.probabilities import (
    TargetProbabilities,
    of_classifier,
    of_components,
)
from counterpoise.convex import Certificate, Solution, attested
from counterpoise.numerics.arrays import Array
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.selection.classes import PRESENT_ABOVE, classes_by_probabilities
from counterpoise.selection.source_classifier import neighbor_graph
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    NoTargetWarning,
    WeakClassifierWarning,
    as_classes,
    as_seed,
    check_choice,
    estimator_matrix,
    estimator_samples,
    row_counts,
    warn_user,
)
from counterpoise.validation.parameters import Integer, Number, Rule, check_parameters

METHODS_OF_CLASSES = ("selection", "em")
# With fewer target rows neighbours are noise.
FEWEST_ROWS_OF_GRAPH = 50


class PartialWeights(BaseEstimator):
    r"""Weights of classes for a target that has only some of them.

    The classes of the target come from `select_classes`: with the probabilities
    :math:`p_{ik}` of a source classifier, assignments U of m target rows to K classes
    minimise

    .. math:: \frac1m \sum_{ik} U_{ik} (-\log p_{ik}) + \frac{s}{m} \mathrm{tr}(U' L U)
        + \lambda \sum_k c_k \max_i U_{ik}

    over rows in the simplex, L the Laplacian of a graph of neighbours. A class whose
    share :math:`q_k = \frac1m \sum_i U_{ik}` is 2e-3 or less is absent, and its rows
    weigh nothing; the others weigh :math:`(q_k / s_k)^e` with the source's share
    :math:`s_k`, scaled to a mean of one.

    Parameters
    ----------
    method : {"selection", "em"}
        "em": shares by maximum likelihood instead, right where p(x | class) has not
        moved, and far off where it has.
    classifier : classifier with `predict_proba` or None
        Cloned and fitted to the source. None: 50 principal components of both samples,
        the source's mean taken off, rows of unit length, logistic regression with
        C = 1. (In `Adapted`: its estimator, where it has `predict_proba`.)
    sparsity : "auto" or float
        Penalty of a class, in units of that from which on one class is best; "auto":
        by the classes in effect, see `select_classes`.
    smoothness : float
        The s above.
    n_neighbors : int
        Neighbours of a target row in the graph; 0: no graph.
    exponent : float
        The e above. 0: classes that are present weigh alike.
    with_target : bool
        Whether `Adapted` fits its estimator to the target rows too, labelled by
        `labels_`, where a class was left out.
    guard : bool
        Whether to leave the rows unweighted where the classifier is too weak or the
        classes collapse (see Notes).
    tol : float
        Gap to prove, in units of the objective above the rows' least costs.
    max_iter : int
        Largest number of iterations.
    random_state : int, RandomState or None
        Seed of the principal components.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Of the source rows; of mean one.
    classes_ : array of shape (K,)
    class_prior_ : array of shape (K,)
        Estimated shares of the target; they add up to one.
    class_weight_ : array of shape (K,)
        Weight of a row of each class.
    absent_classes_ : array
        Labels of the classes judged absent. One with a row or two will be among them.
    labels_ : array of shape (m,)
        A class for every target row, by the assignment.
    assignment_ : array of shape (K, m)
        A column a target row; columns add up to one.
    confusion_ : array of shape (K, K)
        Target rows by the classifier's own label and by `labels_`.
    sparsity_, n_live_ : float, int
        What the penalty was, and how many classes are present.
    guard_ : PartialGuard
        Whether the selection is used, why, and by which numbers.
    solution_ : Solution
        The assignment with its certificate.
    effective_sample_size_ : float

    Notes
    -----
    The guard leaves all as it was (weights of one, labels and shares of the
    classifier's own, no class absent) where the mean entropy of the probabilities
    exceeds 0.9 log K, or where one class holds more than 0.9 of the target. Where more
    than a tenth of the labels are no longer the classifier's, a
    `WeakClassifierWarning` says so: so many of them could be worse at most.

    Nothing here needs a ratio of inputs: features of two domains often do not overlap
    at all. Target classes that the source does not have are out of scope.

    References
    ----------
    Zohrizadeh (2019) on the row-sparse selection; Saerens, Latinne and Decaestecker
    (2002) on "em"; Cao, Ma, Long and Wang (2018) on partial domain adaptation.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c"], 60)
    >>> X = rng.normal(size=(180, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 60, axis=0)
    >>> partial = PartialWeights().fit(X, y, X_target=X[:120] + 0.5)
    >>> partial.absent_classes_.tolist(), partial.weigh(["a", "c"]).tolist()
    (['c'], [1.5, 0.0])
    """

    needs_labels = True
    weights_are_a_ratio = False
    gives_ones = False
    uncovered_ = None
    _rules: ClassVar[Mapping[str, Rule]] = {
        "sparsity": Number(0.0, options=("auto",)),
        "smoothness": Number(0.0),
        "n_neighbors": Integer(0),
        "exponent": Number(0.0),
        "tol": Number(0.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        method: str = "selection",
        *,
        classifier: Any = None,
        sparsity: float | str = "auto",
        smoothness: float = 0.3,
        n_neighbors: int = 7,
        exponent: float = 0.0,
        with_target: bool = True,
        guard: bool = True,
        tol: float = 1e-4,
        max_iter: int = 3000,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.classifier = classifier
        self.sparsity = sparsity
        self.smoothness = smoothness
        self.n_neighbors = n_neighbors
        self.exponent = exponent
        self.with_target = with_target
        self.guard = guard
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, X_target: Any = None, sample_weight: Any = None
    ) -> Self:
        """Find the classes of the target, and weigh the source rows by theirs.

        Parameters
        ----------
        X : array of shape (n, d)
            The source rows.
        y : array of shape (n,)
            Their classes.
        X_target : array of shape (m, d), or a tuple of such
            The target rows. None: weights of one and a `NoTargetWarning`.
        sample_weight : array of shape (n,), optional
            What the source rows count.

        Returns
        -------
        self
        """
        self._check_parameters()
        source, target = estimator_samples(self, X, X_target, reset=True)
        labels, counts = self._read_labels(y, len(source), sample_weight)
        if target is None:
            told = "no X_target was given: all weights are one and no class is absent"
            warn_user(told, NoTargetWarning)
            self._without_target(labels, counts)
            return self
        seed = as_seed(self.random_state)
        used = counts > 0.0
        if self.classifier is None:
            found = of_components(
                source[used], labels[used], target, counts[used], seed
            )
        else:
            found = of_classifier(
                self.classifier, source[used], labels[used], target, counts[used], seed
            ).with_points(source[used], target, seed)
        return self._fit_probabilities(found, labels, counts)

    def _fit_probabilities(
        self, found: TargetProbabilities, labels: NDArray[Any], counts: Array
    ) -> Self:
        """Fit to what a classifier says of the target rows."""
        self._check_parameters()
        self.classes_, p = found.classes, found.probabilities
        used = counts > 0.0
        places = np.searchsorted(self.classes_, labels[used])
        source_shares = np.bincount(places, counts[used], self.classes_.size)
        source_shares = source_shares / source_shares.sum()
        shares, assignment, self.solution_ = self._shares(found, source_shares)
        present = np.greater(shares, PRESENT_ABOVE)
        best = assignment.argmax(axis=1)
        self.guard_: PartialGuard = judge_selection(
            p, best, shares, present, self.guard
        )
        if not self.guard_.chosen:
            shares, assignment, best = p.mean(axis=0), p, p.argmax(axis=1)
            present = np.ones(shares.size, dtype=bool)
        self.class_prior_ = shares / shares.sum()
        self.labels_ = self.classes_[best]
        self.assignment_ = np.ascontiguousarray(assignment.T)
        self.confusion_ = np.zeros((self.classes_.size,) * 2, dtype=int)
        np.add.at(self.confusion_, (p.argmax(axis=1), best), 1)
        self.n_live_ = int(np.count_nonzero(present))
        self.absent_classes_ = self.classes_[~present]
        self.has_target_ = True
        self._set_weights(present, source_shares, labels, counts)
        self._warn()
        return self

    def _shares(
        self, found: TargetProbabilities, source_shares: Array
    ) -> tuple[Array, Array, Solution]:
        """Return shares of the classes, what the rows have of each, and the proof."""
        p, m = found.probabilities, len(found.probabilities)
        self.sparsity_: float | None = None
        if self.guard and relative_entropy(p) > WEAK_ENTROPY:
            # There is nothing to select by, and it will not be used.
            proof = Certificate("none", objective=0.0)
            return p.mean(axis=0), p, attested(p.mean(axis=0), proof, self.tol)
        if self.method == "em":
            by_em = prior_by_em(p, source_shares, self.tol, self.max_iter)
            return by_em.shares, by_em.posterior, by_em.solution
        graph = None
        if self.n_neighbors > 0 and self.smoothness > 0.0:
            if m < FEWEST_ROWS_OF_GRAPH:
                warn_user(
                    f"X_target has {m} rows, fewer than {FEWEST_ROWS_OF_GRAPH}: "
                    "neighbours are not looked at"
                )
            else:
                graph = neighbor_graph(found.points, self.n_neighbors)
        selection = classes_by_probabilities(
            self.classes_,
            p,
            graph,
            recalls=found.recalls,
            sparsity=self.sparsity,
            smoothness=self.smoothness if graph is not None else 0.0,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.sparsity_ = selection.sparsity
        return selection.shares, selection.assignment, selection.solution

    def _set_weights(
        self, present: Any, source_shares: Array, labels: Any, counts: Array
    ) -> None:
        """Set the weights of classes and rows, of mean one over rows that count."""
        ratio = np.where(present, 1.0, 0.0)
        if self.guard_.chosen and self.exponent > 0.0:
            ratio = ratio * (self.class_prior_ / source_shares) ** self.exponent
        # Where all weigh alike they are ones to the bit.
        mean = 1.0 if (ratio == 1.0).all() else source_shares @ ratio
        self.class_weight_ = ratio / mean
        self._weight_of_ = dict(
            zip(self.classes_.tolist(), self.class_weight_.tolist(), strict=True)
        )
        # A class all of whose rows count nothing is in no class list.
        self.weights_ = np.array(
            [self._weight_of_.get(one, 0.0) for one in labels.tolist()]
        )
        self.effective_sample_size_ = effective_sample_size(self.weights_ * counts)

    def _warn(self) -> None:
        if not self.solution_.converged:
            warn_user(f"PartialWeights: {self.solution_}", ConvergenceWarning)
        if not self.guard_.chosen:
            warn_user(
                f"{self.guard_.reason}: rows stay unweighted", WeakClassifierWarning
            )
        elif self.guard and self.guard_.doubtful:
            warn_user(
                f"{1 - self.guard_.agreement:.0%} of the target's labels are no longer "
                "the classifier's own: better where it was right on most of the "
                "target, and where it was not its mistakes have spread; look at "
                "confusion_",
                WeakClassifierWarning,
            )

    def _without_target(self, labels: Any, counts: Array) -> None:
        used = counts > 0.0
        self.classes_, places = np.unique(labels[used], return_inverse=True)
        shares = np.bincount(places, counts[used], self.classes_.size)
        self.class_prior_ = shares / shares.sum()
        self.class_weight_ = np.ones(self.classes_.size)
        self._weight_of_ = dict.fromkeys(self.classes_.tolist(), 1.0)
        self.absent_classes_, self.labels_ = self.classes_[:0], self.classes_[:0]
        self.assignment_ = np.zeros((self.classes_.size, 0))
        self.confusion_ = np.zeros((self.classes_.size,) * 2, dtype=int)
        self.sparsity_, self.n_live_ = None, int(self.classes_.size)
        self.weights_, self.has_target_ = np.ones(len(labels)), False
        self.effective_sample_size_ = effective_sample_size(counts)
        self.guard_ = PartialGuard(0, "no target", 0.0, 1.0, 1.0, 1.0, 1.0, 0)
        self.solution_ = attested(
            self.class_prior_, Certificate("none", objective=0.0), self.tol
        )

    def weigh(self, y: Any) -> Array:
        """Return the weights of labels, on the scale of `weights_`.

        Parameters
        ----------
        y : array-like of shape (k,)
            Labels, not rows: a row's weight is that of its class.

        Returns
        -------
        array of shape (k,)
        """
        check_is_fitted(self, "weights_")
        if np.ndim(y) != 1:
            raise InvalidInput(
                "PartialWeights weighs by class: weigh needs labels, one a row, got an "
                f"array of {np.ndim(y)} dimensions"
            )
        labels = as_classes(y, len(y))
        unknown = [one for one in labels.tolist() if one not in self._weight_of_]
        if unknown:
            raise InvalidInput(f"y has a class that fit had not: {unknown[0]!r}")
        return np.array([self._weight_of_[one] for one in labels.tolist()])

    def score(
        self, X: Any, y: Any = None, *, X_target: Any = None, sample_weight: Any = None
    ) -> float:
        """Refuse: weights of target rows need their labels, which nobody knows.

        Without a target all weights are one, and score zero.
        """
        check_is_fitted(self, "weights_")
        estimator_matrix(self, X, reset=False)
        if not self.has_target_:
            return 0.0
        raise InvalidInput(
            "PartialWeights has no score: its weights are a function of y, which "
            "target rows do not have; guard_ tells how sure its classifier is"
        )

    def _read_labels(
        self, y: Any, n: int, sample_weight: Any
    ) -> tuple[NDArray[Any], Array]:
        return as_classes(y, n), row_counts(sample_weight, n)

    def _check_parameters(self) -> None:
        check_parameters(self, self._rules)
        check_choice("method", self.method, METHODS_OF_CLASSES)
        for name in ("with_target", "guard"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidType(
                    f"{name} must be True or False, got {getattr(self, name)!r}"
                )
        if self.classifier is not None and not hasattr(self.classifier, "fit"):
            raise InvalidType(
                f"classifier must be a classifier, got {self.classifier!r}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
