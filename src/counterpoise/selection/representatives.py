"""A few words that stand for all items, found by one convex problem."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Solution
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.selection.path import SelectionPath, follow_sparsity
from counterpoise.selection.posed import PosedSelection, active_words
from counterpoise.selection.reading import (
    Dissimilarity,
    as_laplacian,
    as_shares,
    as_word_costs,
    as_word_numbers,
    as_words,
    check_size,
    checked_dissimilarities,
    dissimilarities,
)
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    estimator_matrix,
    row_counts,
    warn_user,
)
from counterpoise.validation.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    check_parameters,
)

SOLVER_NAMES = ("auto", "proximal-admm", "slack-admm", "original", "conic")
# A graph that leaves one label below this sparsity is said to merge all.
MERGED_BELOW = 0.5


class SubsetSelector(ClusterMixin, BaseEstimator):
    r"""Few words (candidates) that stand for all items, with a proof.

    .. math::

        \min_U \sum_i p_i \langle R_i, U_i \rangle + \gamma \, \mathrm{tr}(U'LU)
        + \sum_j \lambda_j \Omega(U_{\cdot j}), \qquad U \ge 0, \; U 1 = 1

    over assignments U of n items (rows) to l words (columns). :math:`R_{ij}` is the
    dissimilarity of item i and word j, p the items' shares of the weight,
    :math:`\gamma` = `smoothness` / n, L the Laplacian of a graph of the items, and
    :math:`\Omega` the largest entry or the Euclidean norm of a column, which is what
    leaves words out: how many are needed is found, not given.

    Parameters
    ----------
    dissimilarity : str or callable
        A metric of `sklearn.metrics.pairwise_distances`, a function of an item and a
        word, or "precomputed": `fit` is given R itself, which need be neither square
        nor symmetric.
    sparsity : float
        :math:`\lambda` in units of `lambda_max_`, from which on one word is best. At
        least 0; above 1 there is one word.
    smoothness : float
        Of the assignment over the graph; :math:`\gamma` is this divided by n, so that
        one value serves all n.
    penalty : float or None
        :math:`\lambda` itself, in place of `sparsity`; then `lambda_max_` is nan.
    norm : {"max", "euclidean"}
        :math:`\Omega`.
    outlier_cost : float or None
        Dissimilarity to all items of one more word, the last, whose :math:`\lambda` is
        zero: items that no word is near to are outliers.
    solver : {"auto", "proximal-admm", "slack-admm", "original", "conic"}
        "auto" is "proximal-admm"; "original" is the published ADMM with its KKT system,
        "slack-admm" the same with its step in closed form (both for the max norm),
        "conic" Clarabel.
    tol : float
        The gap to prove, in units of the objective above the items' least costs.
    max_iter : int
        Largest number of iterations, rounded up to steps of twenty.
    max_time : float or None
        Seconds after which no further step begins.
    callback : callable or None
        Called with the `Progress` after every step; True ends the search.

    Attributes
    ----------
    assignment_ : array of shape (n, l), or (n, l + 1) with the outlier word
        U; rows add up to one.
    selected_ : array of shape (k,)
        Words that are some item's largest entry, ascending.
    labels_ : array of shape (n,)
        Every item's word, by its place in `selected_`; -1: an outlier. Of equal
        entries the first counts.
    active_ : array of int
        Words with an entry above 1e-3, and those of `must_include`.
    lambda_max_ : float
        The least :math:`\lambda` at which one word is optimal, were all candidates to
        cost one and none the outlier; exact up to n l = 50,000 (and always for the
        Euclidean norm), beyond that a lower bound.
    lambda_max_bounds_ : tuple of float
        Proved bounds of it, equal where it is exact.
    lambda_, gamma_ : float
    words_ : array of shape (l, d)
        The candidates; None where R was given.
    solution_ : Solution
        `.x` is `assignment_.ravel()`; its certificate bounds the sum above.
    n_iter_ : int
        Iterations; zero where there was a closed form.

    Notes
    -----
    The certificate's bound comes from prices of taking a word, see
    `counterpoise.convex.assignment.SparseAssignment`; its scale is the objective less
    :math:`\sum_i p_i \min_j R_{ij}`. :math:`\lambda_{\max}` depends neither on the
    graph nor on :math:`\gamma`; the closed form :math:`\max_j \|a_j\|_1/2` that is
    usually quoted for it is no bound.

    Words of equal dissimilarities are one word where there is no graph: the first of
    the cheapest. With a graph, shares of several such words are cheaper than one.

    References
    ----------
    Zohrizadeh (2019), chapter 2, with the sign of the projection's step put right;
    Elhamifar, Sapiro and Sastry (2016).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> selector = SubsetSelector(sparsity=0.1).fit(X)
    >>> selector.selected_, selector.labels_, selector.solution_.converged
    (array([1, 3]), array([0, 0, 0, 1, 1]), True)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "sparsity": Number(0.0),
        "smoothness": Number(0.0),
        "penalty": Number(0.0, options=(None,)),
        "norm": Choice(("max", "euclidean")),
        "outlier_cost": Number(options=(None,)),
        "solver": Choice(SOLVER_NAMES),
        "tol": Number(0.0, closed="neither"),
        "max_iter": Integer(1),
        "max_time": Number(0.0, options=(None,)),
    }

    def __init__(
        self,
        dissimilarity: Dissimilarity = "sqeuclidean",
        sparsity: float = 0.1,
        smoothness: float = 0.0,
        *,
        penalty: float | None = None,
        norm: str = "max",
        outlier_cost: float | None = None,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 20_000,
        max_time: float | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.dissimilarity = dissimilarity
        self.sparsity = sparsity
        self.smoothness = smoothness
        self.penalty = penalty
        self.norm = norm
        self.outlier_cost = outlier_cost
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        words: Any = None,
        graph: Any = None,
        sample_weight: Any = None,
        word_costs: Any = None,
        must_include: Any = None,
        must_exclude: Any = None,
    ) -> Self:
        """Assign the items to few words.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or (n, l) if precomputed
        y : None
            Not used.
        words : array-like or frame of shape (l, d), optional
            The candidates; None: the items of positive weight, numbered as rows.
        graph : matrix of shape (n, n), dense or sparse, optional
            Weights of edges between items: symmetric, not negative, zero diagonal.
        sample_weight : array of shape (n,), optional
            What the items count; only their ratios matter.
        word_costs : array of shape (l,), optional
            What :math:`\\lambda` is multiplied by, word by word.
        must_include, must_exclude : arrays of int, optional
            Words that cost no penalty, and words that are no candidates.
        """
        self._check()
        posed, points = self._pose(
            X, words, graph, sample_weight, word_costs, must_include, must_exclude
        )
        self.words_ = points
        self.posed_ = posed
        self.must_include_ = as_word_numbers(
            must_include, posed.dissimilarities.shape[1], "must_include"
        )
        if self.penalty is None:
            one = posed.one_word
            self.lambda_max_bounds_: tuple[float, float] = (one.low, one.high)
            self.lambda_max_ = one.low
            penalty = float(self.sparsity) * one.low
        else:
            self.lambda_max_bounds_ = (np.nan, np.nan)
            self.lambda_max_, penalty = np.nan, float(self.penalty)
        solution = posed.solved(
            penalty,
            self.solver,
            float(self.tol),
            max_iter=self.max_iter,
            max_time=self.max_time,
            callback=self.callback,
        )
        self._report(penalty, solution)
        self._warn()
        return self

    def predict(self, X: Any) -> Indices:
        """Return the nearest of the selected words, by its place in `selected_`.

        Parameters
        ----------
        X : matrix of shape (k, d), or (k, l) if precomputed

        Returns
        -------
        array of shape (k,)
            -1: the outlier word is nearer, or no word was selected.
        """
        check_is_fitted(self, "selected_")
        X = estimator_matrix(self, X, reset=False)
        out = np.full(len(X), -1, dtype=np.intp)
        if self.selected_.size == 0:
            return out
        if self.words_ is None:
            R = X[:, self.selected_]
        else:
            R = dissimilarities(X, self.words_[self.selected_], self.dissimilarity)
        out[:] = R.argmin(axis=1)
        if self.outlier_cost is not None:
            out[R.min(axis=1) > self.outlier_cost] = -1
        return out

    def path(self, sparsities: Any = None) -> SelectionPath:
        """Return the assignments over a range of sparsities, each from the one before.

        Parameters
        ----------
        sparsities : sequence of float, optional
            At least 0; None: twelve from 0.01 to 1, evenly in their logarithm.
        """
        check_is_fitted(self, "selected_")
        return follow_sparsity(self, sparsities)

    def _check(self) -> None:
        check_parameters(self, self._rules)
        if not (isinstance(self.dissimilarity, str) or callable(self.dissimilarity)):
            raise InvalidType(
                "dissimilarity must be the name of a metric or a function, got "
                f"{self.dissimilarity!r}"
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(f"callback must be callable, got {self.callback!r}")
        if self.norm != "max" and self.solver in ("slack-admm", "original"):
            raise InvalidInput(
                f"solver={self.solver!r} is for norm='max', got norm={self.norm!r}: "
                "take 'proximal-admm' or 'conic'"
            )

    def _pose(
        self,
        X: Any,
        words: Any,
        graph: Any,
        sample_weight: Any,
        word_costs: Any,
        must_include: Any,
        must_exclude: Any,
    ) -> tuple[PosedSelection, Array | None]:
        """Return the problem, and the candidates as rows."""
        items = estimator_matrix(self, X, reset=True)
        n = len(items)
        weights = row_counts(sample_weight, n)
        points: Array | None = None
        if isinstance(self.dissimilarity, str) and self.dissimilarity == "precomputed":
            if words is not None:
                raise InvalidInput("words must be None where dissimilarities are given")
            check_size(*items.shape)
            R = checked_dissimilarities(items, "the dissimilarity")
        else:
            points = items if words is None else as_words(words, X, items)
            R = dissimilarities(items, points, self.dissimilarity)
        count = R.shape[1]
        included = as_word_numbers(must_include, count, "must_include")
        excluded = as_word_numbers(must_exclude, count, "must_exclude")
        both = np.intersect1d(included, excluded)
        if both.size:
            raise InvalidInput(
                f"word {both[0]} is both in must_include and in must_exclude"
            )
        candidates = np.setdiff1d(np.arange(count), excluded)
        if points is items:
            candidates = candidates[(weights > 0.0)[candidates]]
            without = np.setdiff1d(included, candidates)
            if without.size:
                raise InvalidInput(
                    f"must_include has item {without[0]}, whose sample_weight is zero"
                )
        if candidates.size == 0:
            raise InvalidInput("must_exclude leaves no word")
        factors = as_word_costs(word_costs, count).copy()
        factors[included] = 0.0
        posed = PosedSelection(
            R,
            as_shares(weights),
            as_laplacian(graph, n),
            float(self.smoothness) / n,
            self.norm,  # type: ignore[arg-type]
            factors,
            candidates,
            None if self.outlier_cost is None else float(self.outlier_cost),
        )
        return posed, points

    def _report(self, penalty: float, solution: Solution) -> None:
        """Set what is read off a solution."""
        posed: PosedSelection = self.posed_
        words = posed.dissimilarities.shape[1]
        self.lambda_, self.gamma_ = penalty, posed.gamma
        self.solution_ = solution
        self.assignment_ = solution.x.reshape(len(posed.mass), posed.n_columns)
        taken = self.assignment_.argmax(axis=1)
        self.selected_ = np.unique(taken[taken < words])
        self.labels_ = np.where(
            taken < words, np.searchsorted(self.selected_, taken), -1
        )
        self.active_ = np.union1d(
            np.flatnonzero(active_words(self.assignment_, words)), self.must_include_
        )
        counts = solution.history[-1].counts if solution.history else {}
        self.n_iter_ = int(counts.get("iterations", solution.n_iter))

    def _warn(self) -> None:
        """Say what is not proved, and where the graph merges everything."""
        if not self.solution_.converged:
            warn_user(f"SubsetSelector: {self.solution_}", ConvergenceWarning)
            return
        posed: PosedSelection = self.posed_
        merged = np.unique(self.labels_).size == 1 and len(self.labels_) > 1
        light = self.lambda_ < MERGED_BELOW * self.lambda_max_
        if posed.is_smoothed and merged and light:
            warn_user(
                f"one label is left at a sparsity of {self.sparsity:g}: smoothness "
                f"{self.smoothness:g} merges all items; lower it, or the sparsity, to "
                "keep more"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags
