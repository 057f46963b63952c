"""Max-min distance analysis: discriminant subspaces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.decomposition import KernelPCA
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.parameters import (
    SolverChoice,
    as_random,
    check_choice,
    check_integer,
    check_number,
    check_solver,
    resolve_solver,
)
from counterpoise.errors import InvalidInputError, warn_user
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import polar
from counterpoise.optim.loop import Progress, Solution, Solver, certified, solve
from counterpoise.optim.stiefel.certificates import fantope_point
from counterpoise.optim.stiefel.problem import OrthogonalProblem, RankOneForms
from counterpoise.optim.stiefel.relaxations import Relaxation
from counterpoise.optim.stiefel.solvers import (
    MajorizeMinimize,
    SequentialRelaxation,
    SoftminPolar,
    orthogonal_solver,
)
from counterpoise.subspaces.orthogonal import (
    check_search_parameters,
    warn_if_not_converged,
)

# -----------------------------------------------------------------------------
# Class means, whitened by the covariance within classes.
# -----------------------------------------------------------------------------


# Directions whose spread within classes is below this share of the largest have none.
NO_SPREAD = 1e-10
# Means that are nearer than this share of the furthest pair coincide.
COINCIDE = 1e-12


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Means of classes after whitening by the covariance within classes.

    Attributes
    ----------
    classes : array of shape (c,)
    shares : array of shape (c,)
        Of the rows.
    mean : array of shape (d,)
        Of all rows.
    whitener : array of shape (d, r)
        W with W' S_w W = I, on the directions that have spread.
    means : array of shape (c, r)
        Class means after whitening.
    """

    classes: NDArray[np.generic]
    shares: Array
    mean: Array
    whitener: Array
    means: Array

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs of classes, each once."""
        return np.triu_indices(len(self.classes), 1)

    @property
    def differences(self) -> Array:
        """Differences of the means of every pair."""
        first, second = self.pairs
        return self.means[first] - self.means[second]

    @property
    def between(self) -> Array:
        """The covariance between classes, after whitening."""
        centered = self.means - self.shares @ self.means
        return (centered.T * self.shares) @ centered

    def span(self) -> Array:
        """Return an orthonormal basis of what the means differ in, largest first."""
        _, values, right = np.linalg.svd(self.differences, full_matrices=False)
        rank = int((values > 1e-9 * max(float(values[0]), 1e-300)).sum())
        return right[:rank].T


def class_means(
    X: Array, y: NDArray[np.generic], shrinkage: float, who: str, least: int
) -> ClassMeans:
    """Return the class means of a sample, or refuse one that has no spread.

    Parameters
    ----------
    X, y : arrays
        Rows and their classes.
    shrinkage : float
        What is added to the covariance within classes, as a multiple of its mean
        variance.
    who : str
        What warnings call the estimator.
    least : int
        The number of directions that must have spread.
    """
    classes, at = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has 1 class, {classes[0]!r}: two are needed to separate them"
        )
    n, d = X.shape
    counts = np.bincount(at)
    means = np.zeros((len(classes), d))
    np.add.at(means, at, X)
    means /= counts[:, None]
    rest = X - means[at]
    within = rest.T @ rest / n
    within.flat[:: d + 1] += shrinkage * float(np.trace(within)) / d
    values, vectors = np.linalg.eigh(within)
    kept = values > NO_SPREAD * max(float(values[-1]), 1e-300)
    if not values[-1] > 0.0 or kept.sum() < least:
        raise InvalidInputError(
            f"{who} needs {least} directions in which rows of one class differ, X has "
            f"{int(kept.sum()) if values[-1] > 0.0 else 0}: give more rows, or a "
            "shrinkage"
        )
    if not kept.all():
        warn_user(
            f"{who}: {int((~kept).sum())} of {d} directions have no spread within "
            "classes and are left out; a shrinkage keeps them"
        )
    whitener = vectors[:, kept] / np.sqrt(values[kept])
    center = X.mean(axis=0)
    return ClassMeans(
        classes, counts / n, center, whitener, (means - center) @ whitener
    )


def coinciding(means: ClassMeans, who: str) -> NDArray[np.bool_]:
    """Return which pairs of classes have the same mean, and warn of them by name."""
    squares = (means.differences**2).sum(axis=1)
    same = squares <= COINCIDE * max(float(squares.max()), 1e-300)
    if same.any():
        first, second = (part[same][0] for part in means.pairs)
        warn_user(
            f"{who}: the classes {means.classes[first]!r} and "
            f"{means.classes[second]!r} have the same mean; no subspace separates "
            "them, and the others are separated without regard to them"
        )
    return same


# -----------------------------------------------------------------------------
# Common methods of estimators of a subspace.
# -----------------------------------------------------------------------------


class SupervisedSubspace(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A transformer that is fitted to labels and has `mean_` and `components_`."""

    mean_: Array
    components_: Array

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def transform(self, X: ArrayLike) -> Array:
        """Return the rows in the subspace, of shape (k, n_components)."""
        check_is_fitted(self, "components_")
        X = self._columns(estimator_matrix(self, X, reset=False))
        return (X - self.mean_) @ self.components_.T

    def _columns(self, X: Array) -> Array:
        """Return the columns that the components weight."""
        return X

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


