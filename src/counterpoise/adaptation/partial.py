"""Partial domain adaptation: target classes are a subset of the source's."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.adaptation.routing import fit_weighted, rows_of, weight_keyword
from counterpoise.data.arrays import (
    Classifier,
    Estimator,
    Matrix,
    estimator_matrix,
    estimator_samples,
    n_rows,
)
from counterpoise.data.labels_and_weights import as_classes, row_counts
from counterpoise.data.parameters import (
    Integer,
    Number,
    Rule,
    as_seed,
    check_choice,
    check_parameters,
)
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import effective_sample_size
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoTargetWarning,
    WeakClassifierWarning,
    estimator_errors,
    warn_user,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import Solution, attested
from counterpoise.performance.metrics import Labels
from counterpoise.weights.partial import (
    PRESENT_ABOVE,
    classes_by_probabilities,
    common_components,
    neighbor_laplacian,
)

# -----------------------------------------------------------------------------
# Whether the classes that were left out may be left out.
# -----------------------------------------------------------------------------


# A classifier whose mean entropy exceeds this share of log K knows nothing.
WEAK_ENTROPY = 0.9
# One class with more than this share of the target is no selection of classes.
ONE_CLASS_ABOVE = 0.9
# Below this share of rows whose label is still the classifier's, a warning is due: the
# labels can lose no more than the rest, so no more than ten points go without one.
AGREED_FROM = 0.9


@dataclass(frozen=True)
class PartialGuard:
    """Whether the selection of classes is used, and why.

    Attributes
    ----------
    chosen : int
        1: it is. 0: rows stay unweighted, and labels are the classifier's own.
    reason : str
    entropy : float
        Mean entropy of the classifier's probabilities, in units of log K.
    confidence : float
        Mean of its largest probabilities.
    n_effective_before, n_effective : float
        Effective number of classes, exp(H), by the classifier's labels and by the
        shares that were estimated.
    agreement : float
        Share of the target rows whose label is still the classifier's.
    n_absent : int
        Classes judged absent.
    kind : str
    """

    chosen: int
    reason: str
    entropy: float
    confidence: float
    n_effective_before: float
    n_effective: float
    agreement: float
    n_absent: int
    kind: str = "partial"

    @property
    def doubtful(self) -> bool:
        """Whether the classifier was overruled on more than a tenth of the rows."""
        return self.agreement < AGREED_FROM

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


def judge_selection(
    probabilities: Array,
    labels: Indices,
    shares: Array,
    present: NDArray[np.bool_],
    guarded: bool,
) -> PartialGuard:
    r"""Return whether a selection of classes is to be used.

    Not where the classifier knows nothing of the target,
    :math:`\frac1m \sum_i H(p_i) > 0.9 \log K`, nor where one class is left, with more
    than 0.9 of the target: that is how a classifier looks that has collapsed. Where the
    selection overrules the classifier on more than a tenth of the rows, it is used and
    a warning says so. (Accuracies of labels differ by the share of labels that differ
    at most: without a warning no more than ten points are lost.)

    Parameters
    ----------
    probabilities : array of shape (m, K)
        The classifier's, of the target rows.
    labels : array of shape (m,)
        Places of the classes that the selection gives the rows.
    shares : array of shape (K,)
        Of the target, by the selection.
    present : array of bool of shape (K,)
    guarded : bool
        Whether to judge at all.
    """
    m, k = probabilities.shape
    entropy = relative_entropy(probabilities)
    own = probabilities.argmax(axis=1)
    chosen, absent = 1, int(np.count_nonzero(~present))
    reason = f"{absent} of {k} classes are left out" if absent else "no class is absent"
    if guarded and entropy > WEAK_ENTROPY:
        chosen = 0
        reason = (
            f"the classifier is too weak to tell classes apart: mean entropy "
            f"{entropy:.2f} of log K, more than {WEAK_ENTROPY:g}"
        )
    elif guarded and shares.max() > ONE_CLASS_ABOVE:
        chosen = 0
        reason = (
            f"the classes collapsed: one holds {shares.max():.0%} of the target, more "
            f"than {ONE_CLASS_ABOVE:.0%}"
        )
    return PartialGuard(
        chosen=chosen,
        reason=reason,
        entropy=entropy,
        confidence=float(probabilities.max(axis=1).mean()),
        n_effective_before=_effective(np.bincount(own, minlength=k) / m),
        n_effective=_effective(shares),
        agreement=float(np.mean(own == labels)),
        n_absent=absent if chosen else 0,
    )


def relative_entropy(probabilities: Array) -> float:
    """Return the mean entropy of rows of probabilities, in units of log K."""
    safe = np.maximum(probabilities, np.finfo(float).tiny)
    entropies = -(probabilities * np.log(safe)).sum(axis=1)
    return float(entropies.mean() / np.log(probabilities.shape[1]))


def _effective(shares: Array) -> float:
    some = shares[shares > 0.0]
    return float(np.exp(-(some * np.log(some)).sum()))


# -----------------------------------------------------------------------------
# What a classifier of the source says of target rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TargetProbabilities:
    """Class probabilities of target rows, and where these rows lie.

    Attributes
    ----------
    classes : array of shape (K,)
    probabilities : array of shape (m, K)
    points : array of shape (m, q)
        In which neighbors are looked for.
    recalls : array of shape (K,) or None
        Of each class, the share of its source rows that are given to it; None: all.
    """

    classes: Labels
    probabilities: Array
    points: Array
    recalls: Array | None = None


def of_components(
    X: Array, y: Labels, X_target: Array, counts: Array, seed: int
) -> TargetProbabilities:
    """Return what logistic regression says, in the common components of both."""
    check_two_classes(y)
    source, target = common_components(X, X_target, seed)
    with estimator_errors():
        model = LogisticRegression(max_iter=1000).fit(source, y, counts)
    recalls = _recalls(model.classes_, model.predict(source), y, counts)
    return TargetProbabilities(
        model.classes_, model.predict_proba(target), target, recalls
    )


def of_classifier(
    classifier: Classifier,
    X: object,
    y: Labels,
    X_target: object,
    counts: Array,
    source: Matrix,
    target: Matrix,
    seed: int,
) -> TargetProbabilities:
    """Return the probabilities of a user's classifier; pieces of a tuple are stacked.

    Weights are passed on where they differ and the classifier takes some. Points are
    in the common components of `source` and `target`, the same rows as numbers.
    """
    check_two_classes(y)
    differ = np.ptp(counts) > 0.0 and weight_keyword(classifier) is not None
    model = fit_weighted(classifier, X, y, counts if differ else None)
    if not hasattr(model, "predict_proba"):
        raise InvalidInputError(
            f"classifier must have predict_proba, {type(classifier).__name__} has not"
        )
    pieces = X_target if isinstance(X_target, tuple) else (X_target,)
    try:
        with estimator_errors():
            p = np.vstack([np.asarray(model.predict_proba(a), float) for a in pieces])
    except InvalidInputError as error:
        raise InvalidInputError(f"X_target{_first_hole(pieces)}: {error}") from error
    if not np.isfinite(p).all():
        row = int(np.argmax(~np.isfinite(p).all(axis=1)))
        raise InvalidInputError(f"the probabilities of target row {row} are not finite")
    classes = np.asarray(model.classes_)
    with estimator_errors():
        own = model.predict(X)
    points = common_components(_dense(source), _dense(target), seed)[1]
    return TargetProbabilities(classes, p, points, _recalls(classes, own, y, counts))


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def check_two_classes(y: Labels) -> None:
    """Refuse labels of one class."""
    if np.unique(y).size < 2:
        raise InvalidInputError(
            f"y has 1 class, {y[:1].tolist()[0]!r}: two classes or more are needed"
        )


def _first_hole(pieces: tuple[Any, ...]) -> str:
    """Return where the first missing number of tables is, if there is one."""
    before = 0
    for piece in pieces:
        table = np.empty(0) if sparse.issparse(piece) else np.asarray(piece)
        if table.dtype.kind == "f" and np.isnan(table).any():
            holes = np.argwhere(np.isnan(table))
            row, column = holes[0].tolist()
            return f", row {before + row}, column {column} (counted from 0)"
        before += n_rows(piece)
    return ""


def _recalls(classes: Labels, own: Labels, y: Labels, weight: Array) -> Array:
    """Return of each class the share of its rows that a classifier gives to it."""
    places = np.searchsorted(classes, y)
    right = np.bincount(places, weight * (np.asarray(own) == y), classes.size)
    out: Array = right / np.bincount(places, weight, classes.size)
    return out


# -----------------------------------------------------------------------------
# Shares of the classes by maximum likelihood, from probabilities alone.
# -----------------------------------------------------------------------------


LEAST_DENSITY = 1e-300


@dataclass(frozen=True, eq=False)
class PriorByEM:
    """Shares of the classes in the target, and what each row then has.

    Attributes
    ----------
    shares : array of shape (K,)
    posterior : array of shape (m, K)
    solution : Solution
    """

    shares: Array
    posterior: Array
    solution: Solution


def prior_by_em(
    probabilities: Array, source_shares: Array, tol: float, max_iter: int
) -> PriorByEM:
    r"""Return the shares q that make the target likeliest (Saerens).

    .. math:: \max_q \frac1m \sum_i \log \sum_k q_k \frac{p_{ik}}{s_k}

    over the simplex, with the source's shares s: right where p(x | class) is the same
    in both samples. Each step sets q to the mean posterior. The objective is concave,
    and with the gradient :math:`g_k` at q no point of the simplex exceeds its value by
    more than :math:`\max_k g_k - 1`: that is the certificate's gap. A step takes
    O(m K).

    Parameters
    ----------
    probabilities : array of shape (m, K)
    source_shares : array of shape (K,)
    tol : float
        Gap to reach.
    max_iter : int
    """
    ratio = probabilities / source_shares
    q = source_shares.copy()
    n_iter = 0
    while True:
        density = np.maximum(ratio @ q, LEAST_DENSITY)
        gradient = (ratio / density[:, None]).mean(axis=0)
        gap = max(float(gradient.max()) - 1.0, 0.0)
        if gap <= tol or n_iter >= max_iter:
            break
        q = q * gradient
        q /= q.sum()
        n_iter += 1
    objective = -float(np.log(density).mean())
    proof = Certificate("likelihood gap", objective, objective - gap, gap)
    ended = "proved" if gap <= tol else "max_iter"
    posterior = ratio * q
    posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), LEAST_DENSITY)
    return PriorByEM(q, posterior, attested(q, proof, tol, n_iter=n_iter, ended=ended))


# -----------------------------------------------------------------------------
# Weights by class, where the target has only some of the source's classes.
# -----------------------------------------------------------------------------


METHODS_OF_CLASSES = ("selection", "em")
# With fewer target rows neighbors are noise.
FEWEST_ROWS_OF_GRAPH = 50


class PartialWeights(BaseEstimator):
    r"""Weights of classes for a target that has only some of them.

    The classes of the target come from `select_classes`: with the probabilities
    :math:`p_{ik}` of a source classifier, assignments U of m target rows to K classes
    minimize

    .. math:: \frac1m \sum_{ik} U_{ik} (-\log p_{ik}) + \frac{s}{m} \mathrm{tr}(U' L U)
        + \lambda \sum_k c_k \max_i U_{ik}

    over rows in the simplex, L the Laplacian of a graph of neighbors. A class whose
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
        Neighbors of a target row in the graph; 0: no graph.
    exponent : float
        The e above. 0: classes that are present weigh alike.
    with_target : bool
        Whether `Adapted` fits its estimator to the target rows too, labeled by
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
    >>> partial.absent_classes_.tolist(), partial.predict_weights(["a", "c"]).tolist()
    (['c'], [1.5, 0.0])
    """

    needs_labels = True
    weights_are_a_ratio = False
    gives_ones = False
    unsupported_fraction_ = None
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
        classifier: Classifier | None = None,
        sparsity: float | str = "auto",
        smoothness: float = 0.3,
        n_neighbors: int = 7,
        exponent: float = 0.0,
        with_target: bool = True,
        guard: bool = True,
        tol: float = 1e-4,
        max_iter: int = 3000,
        random_state: int | np.random.RandomState | None = None,
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
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_target: object = None,
        sample_weight: ArrayLike | None = None,
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
        labels = as_classes(y, len(source))
        counts = row_counts(sample_weight, len(source))
        if target is None:
            warn_user(
                "no X_target was given: all weights are one and no class is absent",
                NoTargetWarning,
            )
            return self._fit_without_target(labels, counts)
        seed = as_seed(self.random_state)
        return self._fit_rows(
            self.classifier, (source, target), source, target, labels, counts, seed
        )

    def _fit_rows(
        self,
        classifier: Classifier | None,
        given: tuple[Any, Any],
        source: Matrix,
        target: Matrix,
        labels: Labels,
        counts: Array,
        seed: int,
    ) -> Self:
        """Fit by a classifier of both samples as `given`, or by their components."""
        used = np.flatnonzero(counts > 0.0)
        rows, y, weight = source[used], labels[used], counts[used]
        if classifier is None:
            found = of_components(_dense(rows), y, _dense(target), weight, seed)
        else:
            X = given[0] if used.size == labels.size else rows_of(given[0], used)
            found = of_classifier(
                classifier, X, y, given[1], weight, rows, target, seed
            )
        return self._fit_probabilities(found, labels, counts)

    def _fit_probabilities(
        self, found: TargetProbabilities, labels: Labels, counts: Array
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
        laplacian = None
        if self.n_neighbors > 0 and self.smoothness > 0.0:
            if m < FEWEST_ROWS_OF_GRAPH:
                warn_user(
                    f"X_target has {m} rows, fewer than {FEWEST_ROWS_OF_GRAPH}: "
                    "neighbors are not looked at"
                )
            else:
                laplacian = neighbor_laplacian(found.points, self.n_neighbors)
        selection = classes_by_probabilities(
            self.classes_,
            p,
            laplacian,
            recalls=found.recalls,
            sparsity=self.sparsity,
            smoothness=self.smoothness if laplacian is not None else 0.0,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.sparsity_ = selection.sparsity
        return selection.shares, selection.assignment, selection.solution

    def _set_weights(
        self,
        present: NDArray[np.bool_],
        source_shares: Array,
        labels: Labels,
        counts: Array,
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

    def _fit_without_target(self, labels: Labels, counts: Array) -> Self:
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
        return self

    def predict_weights(self, y: Labels) -> Array:
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
            raise InvalidInputError(
                "PartialWeights weighs by class: weigh needs labels, one a row, got an "
                f"array of {np.ndim(y)} dimensions"
            )
        labels = as_classes(y, len(y))
        unknown = [one for one in labels.tolist() if one not in self._weight_of_]
        if unknown:
            raise InvalidInputError(f"y has a class that fit had not: {unknown[0]!r}")
        return np.array([self._weight_of_[one] for one in labels.tolist()])

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        X_target: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Refuse: weights of target rows need their labels, which nobody knows.

        Without a target all weights are one, and score zero.
        """
        check_is_fitted(self, "weights_")
        estimator_matrix(self, X, reset=False)
        if not self.has_target_:
            return 0.0
        raise InvalidInputError(
            "PartialWeights has no score: its weights are a function of y, which "
            "target rows do not have; guard_ tells how sure its classifier is"
        )

    def _check_parameters(self) -> None:
        check_parameters(self, self._rules)
        check_choice("method", self.method, METHODS_OF_CLASSES)
        for name in ("with_target", "guard"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidTypeError(
                    f"{name} must be True or False, got {getattr(self, name)!r}"
                )
        if self.classifier is not None and not hasattr(self.classifier, "fit"):
            raise InvalidTypeError(
                f"classifier must be a classifier, got {self.classifier!r}"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


# -----------------------------------------------------------------------------
# A user's classifier, fitted for a target that has some of the classes.
# -----------------------------------------------------------------------------


def fit_partial_weights(
    weight_estimator: PartialWeights,
    samples: Samples,
    estimator: Estimator,
    y: ArrayLike,
    counts: Array | None,
    seed: int,
) -> PartialWeights:
    """Return the fitted weight estimator (with its own or the user's classifier).

    Parameters
    ----------
    weight estimator : PartialWeights
    samples : SamplesAsRead
    estimator : classifier
        Asked where the weight estimator has no classifier and it has `predict_proba`.
    y : array of shape (n,)
    counts : array of shape (n,) or None
        The user's weights.
    seed : int
    """
    if get_tags(estimator).estimator_type == "regressor":
        raise InvalidTypeError(
            f"weight_estimator='partial' is for classifiers, "
            f"{type(estimator).__name__} is a "
            "regressor"
        )
    weight_estimator._check_parameters()
    labels = as_classes(y, samples.source_weight.size)
    classifier: Any = weight_estimator.classifier
    if classifier is None and hasattr(estimator, "predict_proba"):
        classifier = estimator
    weight_estimator.n_features_in_ = samples.source.shape[1]
    return weight_estimator._fit_rows(
        classifier,
        samples.given or (samples.source, samples.target),
        samples.source,
        samples.target,
        labels,
        np.ones(labels.size) if counts is None else counts,
        seed,
    )


def fit_to_present(
    estimator: Estimator,
    X: object,
    y: ArrayLike,
    kept: Indices,
    weight_estimator: PartialWeights,
    counts: Array | None,
    X_target: object,
) -> Any:
    """Return the estimator, fitted to rows of the classes that are present.

    Rows of absent classes are left out, so that no `sample_weight` is needed where the
    others weigh alike. Where the weight estimator says so, the target rows join them,
    labeled by the selection, each of the mean weight of the source rows.

    Parameters
    ----------
    estimator : classifier
    X, y : the source rows and their labels
    kept : array of int
        Source rows that the estimator may see.
    weight estimator : PartialWeights
    counts : array of shape (n,) or None
        The user's weights.
    X_target : the target rows as they were given
    """
    weights = (
        weight_estimator.weights_
        if counts is None
        else weight_estimator.weights_ * counts
    )
    rows = kept[weights[kept] > 0.0]
    labels = np.asarray(y)[rows]
    if np.unique(labels).size < 2:
        raise InvalidInputError(
            f"one class is left, {labels[:1].tolist()[0]!r}: a classifier needs two; "
            "PartialWeights(guard=True) would leave the rows unweighted"
        )
    part, weight = rows_of(X, rows), weights[rows]
    if weight_estimator.with_target:
        part = stacked(part, X_target)
        labels = np.concatenate([labels, weight_estimator.labels_.astype(labels.dtype)])
        weight = np.append(
            weight, np.full(weight_estimator.labels_.size, weight.mean())
        )
    given = None if np.ptp(weight) <= 1e-12 * weight.max() else weight
    return fit_weighted(estimator, part, labels, given)


def over_all_classes(
    probabilities: Array, classes: Labels, every: Labels | None
) -> Array:
    """Return probabilities over all classes, none for those that a model has not."""
    if every is None or len(classes) == len(every):
        return probabilities
    out = np.zeros((len(probabilities), len(every)))
    out[:, np.searchsorted(every, classes)] = probabilities
    return out


def values_over_all_classes(
    values: Array, classes: Labels, every: Labels | None
) -> Array:
    """Return decision values over all classes, the absent ones one below a row's least.

    Of two classes that are left the second's values are its own, the first's their
    negatives.
    """
    if every is None or len(classes) == len(every):
        return values
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    least = values.min(axis=1, keepdims=True) - 1.0
    out: Array = np.repeat(least, len(every), axis=1)
    out[:, np.searchsorted(every, classes)] = values
    return out


def stacked(X: Any, X_target: object) -> Any:
    """Return rows of source and target in one table of the source's kind."""
    pieces = X_target if isinstance(X_target, tuple) else (X_target,)
    kind = type(X).__module__.partition(".")[0]
    if kind in ("pandas", "polars"):
        package = import_module(kind)
        names = {"columns" if kind == "pandas" else "schema": X.columns}
        how: dict[str, Any] = {"ignore_index": True}
        if kind == "polars":
            how = {"how": "vertical_relaxed"}
        named = [
            one if hasattr(one, "columns") else package.DataFrame(one, **names)
            for one in pieces
        ]
        return package.concat([X, *named], **how)
    if sparse.issparse(X) or any(map(sparse.issparse, pieces)):
        return sparse.vstack([X, *pieces], format="csr")
    return np.vstack([np.asarray(X), *(np.asarray(one) for one in pieces)])
