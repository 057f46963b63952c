"""Sparse subset selection: exemplars of a data set."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import (
    as_column,
    as_matrix,
    check_same_columns,
    estimator_matrix,
)
from counterpoise.data.labels_and_weights import as_weights, row_counts
from counterpoise.data.parallel import current_budget
from counterpoise.data.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    SolverChoice,
    check_number,
    check_parameters,
    resolve_solver,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    estimator_errors,
    warn_user,
)
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.assignment.problem import (
    SparseAssignment,
    SparseMatrix,
)
from counterpoise.optim.assignment.published import SlackADMM
from counterpoise.optim.assignment.selection_problem import SelectionProblem
from counterpoise.optim.assignment.solvers import AssignmentConic, ProximalADMM, Trail
from counterpoise.optim.loop import Progress, Solution, Solver
from counterpoise.optim.registry import solver_classes

# -----------------------------------------------------------------------------
# Validation: dissimilarities, the graph, candidates.
# -----------------------------------------------------------------------------


# Arrays of items by words that a fit holds at once.
ARRAYS_HELD = 8
# Entries that mirror each other may differ by this share of the largest.
SYMMETRIC = 1e-10

Dissimilarity = str | Callable[[Array, Array], float]


def dissimilarities(X: Array, words: Array, dissimilarity: Dissimilarity) -> Array:
    """Return how unlike items and words are, of shape (n, l)."""
    from sklearn.metrics import pairwise_distances

    check_size(len(X), len(words))
    # Another array, or scikit-learn takes a function to be symmetric.
    words = words.copy()
    if callable(dissimilarity):
        R = np.asarray(pairwise_distances(X, words, metric=dissimilarity), dtype=float)
    else:
        try:
            with estimator_errors():
                R = np.asarray(pairwise_distances(X, words, metric=dissimilarity))
        except (InvalidInputError, InvalidTypeError) as error:
            raise type(error)(f"dissimilarity={dissimilarity!r}: {error}") from error
    return checked_dissimilarities(R, "the dissimilarity")


def checked_dissimilarities(R: Array, name: str) -> Array:
    """Return dissimilarities, finite; negative ones with a warning."""
    R = np.ascontiguousarray(R, dtype=float)
    wrong = ~np.isfinite(R)
    if wrong.any():
        i, j = (int(k[0]) for k in np.nonzero(wrong))
        raise InvalidInputError(
            f"{name} of item {i} and word {j} is {R[i, j]}: it must be a finite number"
        )
    negative = R < 0.0
    if negative.any():
        i, j = (int(k[0]) for k in np.nonzero(negative))
        warn_user(
            f"{name} of item {i} and word {j} is {R[i, j]:g}, below zero: are these "
            "similarities? The least dissimilar word is taken as the best"
        )
    return R


def check_size(n: int, words: int) -> None:
    """Refuse more items by words than the memory budget holds."""
    needed = 8 * ARRAYS_HELD * n * words
    if needed > current_budget():
        raise InvalidInputError(
            f"{n} items by {words} words take {needed / 2**30:.1f} GiB, above the "
            f"budget of {current_budget() / 2**30:.1f} GiB: give fewer candidates as "
            "`candidates`, or raise counterpoise.data.memory_budget"
        )


def as_laplacian(graph: ArrayLike | SparseMatrix | None, n: int) -> SparseMatrix:
    """Return the Laplacian diag(W 1) - W of a graph's weights W, or None.

    Parameters
    ----------
    graph : matrix of shape (n, n), dense or sparse, or None
        Symmetric, not negative, zero on the diagonal.
    n : int
        The number of items.
    """
    if graph is None:
        return None
    W = sparse.csr_array(as_matrix(graph, name="graph", accept_sparse=True))
    if W.shape != (n, n):
        raise InvalidInputError(f"graph must have shape ({n}, {n}), got {W.shape}")
    W.eliminate_zeros()
    entries = W.tocoo()
    beside = entries.row != entries.col
    negative = (entries.data < 0.0) & beside
    if negative.any():
        k = int(np.flatnonzero(negative)[0])
        i, j = int(entries.row[k]), int(entries.col[k])
        is_laplacian = abs(W.sum(axis=1)).max() <= 1e-8 * abs(entries.data).max()
        told = ": this looks like a Laplacian, give the weights" if is_laplacian else ""
        raise InvalidInputError(
            "graph must be symmetric with non-negative weights, got "
            f"{entries.data[k]:g} in row {i}, column {j}{told}"
        )
    if not beside.all():
        k = int(np.flatnonzero(~beside)[0])
        raise InvalidInputError(
            f"graph must have a zero diagonal, got {entries.data[k]:g} in row "
            f"{int(entries.row[k])}"
        )
    apart = (W - W.T).tocoo()
    largest = float(entries.data.max()) if entries.nnz else 0.0
    if apart.nnz and abs(apart.data).max() > SYMMETRIC * largest:
        k = int(abs(apart.data).argmax())
        i, j = int(apart.row[k]), int(apart.col[k])
        raise InvalidInputError(
            "graph must be symmetric with non-negative weights, got "
            f"{W[i, j]:g} in row {i}, column {j} and {W[j, i]:g} in row {j}, column {i}"
        )
    W = 0.5 * (W + W.T)
    return sparse.csc_array(sparse.diags_array(W.sum(axis=1)) - W)


def as_shares(weights: Array) -> Array:
    """Return weights divided by their sum, which may be beyond the largest number."""
    weights = weights / weights.max()
    return weights / weights.sum()


def as_word_numbers(given: ArrayLike | None, n_words: int, name: str) -> Indices:
    """Return numbers of words, each once, ascending; none where None is given."""
    if given is None:
        return np.zeros(0, dtype=np.intp)
    values = np.atleast_1d(np.asarray(given))
    if values.size == 0:
        return np.zeros(0, dtype=np.intp)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InvalidTypeError(
            f"{name} must be indices of words, got an array of {values.dtype} and "
            f"shape {values.shape}"
        )
    outside = (values < 0) | (values >= n_words)
    if outside.any():
        raise InvalidInputError(
            f"{name} must be indices from 0 to {n_words - 1}, got {values[outside][0]}"
        )
    return np.unique(values).astype(np.intp)


def as_word_costs(given: ArrayLike | None, n_words: int) -> Array:
    """Return what words cost, not negative; ones where None is given."""
    if given is None:
        return np.ones(n_words)
    if np.ndim(given) == 0:
        raise InvalidTypeError(
            f"candidate_costs must have one entry a word, got {given!r}"
        )
    values = as_column(given, name="candidate_costs")
    if values.shape == (n_words,) and not values.any():
        return values
    return as_weights(values, n_words, name="candidate_costs", of="the list of words")


def as_words(
    words: ArrayLike, X: ArrayLike, items: Array, name: str = "candidates"
) -> Array:
    """Return the candidates as a matrix with the columns of the items."""
    read = as_matrix(words, name=name)
    check_same_columns(X, words, name=name)
    if read.shape[1] != items.shape[1]:
        raise InvalidInputError(
            f"{name} has {read.shape[1]} columns, X has {items.shape[1]}"
        )
    return read


# -----------------------------------------------------------------------------
# Solvers, and active candidates.
# -----------------------------------------------------------------------------


# The largest entry of a column from which a word is active.
ACTIVE_ABOVE = 1e-3

SOLVER_NAMES = ("auto", "proximal-admm", "slack-admm", "original", "conic")
ASSIGNMENT_SOLVER_CHOICE = SolverChoice(SOLVER_NAMES, solver_classes("assignment"))


def assignment_solver(name: str, max_time: float | None = None) -> Solver:
    """Return the solver of a name."""
    if name in ("auto", "proximal-admm"):
        return ProximalADMM()
    if name == "conic":
        return AssignmentConic(max_seconds=math.inf if max_time is None else max_time)
    return SlackADMM("closed" if name == "slack-admm" else "kkt")


def active_words(assignment: Array, n_words: int) -> NDArray[np.bool_]:
    """Return which of the words proper have an entry above 1e-3."""
    return assignment[:, :n_words].max(axis=0) > ACTIVE_ABOVE


# -----------------------------------------------------------------------------
# Paths over sparsities, each assignment from the one before.
# -----------------------------------------------------------------------------


# Sparsities of a path where none are given.
DEFAULT_SPARSITIES = np.geomspace(0.01, 1.0, 12)


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """What a selector finds over ascending sparsities.

    Attributes
    ----------
    sparsities, lambdas : arrays of shape (s,)
        Shares of the penalty at which one word is best, and the penalties.
    assignments : array of shape (s, n, l), or (s, n, l + 1) with the outlier word
    labels : array of shape (s, n)
        Every item's word, by its number; the outlier word's is l.
    active : array of bool of shape (s, l)
        Words with an entry above 1e-3, and those of `must_include`.
    enters : array of shape (l,)
        The largest sparsity at which a word is active; nan: at none.
    solutions : tuple of Solution
    """

    sparsities: Array
    lambdas: Array
    assignments: Array
    labels: Indices
    active: NDArray[np.bool_]
    enters: Array
    solutions: tuple[Solution, ...]
    selector: "SubsetSelector" = field(repr=False)

    def at(self, sparsity: float) -> "SubsetSelector":
        """Return the fitted selector at a sparsity, solved anew if it is none of these.

        Parameters
        ----------
        sparsity : float
        """
        sparsity = check_number("sparsity", sparsity, low=0.0)
        near = np.flatnonzero(np.isclose(self.sparsities, sparsity, rtol=1e-12, atol=0))
        if not near.size:
            return self.selector.path([sparsity]).at(sparsity)
        out = copy.copy(self.selector)
        out.set_params(sparsity=float(sparsity), penalty=None)
        one = out.problem_.one_word
        out.lambda_max_, out.lambda_max_bounds_ = one.low, (one.low, one.high)
        out._set_solution(float(sparsity) * one.low, self.solutions[int(near[0])])
        return out


# -----------------------------------------------------------------------------
# The estimator.
# -----------------------------------------------------------------------------


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
    solver : str or Solver, default="auto"
        "auto" is "proximal-admm"; "original" is the published ADMM with its KKT system,
        "slack-admm" the same with its step in closed form (both for the max norm),
        "conic" Clarabel. A solver object of `counterpoise.optim` has settings of its
        own, such as ``SlackADMM("kkt", mu=0.01)`` with the published method's
        :math:`\mu`, in units of :math:`p_i R_{ij}`.
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
    `counterpoise.optim.assignment.problem.SparseAssignment`; its scale is the
    objective less
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
        "solver": ASSIGNMENT_SOLVER_CHOICE,
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
        solver: str | Solver = "auto",
        tol: float = 1e-4,
        max_iter: int = 20_000,
        max_time: float | None = None,
        callback: Callable[[Progress], object] | None = None,
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
        X: ArrayLike,
        y: object = None,
        *,
        candidates: ArrayLike | None = None,
        graph: ArrayLike | SparseMatrix | None = None,
        sample_weight: ArrayLike | None = None,
        candidate_costs: ArrayLike | None = None,
        must_include: ArrayLike | None = None,
        must_exclude: ArrayLike | None = None,
    ) -> Self:
        """Assign the items to few words.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or (n, l) if precomputed
        y : None
            Not used.
        candidates : array-like or frame of shape (l, d), optional
            The candidates; None: the items of positive weight, numbered as rows.
        graph : matrix of shape (n, n), dense or sparse, optional
            Weights of edges between items: symmetric, not negative, zero diagonal.
        sample_weight : array of shape (n,), optional
            What the items count; only their ratios matter.
        candidate_costs : array of shape (l,), optional
            What :math:`\\lambda` is multiplied by, word by word.
        must_include, must_exclude : arrays of int, optional
            Words that cost no penalty, and words that are no candidates.
        """
        self._check()
        problem, points = self._pose(
            X,
            candidates,
            graph,
            sample_weight,
            candidate_costs,
            must_include,
            must_exclude,
        )
        self.words_ = points
        self.problem_ = problem
        self.must_include_ = as_word_numbers(
            must_include, problem.dissimilarities.shape[1], "must_include"
        )
        if self.penalty is None:
            one = problem.one_word
            self.lambda_max_bounds_: tuple[float, float] = (one.low, one.high)
            self.lambda_max_ = one.low
            penalty = float(self.sparsity) * one.low
        else:
            self.lambda_max_bounds_ = (np.nan, np.nan)
            self.lambda_max_, penalty = np.nan, float(self.penalty)
        solution = problem.solved(
            penalty,
            self._select_solver,
            float(self.tol),
            max_iter=self.max_iter,
            max_time=self.max_time,
            callback=self.callback,
        )
        self._set_solution(penalty, solution)
        self._warn()
        return self

    def predict(self, X: ArrayLike) -> Indices:
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

    def path(self, sparsities: ArrayLike | None = None) -> SelectionPath:
        """Return the assignments over a range of sparsities, each from the one before.

        Parameters
        ----------
        sparsities : sequence of float, optional
            At least 0; None: twelve from 0.01 to 1, evenly in their logarithm.
        """
        check_is_fitted(self, "selected_")
        wanted = DEFAULT_SPARSITIES
        if sparsities is not None:
            wanted = np.unique(as_column(sparsities, name="sparsities"))
            if wanted.size == 0:
                raise InvalidInputError("sparsities is empty: at least one is needed")
            check_number("sparsities", float(wanted[0]), low=0.0)
        problem: SelectionProblem = self.problem_
        lambdas = wanted * problem.one_word.low
        trail = Trail()
        solutions = tuple(
            problem.solved(
                float(penalty),
                self._select_solver,
                float(self.tol),
                max_iter=self.max_iter,
                max_time=self.max_time,
                callback=self.callback,
                trail=trail,
            )
            for penalty in lambdas
        )
        short = [k for k, one in enumerate(solutions) if not one.converged]
        if short:
            warn_user(
                f"SubsetSelector.path: {len(short)} of {len(solutions)} sparsities are "
                f"not proved to tol; at {wanted[short[0]]:g}: {solutions[short[0]]}",
                ConvergenceWarning,
            )
        candidates = problem.dissimilarities.shape[1]
        assignments = np.stack(
            [one.x.reshape(len(problem.mass), problem.n_columns) for one in solutions]
        )
        active = np.stack([active_words(one, candidates) for one in assignments])
        active[:, self.must_include_] = True
        last = active.shape[0] - 1 - np.argmax(active[::-1], axis=0)
        return SelectionPath(
            wanted,
            lambdas,
            assignments,
            assignments.argmax(axis=2),
            active,
            np.where(active.any(axis=0), wanted[last], np.nan),
            solutions,
            # Another fit of the selector does not change what was found.
            copy.copy(self),
        )

    def _check(self) -> None:
        check_parameters(self, self._rules)
        if not (isinstance(self.dissimilarity, str) or callable(self.dissimilarity)):
            raise InvalidTypeError(
                "dissimilarity must be the name of a metric or a function, got "
                f"{self.dissimilarity!r}"
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidTypeError(f"callback must be callable, got {self.callback!r}")
        is_slack = self.solver in ("slack-admm", "original")
        if self.norm != "max" and (is_slack or isinstance(self.solver, SlackADMM)):
            raise InvalidInputError(
                f"solver={self.solver!r} is for norm='max', got norm={self.norm!r}: "
                "take 'proximal-admm' or 'conic'"
            )

    def _select_solver(self, problem: SparseAssignment) -> Solver:
        return resolve_solver(
            "solver",
            self.solver,
            ASSIGNMENT_SOLVER_CHOICE,
            lambda name: assignment_solver(name, self.max_time),
            problem,
        )

    def _pose(
        self,
        X: ArrayLike,
        words: ArrayLike | None,
        graph: ArrayLike | SparseMatrix | None,
        sample_weight: ArrayLike | None,
        candidate_costs: ArrayLike | None,
        must_include: ArrayLike | None,
        must_exclude: ArrayLike | None,
    ) -> tuple[SelectionProblem, Array | None]:
        """Return the problem, and the candidates as rows."""
        items = estimator_matrix(self, X, reset=True)
        n = len(items)
        weights = row_counts(sample_weight, n)
        points: Array | None = None
        if isinstance(self.dissimilarity, str) and self.dissimilarity == "precomputed":
            if words is not None:
                raise InvalidInputError(
                    "candidates must be None where dissimilarities are given"
                )
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
            raise InvalidInputError(
                f"word {both[0]} is both in must_include and in must_exclude"
            )
        candidates = np.setdiff1d(np.arange(count), excluded)
        if points is items:
            candidates = candidates[(weights > 0.0)[candidates]]
            without = np.setdiff1d(included, candidates)
            if without.size:
                raise InvalidInputError(
                    f"must_include has item {without[0]}, whose sample_weight is zero"
                )
        if candidates.size == 0:
            raise InvalidInputError("must_exclude leaves no word")
        factors = as_word_costs(candidate_costs, count).copy()
        factors[included] = 0.0
        problem = SelectionProblem(
            R,
            as_shares(weights),
            as_laplacian(graph, n),
            float(self.smoothness) / n,
            self.norm,  # type: ignore[arg-type]
            factors,
            candidates,
            None if self.outlier_cost is None else float(self.outlier_cost),
        )
        return problem, points

    def _set_solution(self, penalty: float, solution: Solution) -> None:
        """Set the fitted attributes of a solution."""
        problem: SelectionProblem = self.problem_
        words = problem.dissimilarities.shape[1]
        self.lambda_, self.gamma_ = penalty, problem.gamma
        self.solution_ = solution
        self.assignment_ = solution.x.reshape(len(problem.mass), problem.n_columns)
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
        problem: SelectionProblem = self.problem_
        merged = np.unique(self.labels_).size == 1 and len(self.labels_) > 1
        light = self.lambda_ < MERGED_BELOW * self.lambda_max_
        if problem.is_smoothed and merged and light:
            warn_user(
                f"one label is left at a sparsity of {self.sparsity:g}: smoothness "
                f"{self.smoothness:g} merges all items; lower it, or the sparsity, to "
                "keep more"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags
