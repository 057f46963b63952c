"""The dual problem of weighted SVMs, and their base classes."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_classes, as_responses, as_weights
from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError, held_back
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import (
    Kernel,
    auto_gamma,
    refuse_indefinite,
    scale_gamma,
)
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.follower import (
    Follower,
    WorkSpentError,
    carried_over,
    centre_bias,
    crossover,
    from_zero,
)
from counterpoise.optim.quadratic_path.path import ParametricPath
from counterpoise.optim.quadratic_path.problem import (
    DenseRows,
    KernelRows,
    RowsOnDemand,
)
from counterpoise.svm.path import (
    RegressorCurves,
    Segment,
    SVMPath,
    confidences,
    pairs_of,
    winners,
)

# -----------------------------------------------------------------------------
# The kernel that a machine's parameters name, and the rows of its Gram matrix.
# -----------------------------------------------------------------------------


NAMES = ("linear", "poly", "rbf", "precomputed")


def named_kernel(
    kind: Any, gamma: Any, degree: Any, coef0: Any, X: Array, weights: Array
) -> Kernel:
    """Return the kernel that an estimator's parameters name."""
    if callable(kind):
        return Kernel(kind)
    if kind == "sigmoid":
        raise InvalidInputError(
            "kernel 'sigmoid' is not positive semidefinite: no exact path exists"
        )
    if not isinstance(kind, str) or kind not in NAMES:
        words = ", ".join(map(repr, NAMES))
        raise InvalidInputError(
            f"kernel must be one of {words} or a callable, got {kind}"
        )
    degree = check_integer("degree", degree, low=0)
    number = check_number("coef0", coef0)
    refuse_indefinite(kind, number)
    return Kernel(kind, _width(gamma, X, weights), degree, number)


def _width(gamma: Any, X: Array, weights: Array) -> float:
    value = check_number(
        "gamma", gamma, low=0, closed="neither", options=["scale", "auto"]
    )
    if isinstance(value, float):
        return value
    return auto_gamma(X) if value == "auto" else scale_gamma(X, weights)


def gram_rows(kernel: Kernel, X: Array, n_bytes: float) -> KernelRows:
    """Return the rows of the Gram matrix: in memory if they fit, else on demand."""
    if kernel.kind == "precomputed":
        return DenseRows(X)
    if callable(kernel.kind):
        K = kernel.matrix(X, X)
        return DenseRows(0.5 * (K + K.T))
    if 8.0 * len(X) ** 2 <= n_bytes:
        return DenseRows(kernel.matrix(X, X))
    return RowsOnDemand(kernel.rows_of(X), kernel.diagonal(X), int(n_bytes))


