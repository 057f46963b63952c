"""The dual problem of weighted SVMs, and their base classes."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_classes, as_responses, as_weights
from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError, suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import (
    Kernel,
    auto_gamma,
    refuse_indefinite,
    scale_gamma,
)
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.quadratic_path.compiled import LOWER, UPPER
from counterpoise.optim.quadratic_path.follower import (
    Follower,
    WorkSpentError,
    carried_over,
    center_bias,
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
    ValidationCurve,
    confidences,
    pairs_of,
    winners,
)

KernelParameter: TypeAlias = str | Callable[[Array, Array], Array]
ClassWeight: TypeAlias = dict[object, float] | str | None
Labels: TypeAlias = NDArray[Any]
Target: TypeAlias = NDArray[Any]


class KernelParameters(Protocol):
    """An estimator with the parameters of a kernel."""

    kernel: KernelParameter
    gamma: float | str
    degree: int
    coef0: float


# -----------------------------------------------------------------------------
# The kernel that a machine's parameters name, and the rows of its Gram matrix.
# -----------------------------------------------------------------------------


KERNELS = ("linear", "poly", "rbf", "precomputed")


def named_kernel(estimator: KernelParameters, X: Array, weights: Array) -> Kernel:
    """Return the kernel that an estimator's parameters name."""
    kind = estimator.kernel
    if callable(kind):
        return Kernel(kind)
    if kind == "sigmoid":
        raise InvalidInputError(
            "kernel 'sigmoid' is not positive semidefinite: no exact path exists"
        )
    if kind not in KERNELS:
        words = ", ".join(map(repr, KERNELS))
        raise InvalidInputError(
            f"kernel must be one of {words} or a callable, got {kind}"
        )
    degree = check_integer("degree", estimator.degree, low=0)
    coef0 = check_number("coef0", estimator.coef0)
    refuse_indefinite(kind, coef0)
    gamma = check_number(
        "gamma", estimator.gamma, low=0, closed="neither", options=["scale", "auto"]
    )
    if not isinstance(gamma, float):
        gamma = auto_gamma(X) if gamma == "auto" else scale_gamma(X, weights)
    return Kernel(kind, gamma, degree, coef0)


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
    predictions: Labels
    error: float

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and lists."""
        return {
            "decision": self.decision.tolist(),
            "predictions": self.predictions.tolist(),
            "error": float(self.error),
        }


# -----------------------------------------------------------------------------
# One quadratic program on some of the training rows.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Layout:
    """The variables of one machine: one a training row, or two in regression.

    Attributes
    ----------
    rows : array of shape (n,)
        Which training rows the machine has.
    sign, p : arrays of shape (n,) or (2 n,)
        Of its variables; of two a row the first n are those above the target.
    low, high : float
        A variable of a row with the weight bound c lies between low * c and high * c.
    d : float
        What the signed variables add up to.
    takes_part : array of shape (n,) of bool, or None
        Rows for which it is False have no weight in this machine.
    """

    rows: Indices
    sign: Array
    p: Array
    low: float = 0.0
    high: float = 1.0
    d: float = 0.0
    takes_part: NDArray[np.bool_] | None = None

    @property
    def twice(self) -> bool:
        """Whether every row has two variables."""
        return self.sign.size > self.rows.size

    def follower(self, gram: KernelRows) -> Follower:
        """Return a follower of the machine's problem, without a solution."""
        n = self.rows.size
        return Follower(gram, self.sign, np.arange(self.sign.size) % n)

    def box(self, c: Array) -> tuple[Array, Array]:
        """Return the bounds that the weight bounds of all training rows give."""
        own: Array = c[self.rows]
        if self.takes_part is not None:
            own = np.where(self.takes_part, own, 0.0)
        if self.twice:
            own = np.concatenate([own, own])
        return self.low * own, self.high * own

    def coefficients(self, a: Array) -> Array:
        """Return the coefficient of every row from the variables."""
        signed = self.sign * a
        n = self.rows.size
        out: Array = signed[:n] + signed[n:] if self.twice else signed
        return out


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine with its solution, which moves with the weight bounds."""

    layout: Layout
    follower: Follower

    @property
    def rows(self) -> Indices:
        """Which training rows the machine has."""
        return self.layout.rows

    def reweight(self, c: Array, *, logged: bool = False) -> ParametricPath:
        """Move to the weight bounds c of all training rows; return the path."""
        lower, upper = self.layout.box(c)
        return self.follower.move(lower=lower, upper=upper, logged=logged)

    def copy(self) -> "Machine":
        """Return a machine with the same solution that moves on its own."""
        return replace(self, follower=self.follower.copy())

    def left_out(self, c: Array) -> Array:
        """Return the function at every own row when that row is left out.

        Rows without a coefficient change nothing when they go.
        """
        follower = self.follower
        n = self.rows.size
        out = follower.f.copy()
        lower, upper = self.layout.box(c)
        used = follower.a != 0.0
        if self.layout.twice:
            used = used[:n] | used[n:]
        for i in np.flatnonzero(used):
            low, high = lower.copy(), upper.copy()
            low[i::n] = high[i::n] = 0.0
            other = follower.copy()
            other.move(lower=low, upper=high, logged=False)
            center_bias(other)
            out[i] = other.f[i]
        return out

    def carried_to(self, layout: Layout, gram: KernelRows, old: Indices) -> "Machine":
        """Return the machine on other rows; `old` is which own row each was, or -1."""
        source = old
        if layout.twice:
            below = np.where(old >= 0, old + self.rows.size, -1)
            source = np.concatenate([old, below])
        row = np.arange(layout.sign.size) % layout.rows.size
        follower = carried_over(
            self.follower, gram, layout.sign, row, layout.p, source, old
        )
        return Machine(layout, follower)


def extended_gram(
    known: KernelRows, kernel: Kernel, X: Array, n_bytes: float, old: Indices
) -> KernelRows:
    """Return the Gram matrix of other rows; entries between old ones are copied."""
    is_old = old >= 0
    fits = 8.0 * old.size**2 <= n_bytes
    if kernel.kind == "precomputed" or not (fits and isinstance(known, DenseRows)):
        return gram_rows(kernel, X, n_bytes)
    if is_old.all():
        return DenseRows(known.block(old, old))
    K = np.empty((old.size, old.size))
    there, new = np.flatnonzero(is_old), np.flatnonzero(~is_old)
    K[np.ix_(there, there)] = known.block(old[there], old[there])
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
    status, layout = follower.state.status, machine.layout
    # How far the bound that a variable sits on moves with its row's weight bound.
    rate = np.where(status == LOWER, layout.low, 0.0)
    rate[status == UPPER] = layout.high
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


def solve_first(
    machine: Machine,
    kernel: Kernel,
    X: Array,
    c: Array,
    tol: float,
    epsilon: float | None = None,
    y: Array | None = None,
) -> None:
    """Solve a classifier, or a regressor (`epsilon` and `y` given), exactly.

    `c` are the weight bounds of all training rows, X the machine's own rows.
    """
    follower, layout = machine.follower, machine.layout
    lower, upper = layout.box(c)
    n = follower.rows.size
    few = n <= ROWS_FROM_ZERO
    solved = False
    if isinstance(follower.rows, DenseRows) and (few or upper.max() >= LARGE_C):
        budget = None if few else WORTH * n**2
        try:
            from_zero(follower, layout.p, lower, upper, max_work=budget)
            solved = True
        except WorkSpentError:
            pass
    if not solved:
        target = layout.sign if y is None else y
        a, bias = _libsvm(machine, kernel, X, target, c[machine.rows], tol, epsilon)
        crossover(follower, a, bias, layout.p, lower, upper)
    center_bias(follower)


def _libsvm(
    machine: Machine,
    kernel: Kernel,
    X: Array,
    target: Array,
    c: Array,
    tol: float,
    epsilon: float | None,
) -> tuple[Array, float]:
    """Return LIBSVM's approximate variables and bias."""
    used = np.flatnonzero(c > 0.0)
    rows, layout = machine.follower.rows, machine.layout
    options: dict[str, object] = {"kernel": "precomputed"}
    if isinstance(rows, DenseRows):
        data = rows.block(used, used)
    else:
        data = X[used]
        options = {
            "kernel": kernel.kind,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }
    options |= {"tol": tol, "C": 1.0, "max_iter": STEPS_A_ROW * used.size}
    model = SVC(**options) if epsilon is None else SVR(epsilon=epsilon, **options)
    with suppress_warnings(ConvergenceWarning):
        model.fit(data, target[used], sample_weight=c[used])
    support, dual = used[model.support_], model.dual_coef_[0]
    a = np.zeros(layout.sign.size)
    a[support] = np.abs(dual) if epsilon is None else dual
    if layout.twice:
        a[support] = np.maximum(dual, 0.0)
        a[layout.rows.size + support] = np.maximum(-dual, 0.0)
    return a, float(model.intercept_[0])


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
    kernel: KernelParameter
    gamma: float | str
    degree: int
    coef0: float
    tol: float
    cache_size: float
    max_iter: int = -1

    @property
    @abstractmethod
    def _target(self) -> Target:
        """The target of every training row."""

    @abstractmethod
    def _layouts(self, target: Target) -> list[Layout]:
        """Return the variables of every machine on rows with this target."""

    @abstractmethod
    def _answers(self, functions: Array) -> Labels:
        """Return the predictions where the machines' functions have these values."""

    @abstractmethod
    def _report(self) -> None:
        """Set the public attributes from `coefficients` and biases."""

    def _report_support(self) -> Array:
        """Set the support vectors and their coefficients; return the biases."""
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

    def _set_rows(
        self, X: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array]:
        """Validate and keep the training rows, their weights and the kernel."""
        self._check()
        X = estimator_matrix(self, X, reset=True)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise InvalidInputError(
                    f"Precomputed matrix must be a square matrix, got shape {X.shape}"
                )
            _check_symmetric(X)
        else:
            # The fitted rows must not change when the user's array does.
            X = X.copy()
        weights = as_weights(sample_weight, len(X)).copy()
        self.kernel_ = named_kernel(self, X, weights)
        self.X_fit_ = X
        self.sample_weight_ = weights
        return X, weights

    @property
    def _bytes(self) -> float:
        return 1e6 * float(self.cache_size)

    def _gram(self, layout: Layout) -> KernelRows:
        X = self.X_fit_
        if layout.rows.size < len(X):
            X = self.kernel_.part(X, layout.rows)
        return gram_rows(self.kernel_, X, self._bytes)

    def _unsolved(self) -> list[Machine]:
        """Return the machines without a solution."""
        machines = []
        for layout in self._layouts(self._target):
            follower = layout.follower(self._gram(layout))
            if self.max_iter > 0:
                follower.max_events = int(self.max_iter)
            machines.append(Machine(layout, follower))
        return machines

    def _keep(self, machines: list[Machine]) -> None:
        self.machines_ = machines
        self.n_iter_ = np.array([max(1, one.follower.n_events) for one in machines])
        self.solutions_ = [
            (one.follower.a.copy(), one.follower.bias) for one in machines
        ]
        self._report()

    def _live(self) -> list[Machine]:
        """Return the machines, made again from their solutions if need be."""
        check_is_fitted(self)
        if not hasattr(self, "machines_"):
            machines = self._unsolved()
            c = self._bounds(self.sample_weight_)
            for machine, (a, bias) in zip(machines, self.solutions_, strict=True):
                p, d = machine.layout.p, machine.layout.d
                crossover(machine.follower, a, bias, p, *machine.layout.box(c), d)
            self.machines_ = machines
        return self.machines_

    def certify(self) -> Certificate:
        """Prove the fitted solution from scratch.

        Of several machines the proof with the largest residual is returned.
        """
        proofs = [machine.follower.certify() for machine in self._live()]
        return max(proofs, key=lambda proof: proof.residual or 0.0)

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = dict(super().__getstate__())
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
        """Return the support rows, their coefficients a machine, and the biases."""
        betas = np.zeros((len(self.X_fit_), len(self.solutions_)))
        for k, layout in enumerate(self._layouts(self._target)):
            betas[layout.rows, k] = layout.coefficients(self.solutions_[k][0])
        support = np.flatnonzero(betas.any(axis=1))
        biases = np.array([bias for _, bias in self.solutions_])
        return support, betas[support], biases

    def _functions(self, X: ArrayLike) -> Array:
        """Return every machine's function at new rows."""
        check_is_fitted(self)
        X = estimator_matrix(self, X, reset=False)
        support, betas, biases = self._coefficients()
        out = np.tile(biases, (len(X), 1))
        if not support.size:
            return out
        for first in range(0, len(X), MACHINE_ROWS):
            batch = slice(first, first + MACHINE_ROWS)
            out[batch] += self.kernel_.cross(X[batch], self.X_fit_, support) @ betas
        return out

    def _cross(self, X: object) -> list[Array]:
        """Return the kernel of every machine's rows with new ones, (n_rows, m) each."""
        X = estimator_matrix(self, X, reset=False)
        return [
            np.ascontiguousarray(self.kernel_.cross(X, self.X_fit_, layout.rows).T)
            for layout in self._layouts(self._target)
        ]

    def _bounds(
        self,
        weights: Array,
        *,
        C: float | None = None,
        target: Target | None = None,
    ) -> Array:
        """Return the weight bound of every row."""
        out: Array = (self.C if C is None else C) * weights
        return out

    def _follow(
        self,
        ways: Mapping[str, tuple[Callable[[object], tuple[Segment, ...]], object]],
        curves: Callable[[SVMPath, str | None], ValidationCurve] | None,
    ) -> SVMPath:
        """Follow the one parameter whose end is not None; `ways` says how."""
        moved = [name for name, (_, end) in ways.items() if end is not None]
        if len(moved) != 1:
            raise InvalidInputError(
                f"give exactly one of {', '.join(ways)} to path, got {moved or 'none'}"
            )
        follow, end = ways[moved[0]]
        self._live()
        segments = follow(end)
        # The model may be moved or fitted again; the path stays what it is.
        return SVMPath(moved[0], copy(self), segments, curves)

    def _weight_path(self, sample_weight: object) -> tuple[Segment, ...]:
        c = self._bounds(as_weights(sample_weight, len(self.X_fit_)))
        paths = (one.copy().reweight(c, logged=True) for one in self._live())
        return (Segment(0.0, 1.0, tuple(paths)),)

    def _c_path(self, ends: object) -> tuple[Segment, ...]:
        """Return the regularization path, a segment a decade: theta is linear in C."""
        low, high = two_numbers("C", ends)
        if low <= 0.0 or high <= 0.0:
            raise InvalidInputError(f"C must be positive, got ({low:g}, {high:g})")
        n_decades = max(1, int(np.ceil(abs(np.log10(high / low)) - 1e-9)))
        grid = np.geomspace(low, high, n_decades + 1).tolist()
        grid[0], grid[-1] = low, high
        machines = [machine.copy() for machine in self._live()]
        for machine in machines:
            machine.reweight(self._bounds(self.sample_weight_, C=low))
            center_bias(machine.follower)
        segments = []
        for begin, end in pairwise(grid):
            c = self._bounds(self.sample_weight_, C=end)
            paths = tuple(machine.reweight(c, logged=True) for machine in machines)
            segments.append(Segment(begin, end, paths))
        return tuple(segments)

    def _at(
        self,
        parameter: str,
        theta: float,
        solutions: list[tuple[Array, float]],
        segment: Segment,
        t: float,
    ) -> "PathSVM":
        """Return the estimator whose solution is at theta of a path."""
        out = clone(self)
        for name, value in vars(self).items():
            if name.endswith("_") and name != "machines_":
                setattr(out, name, value)
        if parameter == "sample_weight":
            # Of any machine: its rows' bounds in units of C.
            weights = self.sample_weight_.copy()
            unit = self._bounds(np.ones(len(weights)))
            layouts = self._layouts(self._target)
            for layout, path in zip(layouts, segment.paths, strict=True):
                line, rows = path.line, layout.rows
                width = line.upper - line.lower + t * (line.dupper - line.dlower)
                weights[rows] = width[: rows.size] / (
                    (layout.high - layout.low) * unit[rows]
                )
            out.sample_weight_ = weights
        else:
            is_own = parameter in self.get_params()
            setattr(out, parameter if is_own else f"{parameter}_", float(theta))
        out.solutions_ = solutions
        out._report()
        return out

    def _moved_rows(
        self,
        sample_weight: ArrayLike | None,
        X_add: ArrayLike | None,
        y_add: ArrayLike | None,
        sample_weight_add: ArrayLike | None,
        remove: ArrayLike | None,
    ) -> tuple[Array, Array, Indices]:
        """Return the rows after adding, their weights, and which of them stay."""
        n = len(self.X_fit_)
        if X_add is None and not (y_add is None and sample_weight_add is None):
            raise InvalidInputError("y_add and sample_weight_add need X_add")
        weights, X = self.sample_weight_.copy(), self.X_fit_
        if sample_weight is not None:
            weights = as_weights(sample_weight, n).copy()
        if X_add is not None:
            if self.kernel == "precomputed":
                raise InvalidInputError("rows cannot be added to a precomputed kernel")
            more = estimator_matrix(self, X_add, reset=False)
            X = np.vstack([X, more])
            name = "sample_weight_add"
            added = as_weights(sample_weight_add, len(more), name=name)
            weights = np.concatenate([weights, added])
        stays = np.ones(len(X), dtype=bool)
        if remove is not None:
            stays[rows_to_remove(remove, n)] = False
        weights[~stays] = 0.0
        return X, weights, np.flatnonzero(stays)

    def _move_rows(
        self, X: Array, target: Target, weights: Array, stays: Indices
    ) -> tuple[list[Machine], Target]:
        """Add rows, move the weights, remove rows; return machines and target left."""
        machines, n = self._live(), len(X)
        if n > len(self.X_fit_):
            machines = self._on_rows(machines, X, target, np.arange(n))
        c = self._bounds(weights, target=target)
        for machine in machines:
            machine.reweight(c)
        if stays.size < n:
            X = self.kernel_.part(X, stays)
            target, weights = target[stays], weights[stays]
            machines = self._on_rows(machines, X, target, stays)
        for machine in machines:
            center_bias(machine.follower)
        self.X_fit_, self.sample_weight_ = X, weights
        if self.kernel == "precomputed":
            self.n_features_in_ = len(X)
        return machines, target

    def _on_rows(
        self,
        machines: list[Machine],
        X: Array,
        target: Target,
        source: Indices,
    ) -> list[Machine]:
        """Return the machines on other rows; `source` is which row each was."""
        out = []
        for machine, layout in zip(machines, self._layouts(target), strict=True):
            position = np.full(max(source.max(), machine.rows.max()) + 1, -1)
            position[machine.rows] = np.arange(machine.rows.size)
            old = position[source[layout.rows]]
            own = self.kernel_.part(X, layout.rows)
            known = machine.follower.rows
            gram = extended_gram(known, self.kernel_, own, self._bytes, old)
            out.append(machine.carried_to(layout, gram, old))
        return out

    def __sklearn_tags__(self) -> Tags:
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