# -----------------------------------------------------------------------------
# Max-min distance analysis (MMDA).
# -----------------------------------------------------------------------------


SOLVERS_OF_DISTANCES = ("auto", "softmin", "mm", "relaxation", "fantope")
DISTANCE_SOLVER_CHOICE = SolverChoice(
    SOLVERS_OF_DISTANCES, (MajorizeMinimize, SequentialRelaxation, SoftminPolar)
)
KERNELS_OF_COORDINATES = ("linear", "poly", "rbf", "sigmoid", "cosine")
# Coordinates of a kernel whose eigenvalue is below this share of the largest are noise.
NO_COORDINATE = 1e-9


class MaxMinDistanceAnalysis(SupervisedSubspace):
    r"""Max-min distance analysis (MMDA): discriminants for the worst pair of classes.

    .. math::

        \max_{Q S_w Q' = I}\ \min_{i < j} |Q (\mu_i - \mu_j)|^2

    over Q of shape (m, d), with :math:`\mu_i` the class means and :math:`S_w` the
    covariance within classes. Linear discriminant analysis maximizes the sum of these
    distances instead, which far classes dominate, so that near ones collapse.

    Parameters
    ----------
    n_components : int
        m, at most the number of columns.
    solver : str or Solver, default="auto"
        "auto" is "softmin": sharper and sharper softmins along the frames. "mm":
        rounds of tangents without a penalty. "relaxation": penalized relaxations
        (SPR). "fantope": the top eigenvectors of the global relaxation, then "mm". Or a
        solver object of `counterpoise.optim`, such as
        ``SequentialRelaxation("parabolic")``.
    relaxation : {"sdp", "parabolic"}
        Of "relaxation".
    penalty : "auto" or float
        Of "relaxation".
    shrinkage : float
        What is added to S_w, as a multiple of its mean variance tr(S_w) / d.
    kernel : {None, "linear", "poly", "rbf", "sigmoid", "cosine"}
        None: the columns of X. Else the coordinates of its kernel PCA, as many as there
        are rows beyond the classes.
    gamma, degree, coef0
        Of the kernel, as in scikit-learn's `KernelPCA`.
    n_init : int
        Searches, one from the discriminants and the others from random frames; the
        best is kept.
    tol : float
        Residual of the optimality conditions, in units of the slope.
    max_iter : int
        Most rounds of a search.
    max_time : float, optional
        Seconds after which no further round begins.
    callback : callable, optional
        Called with the `Progress` after every round; True ends the search.
    random_state : None, int or RandomState
        Draws the further starts.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Q, with `components_ @ S_w @ components_.T` the identity. With a kernel, d
        counts its coordinates.
    mean_ : array of shape (d,)
    classes_ : array of shape (c,)
    min_distance_ : float
        Least squared distance of two class means after `transform`.
    bound_ : float
        Proved: no Q has a larger one.
    pair_distances_ : array of shape (c, c)
        Squared distances of all class means.
    solution_ : Solution
        Minimizes minus `min_distance_`, over frames of the span of the class means.
    n_iter_ : int
        Rounds of the search that was kept.

    Notes
    -----
    Only the span of the class means matters, of dimension c - 1 at most: there the
    search takes place, whatever d. Where m is that large nothing is to be searched. The
    optimum is often not unique (the closest pair's whole distance); the softmin then
    prefers frames in which other pairs are far apart too.

    References
    ----------
    Bian and Tao (2011), Max-min distance analysis by using sequential SDP relaxation.
    Zohrizadeh (2019), chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> analysis = MaxMinDistanceAnalysis(n_components=1).fit(X, y)
    >>> analysis.transform(X).shape, analysis.min_distance_ <= analysis.bound_
    ((178, 1), True)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        relaxation: str = "sdp",
        penalty: float | str = "auto",
        shrinkage: float = 0.0,
        kernel: str | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        n_init: int = 1,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_time: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.relaxation = relaxation
        self.penalty = penalty
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "MaxMinDistanceAnalysis":
        """Find the subspace.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
        y : array of shape (n,)
            Class labels.
        """
        mu = self._check()
        X = estimator_matrix(self, X, reset=True, min_rows=2)
        labels = as_classes(y, len(X))
        m = int(self.n_components)
        if self.kernel is None and m > X.shape[1]:
            raise InvalidInputError(
                f"n_components = {m} exceeds n_features = {X.shape[1]}"
            )
        rows = self._coordinates(X, len(np.unique(labels)))
        found = class_means(rows, labels, float(self.shrinkage), type(self).__name__, m)
        same = coinciding(found, type(self).__name__)
        span = found.span()
        problem, basis = pose_distances(found, span, same, m)
        self.solution_ = self._searched(problem, mu)
        warn_if_not_converged(type(self).__name__, self.solution_)
        self.classes_ = found.classes
        self.mean_ = found.mean
        self.components_ = (found.whitener @ basis @ self.solution_.x).T
        self.pair_distances_, self.min_distance_ = distances_of(
            found, basis @ self.solution_.x
        )
        bound = 0.0 if same.any() else -self.solution_.certificate.bound
        self.bound_ = max(bound, self.min_distance_)
        self.n_iter_ = max(self.solution_.n_iter, 1)
        return self

    def _columns(self, X: Array) -> Array:
        if self.kernel is None:
            return X
        return self.kernel_pca_.transform(X)[:, : len(self.mean_)]

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return rows of the original space of least norm from the mean."""
        check_is_fitted(self, "components_")
        if self.kernel is not None:
            raise InvalidInputError("inverse_transform is not defined with a kernel")
        X = np.asarray(X, dtype=float)
        return X @ np.linalg.pinv(self.components_).T + self.mean_

    def _check(self) -> float | None:
        check_integer("n_components", self.n_components, low=1)
        check_solver("solver", self.solver, DISTANCE_SOLVER_CHOICE)
        check_number("shrinkage", self.shrinkage, low=0.0)
        check_integer("n_init", self.n_init, low=1)
        if self.kernel is not None:
            check_choice("kernel", self.kernel, KERNELS_OF_COORDINATES)
        check_number("gamma", self.gamma, low=0.0, closed="neither", options=(None,))
        return check_search_parameters(
            self.relaxation, self.penalty, self.tol, self.max_iter, self.max_time
        )

    def _coordinates(self, X: Array, n_classes: int) -> Array:
        """Return the columns to work on: those of X, or a kernel's coordinates."""
        if self.kernel is None:
            return X
        pca = KernelPCA(
            n_components=None,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            eigen_solver="dense",
        ).fit(X)
        values = pca.eigenvalues_
        kept = int((values > NO_COORDINATE * values[0]).sum())
        # With more coordinates than rows beyond the classes there is no spread left.
        kept = min(kept, max(len(X) - n_classes, 1))
        if self.n_components > kept:
            raise InvalidInputError(
                f"n_components = {self.n_components} exceeds the {kept} coordinates of "
                "the kernel"
            )
        self.kernel_pca_ = pca
        return pca.transform(X)[:, :kept]

    def _searched(self, problem: OrthogonalProblem, mu: float | None) -> Solution:
        """Return the best of all searches."""
        n, m = problem.shape
        if n == m:
            return certified(problem, np.eye(n), self.tol)
        method = resolve_solver(
            "solver",
            self.solver,
            DISTANCE_SOLVER_CHOICE,
            lambda name: orthogonal_solver(
                problem,
                {"auto": "softmin", "fantope": "mm"}.get(name, name),
                cast(Relaxation, self.relaxation),
                mu,
            ),
            problem,
        )
        draw = as_random(self.random_state)
        starts: list[Array | None] = [np.eye(n, m)]
        if self.solver == "fantope":
            starts = [fantope_point(problem)]
        elif isinstance(method, SoftminPolar | MajorizeMinimize):
            # They begin at the discriminants by themselves.
            starts = [None]
        starts += [
            polar(draw.standard_normal((n, m))) for _ in range(int(self.n_init) - 1)
        ]
        found = [
            solve(
                problem,
                method,
                start,
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                max_time=self.max_time,
                callback=self.callback,
            )
            for start in starts
        ]
        return min(found, key=lambda one: one.certificate.objective)


def pose_distances(
    means: ClassMeans, span: Array, same: NDArray[np.bool_], m: int
) -> tuple[OrthogonalProblem, Array]:
    """Return the problem of the least distance and the basis of its frames.

    The basis spans the differences of the means; where it has fewer than m columns,
    others fill it up.
    """
    r = means.whitener.shape[1]
    basis = span if span.shape[1] else np.zeros((r, 0))
    if basis.shape[1] < m:
        whole = np.linalg.qr(np.hstack([basis, np.eye(r)]))[0]
        basis = np.hstack([basis, whole[:, basis.shape[1] : m]])
    vectors = means.differences[~same] if not same.all() else means.differences
    forms = RankOneForms(vectors @ basis, -1.0)
    return OrthogonalProblem(maximum=forms, n_columns=m), basis


def distances_of(means: ClassMeans, frame: Array) -> tuple[Array, float]:
    """Return squared distances of the class means in a frame, and the least."""
    places = means.means @ frame
    squares = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    return squares, float(squares[means.pairs].min())
