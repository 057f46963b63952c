"""What all support vector machines with a path share."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Certificate
from counterpoise.convex.quadratic_path import centre_bias, crossover
from counterpoise.learners.svm.gram import named_kernel
from counterpoise.learners.svm.machine import Machine
from counterpoise.learners.svm.path import Segment, SVMPath
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import (
    InvalidInput,
    as_weights,
    check_integer,
    check_number,
    estimator_matrix,
)

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
            raise InvalidInput(
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
            path = machine.copy().reweigh(c, taped=True)
            assert path is not None
            paths.append(path)
        return (Segment(0.0, 1.0, tuple(paths)),)

    def _c_path(self, ends: Any) -> tuple[Segment, ...]:
        """Return the regularisation path, a segment a decade: theta is linear in C."""
        low, high = two_numbers("C", ends)
        if low <= 0.0 or high <= 0.0:
            raise InvalidInput(f"C must be positive, got ({low:g}, {high:g})")
        n_decades = max(1, int(np.ceil(abs(np.log10(high / low)) - 1e-9)))
        grid = np.geomspace(low, high, n_decades + 1)
        grid[0], grid[-1] = low, high
        machines = [machine.copy() for machine in self._live()]
        for machine in machines:
            machine.reweigh(self._bounds(self.sample_weight_, low))
            centre_bias(machine.follower)
        segments = []
        for start, stop in pairwise(grid):
            c = self._bounds(self.sample_weight_, float(stop))
            paths = [machine.reweigh(c, taped=True) for machine in machines]
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
            raise InvalidInput("y_add and sample_weight_add need X_add")
        weights = self.sample_weight_.copy()
        if sample_weight is not None:
            weights = as_weights(sample_weight, n).copy()
        X = self.X_fit_
        if X_add is not None:
            if self.kernel == "precomputed":
                raise InvalidInput("rows cannot be added to a precomputed kernel")
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
        raise InvalidInput(
            f"a precomputed kernel must be symmetric, got {K[i, j]:g} in row {i}, "
            f"column {j} and {K[j, i]:g} in row {j}, column {i}"
        )


def rows_to_remove(remove: Any, n: int) -> Indices:
    """Return which of n rows are meant by numbers of rows, or by a mask."""
    gone = np.atleast_1d(np.asarray(remove))
    if gone.dtype == bool:
        if gone.shape != (n,):
            raise InvalidInput(f"remove has shape {gone.shape}, there are {n} rows")
        return np.flatnonzero(gone)
    for row in gone.ravel().tolist():
        check_integer("remove", row, low=0, high=n - 1)
    return gone.ravel().astype(np.intp)


def rows_for_curves(X_val: Any, y_val: Any, sample_weight_val: Any) -> bool:
    """Return whether there are validation rows, all of what they need or nothing."""
    if X_val is None and y_val is None and sample_weight_val is None:
        return False
    if X_val is None or y_val is None:
        raise InvalidInput("X_val and y_val must be given together")
    return True


def two_numbers(name: str, ends: Any) -> tuple[float, float]:
    """Return both ends of a range."""
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be two numbers, got {ends!r}") from None
    return check_number(name, low), check_number(name, high)


def one_moves(**given: Any) -> str:
    """Return the one parameter that was given."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        words = ", ".join(given)
        raise InvalidInput(
            f"give exactly one of {words} to path, got {named or 'none'}"
        )
    return named[0]