def rows_to_remove(remove: ArrayLike, n: int) -> Indices:
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


def has_validation_rows(
    X_val: ArrayLike | None, y_val: ArrayLike | None, weight: ArrayLike | None
) -> bool:
    """Return whether validation rows were given, with their targets."""
    if X_val is None and y_val is None and weight is None:
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


# -----------------------------------------------------------------------------
# What classifiers of two classes have in common once there are more.
# -----------------------------------------------------------------------------


class ClassifierSVM(ClassifierMixin, PathSVM):
    """Labels of machines that are each of two classes, one against one.

    A machine's function is positive for the second class of two, and for the first of
    its pair where there are more, as in scikit-learn.
    """

    class_weight: ClassWeight
    decision_function_shape: str = "ovr"
    break_ties: bool = False

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the decision function: (n,) for two classes, else a column a class."""
        return self._shaped(self._functions(X))

    def predict(self, X: ArrayLike) -> Labels:
        """Return the classes."""
        return self._answers(self._functions(X))

    @property
    def _target(self) -> Target:
        return self.codes_

    def _layouts(self, target: Target) -> list[Layout]:
        layouts = []
        for i, j in pairs_of(len(self.classes_)):
            rows = np.flatnonzero((target == i) | (target == j))
            positive = j if len(self.classes_) == 2 else i
            sign = np.where(target[rows] == positive, 1.0, -1.0)
            layouts.append(Layout(rows, sign, np.ones(rows.size)))
        return layouts

    def _know_classes(self, labels: Labels) -> None:
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
            total = mass.sum()
            # A class without rows needs no factor.
            mass = np.where(mass > 0.0, mass, total / n_classes)
            balanced: Array = total / (n_classes * mass)
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

    def _bounds(
        self,
        weights: Array,
        *,
        C: float | None = None,
        target: Target | None = None,
    ) -> Array:
        codes = self.codes_ if target is None else target
        out: Array = (self.C if C is None else C) * self.class_weight_[codes] * weights
        return out

    def _codes(self, y: object, n_rows: int, *, name: str = "y") -> Indices:
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

    def _answers(self, functions: Array) -> Labels:
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
        codes = self.codes_[support]
        n_classes = len(self.classes_)
        self.support_, self.intercept_ = support, biases
        self.n_support_ = np.bincount(codes, minlength=n_classes)
        if self.kernel != "precomputed":
            self.support_vectors_ = self.X_fit_[support]
        if n_classes == 2:
            self.dual_coef_ = betas.T.copy()
            return
        self.dual_coef_ = np.zeros((n_classes - 1, support.size))
        for k, (i, j) in enumerate(pairs_of(n_classes)):
            self.dual_coef_[j - 1, codes == i] = betas[codes == i, k]
            self.dual_coef_[i, codes == j] = betas[codes == j, k]


# -----------------------------------------------------------------------------
# What machines share that answer with a number: the regressor, and the quantile.
# -----------------------------------------------------------------------------


class ResponseSVM(RegressorMixin, PathSVM):
    """A machine whose function, moved back by `center_`, is its answer."""

    def predict(self, X: ArrayLike) -> Array:
        """Return the predicted values, or quantiles.

        Parameters
        ----------
        X : array of shape (m, d), or (m, n) if precomputed
        """
        return self._answers(self._functions(X))

    @property
    def _target(self) -> Target:
        return self.y_fit_

    def _set_training_data(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array]:
        """Validate and keep rows, responses and weights."""
        X, weights = self._set_rows(X, sample_weight)
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
        X_val: ArrayLike | None,
        y_val: ArrayLike | None,
        sample_weight_val: ArrayLike | None,
        losses: dict[str, tuple[float, float, float]],
    ) -> RegressorCurves | None:
        """Return the curves of losses at validation rows; None without rows.

        A loss is its slopes above and below the tube, and half the tube's width.
        """
        if not has_validation_rows(X_val, y_val, sample_weight_val):
            return None
        (cross,) = self._cross(X_val)
        y = as_responses(y_val, cross.shape[1], name="y_val") - self.center_
        weights = as_weights(sample_weight_val, y.size, name="sample_weight_val")
        return RegressorCurves(cross, y, weights, losses)