# -----------------------------------------------------------------------------
# The record of models that are each fitted without one row.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What the models without each row say about it.

    Attributes
    ----------
    decision : array
        The decision function at each row, of the model fitted without it.
    predictions : array of shape (n,)
    error : float
        The weighted share of wrong labels, or mean absolute error.
    """

    decision: Array
    predictions: Array
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        return {
            "decision": self.decision.tolist(),
            "predictions": self.predictions.tolist(),
            "error": float(self.error),
        }


# -----------------------------------------------------------------------------
# One quadratic programme on some of the training rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Machine:
    """A follower, and which training rows its kernel rows are.

    `twice` says that a row has two variables, as in regression: above and below. A
    variable of a row with the weight bound c lies between `low * c` and `high * c`.
    Where `takes_part` is given, rows for which it is False have no weight here.
    """

    rows: Indices
    follower: Follower
    twice: bool = False
    low: float = 0.0
    high: float = 1.0
    takes_part: NDArray[np.bool_] | None = None

    @property
    def beta(self) -> Array:
        """The coefficient of every row of the machine."""
        return self.follower.combined(self.follower.a)

    @property
    def bias(self) -> float:
        """The constant of its function."""
        return self.follower.bias

    def box(self, c: Array) -> tuple[Array, Array]:
        """Return the bounds that the weight bounds of all training rows give."""
        own: Array = c[self.rows]
        if self.takes_part is not None:
            own = np.where(self.takes_part, own, 0.0)
        if self.twice:
            own = np.concatenate([own, own])
        return self.low * own, self.high * own

    def reweight(self, c: Array, *, logged: bool = False) -> ParametricPath:
        """Move the weight bounds, those of all training rows given."""
        lower, upper = self.box(c)
        return self.follower.move(lower=lower, upper=upper, logged=logged)

    def copy(self) -> "Machine":
        """Return a machine at the same place that moves on its own."""
        return replace(self, follower=self.follower.copy())

    def left_out(self, c: Array) -> Array:
        """Return the function at every own row when that row is left out.

        Rows that take no part change nothing by going.
        """
        follower = self.follower
        n = self.rows.size
        out = follower.f.copy()
        lower, upper = self.box(c)
        taking_part = follower.a != 0.0
        if self.twice:
            taking_part = taking_part[:n] | taking_part[n:]
        for i in np.flatnonzero(taking_part):
            low, high = lower.copy(), upper.copy()
            low[i::n] = high[i::n] = 0.0
            other = follower.copy()
            other.move(lower=low, upper=high, logged=False)
            centre_bias(other)
            out[i] = other.state.f[i] + other.bias
        return out

    def carried(
        self,
        kernel: Kernel,
        X: Array,
        n_bytes: float,
        rows: Indices,
        old: Indices,
        sign: Array,
        p: Array,
    ) -> "Machine":
        """Return the machine on other training rows.

        Parameters
        ----------
        kernel : Kernel
        X : array
            All training rows as they are now.
        n_bytes : float
            What a Gram matrix may take.
        rows : array of int
            The machine's rows among them.
        old : array of int
            Which own row each was, -1 for a new one.
        sign, p : arrays
            Of its variables.
        """
        gram = self._gram(kernel, kernel.part(X, rows), n_bytes, old)
        source, row = old, None
        if self.twice:
            below = np.where(old >= 0, old + self.rows.size, -1)
            source = np.concatenate([old, below])
            row = np.concatenate([np.arange(rows.size)] * 2)
        follower = carried_over(self.follower, gram, sign, row, p, source, old)
        return replace(self, rows=rows, follower=follower)

    def _gram(
        self, kernel: Kernel, X: Array, n_bytes: float, old: Indices
    ) -> KernelRows:
        """Return the Gram matrix of other rows, what is known of it taken over."""
        known = old >= 0
        mine = self.follower.rows
        fits = 8.0 * old.size**2 <= n_bytes
        if kernel.kind == "precomputed" or not (fits and isinstance(mine, DenseRows)):
            return gram_rows(kernel, X, n_bytes)
        if known.all():
            return DenseRows(mine.block(old, old))
        K = np.empty((old.size, old.size))
        there, new = np.flatnonzero(known), np.flatnonzero(~known)
        K[np.ix_(there, there)] = mine.block(old[there], old[there])
        K[new] = kernel.matrix(X[new], X)
        K[:, new] = K[new].T
        K[np.ix_(new, new)] = 0.5 * (K[np.ix_(new, new)] + K[np.ix_(new, new)].T)
        return DenseRows(K)


def sensitivity(machine: Machine, cross: Array) -> Array:
    """Return the derivative of the function by the weight bound of every own row.

    Parameters
    ----------
    machine : Machine
    cross : array of shape (n_points, n_rows)
        Kernel of the points with the machine's rows.

    Notes
    -----
    Only rows at a bound that moves with their weight have an effect. They push along
    their own kernel row, and the free rows give way so that they stay on the margin.
    """
    follower = machine.follower
    sign, row = follower.variables.sign, follower.variables.row
    margin = follower.margin
    out = np.zeros((len(cross), machine.rows.size))
    status = follower.state.status
    # How far the bound that a variable sits on moves with its row's weight bound.
    rate = np.where(status == 1, machine.high, np.where(status == 0, machine.low, 0.0))
    pushing = np.flatnonzero(rate)
    if not pushing.size:
        return out
    if not margin.size:
        raise InvalidInputError(
            "no row is on the margin: the bias jumps when a weight moves, and the "
            "sensitivity is not defined"
        )
    m = margin.size
    system = np.zeros((m + 1, m + 1))
    system[1:, 1:] = follower.rows.block(row[margin], row[margin])
    system[0, 1:] = system[1:, 0] = 1.0
    right = np.empty((m + 1, pushing.size))
    push = sign[pushing] * rate[pushing]
    right[0] = -push
    right[1:] = -follower.rows.block(row[margin], row[pushing]) * push
    answer = np.linalg.lstsq(system, right, rcond=1e-13)[0]
    effect = cross[:, row[pushing]] * push
    effect = effect + cross[:, row[margin]] @ answer[1:] + answer[0]
    np.add.at(out.T, row[pushing], effect.T)
    return out


# -----------------------------------------------------------------------------
# The first solution of a machine: from nothing, or made exact from LIBSVM's.
# -----------------------------------------------------------------------------


# From this bound on, and up to this number of rows, opening the boxes from nothing is
# quicker than LIBSVM and a crossover.
LARGE_C, ROWS_FROM_ZERO = 1000.0, 500
# Steps of LIBSVM a row; a coarse answer only costs the crossover some events more.
STEPS_A_ROW = 200
# Multiplications that opening the boxes may cost, in units of the rows squared, before
# LIBSVM is asked after all: those of its steps, two kernel rows each. A kernel so
# narrow that most rows end on the margin spends them.
WORTH = 2.0 * STEPS_A_ROW


def start(
    machine: Machine,
    kernel: Kernel,
    X: Array,
    p: Array,
    c: Array,
    tol: float,
    epsilon: float | None = None,
    y: Array | None = None,
) -> None:
    """Solve a classifier, or a regressor (`epsilon` and `y` given), exactly.

    `c` are the weight bounds of all training rows, X the machine's own rows.
    """
    follower = machine.follower
    lower, upper = machine.box(c)
    dense = isinstance(follower.rows, DenseRows)
    n = follower.rows.size
    few = n <= ROWS_FROM_ZERO
    solved = False
    if dense and (few or float(upper.max()) >= LARGE_C):
        budget = None if few else WORTH * n**2
        solved = _opened(follower, p, lower, upper, budget)
    if not solved:
        own = c[machine.rows]
        used = np.flatnonzero(own > 0.0)
        target = follower.variables.sign[:n] if y is None else y
        model = _libsvm(
            follower, kernel, X, used, target[used], own[used], tol, epsilon
        )
        a = np.zeros(upper.size)
        found = model.dual_coef_[0]
        if epsilon is None:
            a[used[model.support_]] = np.abs(found)
        elif not machine.twice:
            a[used[model.support_]] = found
        else:
            a[used[model.support_]] = np.maximum(found, 0.0)
            a[n + used[model.support_]] = np.maximum(-found, 0.0)
        crossover(follower, a, float(model.intercept_[0]), p, lower, upper)
    centre_bias(follower)


def _opened(
    follower: Follower, p: Array, lower: Array, upper: Array, max_work: float | None
) -> bool:
    """Open the boxes from nothing; False if that costs more than it may."""
    try:
        from_zero(follower, p, lower, upper, max_work=max_work)
    except WorkSpentError:
        return False
    return True


def _libsvm(
    follower: Follower,
    kernel: Kernel,
    X: Array,
    used: Any,
    target: Array,
    c: Array,
    tol: float,
    epsilon: float | None,
) -> Any:
    dense = isinstance(follower.rows, DenseRows)
    if dense:
        data = follower.rows.block(used, used)
        chosen: dict[str, Any] = {"kernel": "precomputed"}
    else:
        data = X[used]
        chosen = {
            "kernel": kernel.kind,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }
    chosen |= {"tol": tol, "C": 1.0, "max_iter": STEPS_A_ROW * used.size}
    model = SVC(**chosen) if epsilon is None else SVR(epsilon=epsilon, **chosen)
    with held_back(ConvergenceWarning):
        return model.fit(data, target, sample_weight=c)


# -----------------------------------------------------------------------------
# What all support vector machines with a path share.
# -----------------------------------------------------------------------------


# Rows of new points predicted at once.
MACHINE_ROWS = 4096
# A kernel matrix may differ from its transpose by this share of its largest entry.
GRAM_ASYMMETRY = 1e-8


class PathSVM(BaseEstimator):
    """Machines on the training rows, their solutions, and how they move.

    A fitted estimator keeps its rows (`X_fit_`) and the dual variables, so that it can
    be moved; the Gram matrix (`machines_`) is made again when it is needed after
    copying or loading.
    """

    C: float
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    tol: float
    cache_size: float
    max_iter: int = -1

    @abstractmethod
    def _pose(self) -> list[tuple[Machine, Array]]:
        """Return machines without a solution, with their p."""

    @abstractmethod
    def _report(self) -> None:
        """Set the public attributes from `coefficients` and biases."""

    def _report_support(self) -> Array:
        """Set what all machines tell of their rows, and return the biases."""
        support, betas, biases = self._coefficients()
        self.support_ = support
        if self.kernel != "precomputed":
            self.support_vectors_ = self.X_fit_[support]
        self.dual_coef_ = betas.T.copy()
        return biases

    def _check(self) -> None:
        check_number("C", self.C, low=0, closed="neither")
        check_number("tol", self.tol, low=0, closed="neither")
        check_number("cache_size", self.cache_size, low=0, closed="neither")
        check_integer("max_iter", self.max_iter, low=-1)

    def _remember(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Take the training rows and their weights through the door."""
        self._check()
        X = estimator_matrix(self, X, reset=True)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise InvalidInputError(
                f"Precomputed matrix must be a square matrix, got shape {X.shape}"
            )
        if self.kernel == "precomputed":
            _check_symmetric(X)
        else:
            # What is kept must not change with what becomes of the user's arrays.
            X = X.copy()
        weights = as_weights(sample_weight, len(X)).copy()
        self.kernel_ = named_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, X, weights
        )
        self.X_fit_ = X
        self.sample_weight_ = weights
        return X, weights

    @property
    def _bytes(self) -> float:
        return 1e6 * float(self.cache_size)

    def _posed(self) -> list[tuple[Machine, Array]]:
        """Return `_pose` with the limit of events set."""
        posed = self._pose()
        if self.max_iter > 0:
            for machine, _ in posed:
                machine.follower.max_events = int(self.max_iter)
        return posed

    def _keep(self, machines: list[Machine]) -> None:
        self.machines_ = machines
        self.n_iter_ = np.array([max(1, one.follower.n_events) for one in machines])
        self.solutions_ = [(one.follower.a.copy(), one.bias) for one in machines]
        self._report()

    def _live(self) -> list[Machine]:
        """Return the machines, made again from their solutions if need be."""
        check_is_fitted(self)
        if not hasattr(self, "machines_"):
            machines = []
            c = self._bounds(self.sample_weight_, self.C)
            for (machine, p), (a, bias) in zip(
                self._posed(), self.solutions_, strict=True
            ):
                lower, upper = machine.box(c)
                crossover(machine.follower, a, bias, p, lower, upper, self._total())
                machines.append(machine)
            self.machines_ = machines
        return self.machines_

    def certify(self) -> Certificate:
        """Prove the fitted solution from scratch.

        Of several machines the proof with the largest residual is returned.
        """
        proofs = [machine.follower.certify() for machine in self._live()]
        return max(proofs, key=lambda one: one.residual or 0.0)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("machines_", None)
        return state

    @property
    def coef_(self) -> Array:
        """The slopes of a linear kernel's functions, a row a machine."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is there for a linear kernel alone")
        check_is_fitted(self)
        support, betas, _ = self._coefficients()
        out: Array = betas.T @ self.X_fit_[support]
        return out

    def _coefficients(self) -> tuple[Indices, Array, Array]:
        """Return the rows that count, their coefficients a machine, and the biases."""
        n = len(self.X_fit_)
        betas = np.zeros((n, len(self.solutions_)))
        for k, machine in enumerate(self._places()):
            rows, sign, twice = machine
            a = self.solutions_[k][0]
            betas[rows, k] = a[: rows.size] - a[rows.size :] if twice else sign * a
        support = np.flatnonzero(betas.any(axis=1))
        biases = np.array([bias for _, bias in self.solutions_])
        return support, betas[support], biases

    @abstractmethod
    def _places(self) -> list[tuple[Indices, Array, bool]]:
        """Return the rows of every machine, their signs, and whether they are twice."""

    def _functions(self, X: Any) -> Array:
        """Return every machine's function at new rows."""
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        support, betas, biases = self._coefficients()
        out = np.tile(biases, (len(X), 1))
        if not support.size:
            return out
        for first in range(0, len(X), MACHINE_ROWS):
            some = slice(first, first + MACHINE_ROWS)
            K = self.kernel_.cross(X[some], self.X_fit_, support)
            out[some] += K @ betas
        return out

    @abstractmethod
    def _answers(self, functions: Array) -> Any:
        """Return what is predicted where the machines' functions have these values."""

    def _cross(self, X: Any) -> list[Array]:
        """Return the kernel of every machine's rows with new ones, (n_rows, m) each."""
        X = estimator_matrix(self, X, reset=False)
        return [
            np.ascontiguousarray(self.kernel_.cross(X, self.X_fit_, rows).T)
            for rows, _, _ in self._places()
        ]

    def _bounds(self, weights: Array, C: float) -> Array:
        """Return the bound of every row."""
        out: Array = C * weights
        return out

    def _width(self) -> float:
        """Return upper minus lower bound, in units of the weight bound."""
        return 1.0

    def _total(self) -> float:
        """Return what the signed variables of a machine add up to."""
        return 0.0

    def _weight_path(self, sample_weight: Any) -> tuple[Segment, ...]:
        weights = as_weights(sample_weight, len(self.X_fit_))
        c = self._bounds(weights, self.C)
        paths = []
        for machine in self._live():
            path = machine.copy().reweight(c, logged=True)
            assert path is not None
            paths.append(path)
        return (Segment(0.0, 1.0, tuple(paths)),)

    def _c_path(self, ends: Any) -> tuple[Segment, ...]:
        """Return the regularisation path, a segment a decade: theta is linear in C."""
        low, high = two_numbers("C", ends)
        if low <= 0.0 or high <= 0.0:
            raise InvalidInputError(f"C must be positive, got ({low:g}, {high:g})")
        n_decades = max(1, int(np.ceil(abs(np.log10(high / low)) - 1e-9)))
        grid = np.geomspace(low, high, n_decades + 1)
        grid[0], grid[-1] = low, high
        machines = [machine.copy() for machine in self._live()]
        for machine in machines:
            machine.reweight(self._bounds(self.sample_weight_, low))
            centre_bias(machine.follower)
        segments = []
        for start, stop in pairwise(grid):
            c = self._bounds(self.sample_weight_, float(stop))
            paths = [machine.reweight(c, logged=True) for machine in machines]
            segments.append(
                Segment(float(start), float(stop), tuple(p for p in paths if p))
            )
        return tuple(segments)

    def _at(
        self,
        parameter: str,
        theta: float,
        solutions: list[tuple[Array, float]],
        segment: Segment,
        t: float,
    ) -> Any:
        """Return the estimator whose solution is at theta of a path."""
        out = clone(self)
        kept = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and name != "machines_"
        }
        vars(out).update(kept)
        if parameter == "sample_weight":
            # Of any machine: its rows' bounds in units of C.
            out.sample_weight_ = self._weights_at(segment, t)
        else:
            known = parameter in self.get_params()
            setattr(out, parameter if known else f"{parameter}_", float(theta))
        out.solutions_ = solutions
        out._report()
        return out

    def _weights_at(self, segment: Segment, t: float) -> Array:
        weights = self.sample_weight_.copy()
        unit = self._bounds(np.ones(len(weights)), self.C)
        for (rows, _, _), path in zip(self._places(), segment.paths, strict=True):
            width = path.line.upper - path.line.lower
            width = width + t * (path.line.dupper - path.line.dlower)
            weights[rows] = width[: rows.size] / (self._width() * unit[rows])
        return weights

    def _moved_rows(
        self,
        sample_weight: Any,
        X_add: Any,
        y_add: Any,
        sample_weight_add: Any,
        remove: Any,
    ) -> tuple[Array, Array, Indices]:
        """Return the rows after adding, their weights, and which of them stay."""
        n = len(self.X_fit_)
        if X_add is None and not (y_add is None and sample_weight_add is None):
            raise InvalidInputError("y_add and sample_weight_add need X_add")
        weights = self.sample_weight_.copy()
        if sample_weight is not None:
            weights = as_weights(sample_weight, n).copy()
        X = self.X_fit_
        if X_add is not None:
            if self.kernel == "precomputed":
                raise InvalidInputError("rows cannot be added to a precomputed kernel")
            more = estimator_matrix(self, X_add, reset=False)
            X = np.vstack([X, more])
            weights = np.concatenate(
                [
                    weights,
                    as_weights(sample_weight_add, len(more), name="sample_weight_add"),
                ]
            )
        stays = np.ones(len(X), dtype=bool)
        if remove is not None:
            stays[rows_to_remove(remove, n)] = False
        weights[~stays] = 0.0
        return X, weights, np.flatnonzero(stays)

    def _settle(self, machines: list[Machine], X: Array, weights: Array) -> None:
        """Take machines that were moved to other rows or weights for the solution."""
        for machine in machines:
            centre_bias(machine.follower)
        self.X_fit_, self.sample_weight_ = X, weights
        if self.kernel == "precomputed":
            self.n_features_in_ = len(X)
        self._keep(machines)

    def _followed(
        self,
        given: dict[str, Any],
        own: dict[str, Callable[[Any], tuple[Segment, ...]]] | None = None,
    ) -> tuple[str, tuple[Segment, ...]]:
        """Return what moves, the one that was given, and its path.

        `own` are the ways that only this machine knows.
        """
        moved = one_moves(**given)
        self._live()
        ways = {"sample_weight": self._weight_path, "C": self._c_path, **(own or {})}
        return moved, ways[moved](given[moved])

    def _path(self, parameter: str, segments: Any, curves: Any) -> SVMPath:
        # The model may be moved or fitted again; the path stays what it is.
        return SVMPath(parameter, copy(self), segments, curves)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = False
        return tags


