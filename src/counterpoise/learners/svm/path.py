"""The record of a path: every model on it, exact."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.convex import Certificate
from counterpoise.convex.quadratic_path import ParametricPath
from counterpoise.learners.svm.curves.flips import flips
from counterpoise.learners.svm.curves.tracing import Trace, rescaled, trace
from counterpoise.learners.svm.curves.validation_curve import ValidationCurve
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput

# Labels of variables in words.
PLACES = ("below", "above", "margin")


@dataclass(frozen=True, eq=False)
class Segment:
    """A straight line of data between two values of theta, a path a machine."""

    start: float
    stop: float
    paths: tuple[ParametricPath, ...]


@dataclass(frozen=True, eq=False)
class SVMPath:
    """All models on a path: exact at every theta, with the curve of their errors.

    Made by the `path` method of a support vector machine.

    Attributes
    ----------
    parameter : str
        What moves: "sample_weight" (theta from 0 to 1), or "C", "epsilon", "nu", "tau"
        (theta is its value).
    estimator : estimator
        The fitted model that the path belongs to, as it was when the path was made.
    segments : tuple of Segment
    curves : callable or None
        Makes the validation curve of a loss; None if no validation rows were given.

    Notes
    -----
    Dual coefficients may jump where rows depend on one another; the decision function
    is continuous in theta but at the thetas of `jumps`, where no row is on the margin
    and the bias moves through its interval. There, limits from above are returned.
    """

    parameter: str
    estimator: Any
    segments: tuple[Segment, ...]
    curves: Callable[["SVMPath", str | None], ValidationCurve] | None = None

    def __repr__(self) -> str:
        start, stop = self.segments[0].start, self.segments[-1].stop
        return (
            f"{type(self).__name__}({self.estimator!r}, {self.parameter} from "
            f"{start:g} to {stop:g}, {self.n_events} events)"
        )

    @cached_property
    def thetas(self) -> Array:
        """The breakpoints of all machines, both ends among them."""
        parts = [
            one.start + path.thetas * (one.stop - one.start)
            for one in self.segments
            for path in one.paths
        ]
        out: Array = np.unique(np.concatenate(parts))
        return out if self.segments[-1].stop >= self.segments[0].start else out[::-1]

    @property
    def n_events(self) -> int:
        """The number of rows that changed sides along the path."""
        return sum(path.n_events for one in self.segments for path in one.paths)

    @property
    def jumps(self) -> Array:
        """The thetas at which a bias jumps."""
        parts = [
            one.start + path.jumps() * (one.stop - one.start)
            for one in self.segments
            for path in one.paths
        ]
        out: Array = np.unique(np.concatenate(parts))
        return out

    def events(self) -> list[dict[str, Any]]:
        """Return every change: theta, machine, training row, from where, to where.

        Places are "below" and "above" (the two bounds) and "margin". In a regressor
        with a tube, "side" is 1 for the bound above the target and -1 for that below.
        """
        out = []
        places = self.estimator._places()
        for one in self.segments:
            for k, path in enumerate(one.paths):
                rows, _, twice = places[k]
                thetas = one.start + path.event_thetas * (one.stop - one.start)
                for theta, i, old, new in zip(
                    thetas.tolist(),
                    path.event_variables.tolist(),
                    path.event_from.tolist(),
                    path.event_to.tolist(),
                    strict=True,
                ):
                    event = {
                        "theta": theta,
                        "machine": k,
                        "row": int(rows[i % rows.size]),
                        "from": PLACES[old],
                        "to": PLACES[new],
                    }
                    if twice:
                        event["side"] = 1 if i < rows.size else -1
                    out.append(event)
        return out

    def at(self, theta: float) -> Any:
        """Return the fitted estimator at theta."""
        segment, t = self._find(theta)
        solutions = [(path.at(t), path.bias(t)) for path in segment.paths]
        return self.estimator._at(self.parameter, theta, solutions, segment, t)

    def decision_function(self, X: Any, theta: float) -> Array:
        """Return the decision function at theta."""
        model = self.at(theta)
        name = "decision_function" if hasattr(model, "decision_function") else "predict"
        out: Array = getattr(model, name)(X)
        return out

    def predict(self, X: Any, thetas: Any) -> Any:
        """Return what the models at many thetas predict, a row a theta.

        The functions are followed along the path once, at the cost of a few models.

        Parameters
        ----------
        X : array of shape (m, d)
        thetas : array of shape (k,)

        Returns
        -------
        array of shape (k, m)
        """
        thetas = np.atleast_1d(np.asarray(thetas, dtype=float))
        for theta in thetas.tolist():
            self._find(theta)
        traces = self.traces(self.estimator._cross(X))
        shape = (thetas.size, traces[0].last.size)
        functions = np.stack([one.at_all(thetas).ravel() for one in traces], axis=1)
        return self.estimator._answers(functions).reshape(shape)

    def switches(self, X: Any) -> Array:
        """Return the thetas at which the function of a machine changes its sign.

        Between two of them in a row, a classifier predicts the same for all rows,
        unless it breaks ties of more than two classes.
        """
        parts = [flips(one).thetas for one in self.traces(self.estimator._cross(X))]
        out: Array = np.unique(np.concatenate(parts))
        return out if self.segments[-1].stop >= self.segments[0].start else out[::-1]

    def certify(self, theta: float | None = None) -> Certificate:
        """Prove the solution at theta from scratch, or at every breakpoint.

        Of several proofs the one with the largest residual is returned.
        """
        if theta is not None:
            segment, t = self._find(theta)
            proofs = [path.certify(t) for path in segment.paths]
        else:
            proofs = [
                path.certify(float(t))
                for one in self.segments
                for path in one.paths
                for t in path.thetas
            ]
        return max(proofs, key=lambda one: one.residual or 0.0)

    @cached_property
    def validation_error(self) -> ValidationCurve:
        """The exact curve of the validation error over theta.

        The share of wrong labels for classifiers, the mean absolute error for
        regressors; validation rows must have been given to `path`.
        """
        return self.validation_curve()

    def validation_curve(self, loss: str | None = None) -> ValidationCurve:
        """Return the exact curve of another loss ("hinge", "epsilon", ...)."""
        if self.curves is None:
            raise InvalidInput(
                "path was made without X_val and y_val: no curve is there"
            )
        return self.curves(self, loss)

    @property
    def optimal_intervals(self) -> tuple[tuple[float, float], ...]:
        """All intervals of theta on which the validation error is smallest."""
        return self.validation_error.optimal_intervals

    @property
    def best_interval(self) -> tuple[float, float]:
        """The longest of the optimal intervals."""
        return self.validation_error.best_interval

    def traces(self, cross: list[Array]) -> list[Trace]:
        """Return every machine's function at points of which the kernel is given."""
        ends = [(one.start, one.stop) for one in self.segments]
        return [
            rescaled([trace(one.paths[k], kernel) for one in self.segments], ends)
            for k, kernel in enumerate(cross)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists: breakpoints, margin sizes, biases, curve."""
        machines = []
        for k in range(len(self.segments[0].paths)):
            paths = [(one, one.paths[k]) for one in self.segments]
            machines.append(
                {
                    "thetas": [
                        float(one.start + t * (one.stop - one.start))
                        for one, path in paths
                        for t in path.starts
                    ],
                    "biases": [float(b) for _, path in paths for b in path.biases],
                    "margin": [int(m) for _, p in paths for m in p.margin_sizes()],
                    "residual": max(
                        (float(r) for _, path in paths for r in path.residuals),
                        default=0.0,
                    ),
                }
            )
        return {
            "parameter": self.parameter,
            "start": float(self.segments[0].start),
            "stop": float(self.segments[-1].stop),
            "n_events": self.n_events,
            "machines": machines,
            "validation": self.validation_error.to_dict() if self.curves else None,
        }

    def _find(self, theta: float) -> tuple[Segment, float]:
        first, last = self.segments[0].start, self.segments[-1].stop
        low, high = sorted((first, last))
        if not low <= theta <= high:
            raise InvalidInput(
                f"theta must be between {low:g} and {high:g}, got {theta:g}"
            )
        sign = 1.0 if last >= first else -1.0
        for one in self.segments:
            if sign * theta < sign * one.stop or one is self.segments[-1]:
                span = one.stop - one.start
                return one, (theta - one.start) / span if span else 1.0
        raise AssertionError("a theta between the ends is in a segment")
