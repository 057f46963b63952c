"""A subspace that source and target share."""

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterpoise.data.arrays import estimator_samples
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError, NoTargetWarning, warn_user
from counterpoise.linalg.arrays import Array
from counterpoise.linalg.stiefel import polar
from counterpoise.optim.loop import Progress, Solution, certified, solve
from counterpoise.optim.stiefel.local_search import polished
from counterpoise.optim.stiefel.problem import OrthogonalProblem, RankOneForms
from counterpoise.optim.stiefel.relaxations import Relaxation
from counterpoise.optim.stiefel.solvers import orthogonal_solver
from counterpoise.subspaces.discriminant import (
    ClassMeans,
    SupervisedSubspace,
    class_means,
    coinciding,
    distances_of,
)
from counterpoise.subspaces.orthogonal import (
    check_search_parameters,
    read_start,
    warn_if_not_converged,
)

# Beyond so many whitened columns the search keeps to a subspace of as many.
MOST_DIRECTIONS = 30
# So many subspaces are searched one after the other, each with the last frame and its
# image in it.
MOST_SUBSPACES = 6

# Squared spreads of a class by which samples may differ; squares of these overflow.
FARTHEST = 1e60


class SharedSubspace(SupervisedSubspace):
    r"""Separate the source's classes where source and target have the same moments.

    .. math::

        \max_{Q S_w Q' = I}\ \min_{i < j} |Q (\mu_i - \mu_j)|^2
        \quad\text{with}\quad |Q (\bar x - \bar x_t)|^2 \le \epsilon,\
        |\mathrm{tr}\, Q (C - C_t) Q'| \le \epsilon

    with :math:`\bar x, C` and :math:`\bar x_t, C_t` the mean and the covariance of
    source and target, :math:`\mu_i` and :math:`S_w` the class means and the covariance
    within classes of the source. `criterion="trace"` maximizes the trace
    :math:`\mathrm{tr}\, Q S_b Q'` of the covariance between classes instead, as linear
    discriminant analysis does.

    Parameters
    ----------
    n_components : int
        m, at most the number of columns.
    criterion : {"max-min", "trace"}
    epsilon : float
        How far mean and spread may differ, squared and in units of S_w.
    shrinkage : float
        What is added to S_w, as a multiple of its mean variance.
    relaxation, penalty, tol, max_iter, max_time, callback, random_state
        Of the search, as in `solve_orthogonal`.

    Attributes
    ----------
    components_ : array of shape (m, d)
        Q, with `components_ @ S_w @ components_.T` the identity.
    mean_ : array of shape (d,)
        Of the source.
    classes_ : array of shape (c,)
    mean_shift_, spread_shift_ : float
        :math:`|Q (\bar x - \bar x_t)|^2` and :math:`\mathrm{tr}\, Q (C - C_t) Q'`; nan
        without a target.
    min_distance_ : float
        Least squared distance of two class means after `transform`.
    bound_ : float
        Proved: no Q that keeps the constraints has more, of the criterion.
    solution_ : Solution
        Minimizes minus the criterion, over frames of the whitened columns.
    n_iter_ : int

    Notes
    -----
    Three quadratic constraints in the frame P of the whitened columns. Penalized
    relaxations find a feasible frame and improve it. Above 30 columns the search keeps
    to a subspace of 30 (class means, the mean shift, the images of both by the spread
    shift and its extreme directions): feasible all the same, perhaps not the best; the
    bound is for all columns.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> X = rng.standard_normal((150, 4)) + 3.0 * np.eye(4)[y]
    >>> X_target = X + [0.0, 0.0, 0.0, 2.0]
    >>> shared = SharedSubspace(2, random_state=0).fit(X, y, X_target=X_target)
    >>> shared.mean_shift_ <= 0.1 + 1e-6
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        criterion: str = "max-min",
        epsilon: float = 0.1,
        shrinkage: float = 0.0,
        relaxation: str = "sdp",
        penalty: float | str = "auto",
        tol: float = 1e-3,
        max_iter: int = 100,
        max_time: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.criterion = criterion
        self.epsilon = epsilon
        self.shrinkage = shrinkage
        self.relaxation = relaxation
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, *, X_target: object = None
    ) -> "SharedSubspace":
        """Find the subspace.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            The source.
        y : array of shape (n,)
            Its classes.
        X_target : array-like, frame or tuple of them, optional
            The target; None: no constraint, and a `NoTargetWarning`.
        """
        mu, name, m = self._check(), type(self).__name__, int(self.n_components)
        X, target = estimator_samples(self, X, X_target, reset=True, min_rows=2)
        labels = as_classes(y, len(X))
        if m > X.shape[1]:
            raise InvalidInputError(
                f"n_components = {m} exceeds n_features = {X.shape[1]}"
            )
        means = class_means(X, labels, float(self.shrinkage), name, m)
        shift = None if target is None else _moment_shift(X, target)
        if shift is None:
            warn_user(
                "no X_target was given: nothing is asked of the subspace but to "
                "separate the classes",
                NoTargetWarning,
            )
        if shift is not None:
            _refuse_far(means.whitener, *shift)
        problem = self._pose(means, shift, coinciding(means, name))
        self.solution_ = self._searched(problem, means, shift, mu)
        warn_if_not_converged(name, self.solution_)
        self.classes_, self.mean_ = means.classes, means.mean
        self.components_ = (means.whitener @ self.solution_.x).T
        _, self.min_distance_ = distances_of(means, self.solution_.x)
        self.bound_ = -self.solution_.certificate.bound
        self.mean_shift_ = self.spread_shift_ = float("nan")
        if shift is not None:
            Q, (mean_shift, spread_shift) = self.components_, shift
            self.mean_shift_ = float(((Q @ mean_shift) ** 2).sum())
            self.spread_shift_ = float(np.sum((Q @ spread_shift) * Q))
        self.n_iter_ = max(self.solution_.n_iter, 1)
        return self

    def _check(self) -> float | None:
        check_integer("n_components", self.n_components, low=1)
        check_choice("criterion", self.criterion, ("max-min", "trace"))
        check_number("epsilon", self.epsilon, low=0.0)
        check_number("shrinkage", self.shrinkage, low=0.0)
        return check_search_parameters(
            self.relaxation, self.penalty, self.tol, self.max_iter, self.max_time
        )

    def _pose(
        self,
        means: ClassMeans,
        shift: tuple[Array, Array] | None,
        same: NDArray[np.bool_],
    ) -> OrthogonalProblem:
        """Return the problem over frames of the whitened columns."""
        constraints: list[tuple[Array, None, float]] = []
        if shift is not None:
            d, spread = _whitened(means, shift)
            epsilon = float(self.epsilon)
            constraints = [
                (np.outer(d, d), None, -epsilon),
                (spread, None, -epsilon),
                (-spread, None, -epsilon),
            ]
        m = int(self.n_components)
        if self.criterion == "trace":
            return OrthogonalProblem(
                -means.between, n_columns=m, constraints=constraints
            )
        vectors = means.differences if same.all() else means.differences[~same]
        return OrthogonalProblem(
            maximum=RankOneForms(vectors, -1.0), n_columns=m, constraints=constraints
        )

    def _searched(
        self,
        problem: OrthogonalProblem,
        means: ClassMeans,
        shift: tuple[Array, Array] | None,
        mu: float | None,
    ) -> Solution:
        """Return what the search found, in a subspace where columns are many."""
        r, m = problem.shape
        first = read_start(problem, None, self.random_state)
        if r == m:
            return certified(problem, np.eye(r), float(self.tol))
        if shift is None or r <= MOST_DIRECTIONS:
            return self._solved(problem, first, mu)
        d, spread = _whitened(means, shift)
        span = means.span()
        extreme = np.linalg.eigh(spread)[1][:, [0, -1]]
        fixed = np.hstack([span, d[:, None]])
        P, rounds, seconds = None, 0, 0.0
        for _ in range(MOST_SUBSPACES):
            moving = [first, extreme] if P is None else [P, spread @ P]
            basis = _basis(np.hstack([*moving, fixed, spread @ fixed]), m)
            inner = restricted(problem, basis)
            start = basis.T @ (first if P is None else P)
            found = self._solved(inner, polar(start), mu)
            P = basis @ found.x
            rounds, seconds = rounds + found.n_iter, seconds + found.seconds
            if problem.claim(P).holds(float(self.tol)):
                break
        assert P is not None
        return certified(
            problem,
            polished(problem, P),
            float(self.tol),
            n_iter=rounds,
            seconds=seconds,
            ended="a subspace was searched",
        )

    def _solved(
        self, problem: OrthogonalProblem, start: Array, mu: float | None
    ) -> Solution:
        method = orthogonal_solver(
            problem, "auto", cast(Relaxation, self.relaxation), mu
        )
        return solve(
            problem,
            method,
            start,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            max_time=self.max_time,
            callback=self.callback,
        )


def _refuse_far(whitener: Array, mean_shift: Array, spread_shift: Array) -> None:
    """Refuse samples whose distance, in spreads of a class, has no square."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = whitener.T @ mean_shift
        spread = whitener.T @ spread_shift @ whitener
        far = max(float(np.abs(away).max()) ** 2, float(np.abs(spread).max()))
    if not far <= FARTHEST:
        raise InvalidInputError(
            f"X and X_target differ by {far:.3g} squared spreads of a class: beyond "
            f"{FARTHEST:g} no subspace can be found that they share"
        )