def _check_symmetric(K: Array) -> None:
    off = np.abs(K - K.T)
    if off.max() > GRAM_ASYMMETRY * max(np.abs(K).max(), 1e-300):
        i, j = np.unravel_index(int(np.argmax(off)), K.shape)
        raise InvalidInputError(
            f"a precomputed kernel must be symmetric, got {K[i, j]:g} in row {i}, "
            f"column {j} and {K[j, i]:g} in row {j}, column {i}"
        )


def rows_to_remove(remove: Any, n: int) -> Indices:
    """Return which of n rows are meant by numbers of rows, or by a mask."""
    gone = np.atleast_1d(np.asarray(remove))
    if gone.dtype == bool:
        if gone.shape != (n,):
            raise InvalidInputError(
                f"remove has shape {gone.shape}, there are {n} rows"
            )
        return np.flatnonzero(gone)
    for row in gone.ravel().tolist():
        check_integer("remove", row, low=0, high=n - 1)
    return gone.ravel().astype(np.intp)


def rows_for_curves(X_val: Any, y_val: Any, sample_weight_val: Any) -> bool:
    """Return whether there are validation rows, all of what they need or nothing."""
    if X_val is None and y_val is None and sample_weight_val is None:
        return False
    if X_val is None or y_val is None:
        raise InvalidInputError("X_val and y_val must be given together")
    return True


def two_numbers(name: str, ends: Any) -> tuple[float, float]:
    """Return both ends of a range."""
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be two numbers, got {ends!r}") from None
    return check_number(name, low), check_number(name, high)


def one_moves(**given: Any) -> str:
    """Return the one parameter that was given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        words = ", ".join(given)
        raise InvalidInputError(
            f"give exactly one of {words} to path, got {named or 'none'}"
        )
    return named[0]


# -----------------------------------------------------------------------------
# What classifiers of two classes have in common once there are more.
# -----------------------------------------------------------------------------


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
            raise InvalidInputError(
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
                raise InvalidInputError(
                    f"class_weight names {label!r}, classes are {known}"
                )
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
            raise InvalidInputError(
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
                raise InvalidInputError(
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


# -----------------------------------------------------------------------------
# What machines share that answer with a number: the regressor, and the quantile.
# -----------------------------------------------------------------------------


class ResponseSVM(RegressorMixin, PathSVM):
    """A machine whose function, moved back by `center_`, is its answer."""

    def predict(self, X: Any) -> Array:
        """Return the predicted values, or quantiles.

        Parameters
        ----------
        X : array of shape (m, d), or (m, n) if precomputed
        """
        return self._answers(self._functions(X))

    def _remember_responses(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Array, Array]:
        """Take rows, responses and weights through the door."""
        X, weights = self._remember(X, sample_weight)
        self.y_fit_ = as_responses(y, len(X)).copy()
        # The bias takes any constant up; without it digits are lost far from zero.
        self.center_ = float((weights / weights.sum()) @ self.y_fit_)
        return X, weights

    def _answers(self, functions: Array) -> Array:
        out: Array = functions[:, 0] + self.center_
        return out

    def _report(self) -> None:
        self.intercept_ = self._report_support() + self.center_
        self.n_support_ = np.array([self.support_.size])

    def _curves(
        self,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
        losses: dict[str, tuple[float, float, float]],
    ) -> RegressorCurves | None:
        """Return the curves of losses at validation rows; None without rows.

        A loss is its slopes above and below the tube, and half the tube's width.
        """
        if not rows_for_curves(X_val, y_val, sample_weight_val):
            return None
        (cross,) = self._cross(X_val)
        y = as_responses(y_val, cross.shape[1], name="y_val") - self.center_
        weights = as_weights(sample_weight_val, y.size, name="sample_weight_val")
        return RegressorCurves(cross, y, weights, losses)