def _moment_shift(X: Array, X_target: Array) -> tuple[Array, Array]:
    """Return source less target, of the means and of the covariances."""
    spread = np.cov(X.T, bias=True) - np.cov(X_target.T, bias=True)
    return X.mean(axis=0) - X_target.mean(axis=0), np.atleast_2d(spread)


def _whitened(means: ClassMeans, shift: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the shift of mean and covariance on whitened columns."""
    W = means.whitener
    spread = W.T @ shift[1] @ W
    return W.T @ shift[0], (spread + spread.T) / 2.0


def _basis(directions: Array, m: int) -> Array:
    """Return an orthonormal basis of the first directions, at most 30."""
    left, values, _ = np.linalg.svd(directions, full_matrices=False)
    kept = int((values > 1e-10 * max(float(values[0]), 1e-300)).sum())
    if kept <= MOST_DIRECTIONS:
        return left[:, :kept]
    return np.linalg.qr(directions[:, : max(MOST_DIRECTIONS, m)])[0]


def restricted(problem: OrthogonalProblem, basis: Array) -> OrthogonalProblem:
    """Return the problem in the coordinates of a subspace; without linear terms."""
    forms = None
    if isinstance(problem.forms, RankOneForms) and len(problem.forms):
        forms = RankOneForms(problem.forms.vectors @ basis, problem.forms.sign)
    return OrthogonalProblem(
        basis.T @ problem.quadratic @ basis,
        n_columns=problem.shape[1],
        maximum=forms,
        constraints=[
            (basis.T @ one.quadratic @ basis, None, one.constant)
            for one in problem.constraints
        ],
    )
