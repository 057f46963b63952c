"""The exact curve of wrong labels, from where points change sides."""

from dataclasses import dataclass

import numpy as np

from counterpoise.learners.svm.curves.flips import flips
from counterpoise.learners.svm.curves.tracing import Trace
from counterpoise.learners.svm.curves.validation_curve import (
    ValidationCurve,
    hinge_curve,
    zero_one,
)
from counterpoise.learners.svm.path import SVMPath
from counterpoise.learners.svm.voting import winners
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidInput, check_choice


@dataclass(frozen=True, eq=False)
class ClassifierCurves:
    """Validation rows of a classifier: kernel with each machine's rows, and labels."""

    cross: list[Array]
    codes: Indices
    weights: Array
    n_classes: int

    def __call__(self, path: SVMPath, loss: str | None) -> ValidationCurve:
        """Return the curve of "error" (by default) or "hinge"."""
        check_choice("loss", loss or "error", ["error", "hinge"])
        traces = path.traces(self.cross)
        if loss != "hinge":
            return error_curve(path, traces, self.codes, self.weights, self.n_classes)
        if self.n_classes > 2:
            raise InvalidInput("the hinge loss is for two classes")
        y = np.where(self.codes == 1, 1.0, -1.0)
        one = np.ones(y.size)
        return hinge_curve("hinge", traces[0], [(one, one, y)], self.weights)


def error_curve(
    path: SVMPath, traces: list[Trace], codes: Indices, weights: Array, n_classes: int
) -> ValidationCurve:
    """Return the curve of the weighted share of wrong labels."""
    share = weights / weights.sum()
    crossings = [flips(one) for one in traces]
    start, stop = path.segments[0].start, path.segments[-1].stop
    sides = np.column_stack([one.sides for one in crossings])
    first = float(share @ (winners(sides, n_classes) != codes))
    thetas = np.concatenate([one.thetas for one in crossings])
    points = np.concatenate([one.points for one in crossings])
    pair = np.repeat(np.arange(len(crossings)), [one.points.size for one in crossings])
    sign = 1.0 if stop >= start else -1.0
    order = np.argsort(sign * thetas, kind="stable")
    thetas, points, pair = thetas[order], points[order], pair[order]
    changes = np.zeros(thetas.size)
    if n_classes == 2:
        # The k-th flip of a point ends on the side it began on if k is even.
        by_point = np.argsort(points, kind="stable")
        ordered = points[by_point]
        begun = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        begun = begun[: ordered.size]
        counts = np.diff(np.append(begun, ordered.size))
        rank = np.arange(ordered.size) - np.repeat(begun, counts)
        side = np.where(rank % 2 == 0, -1.0, 1.0) * sides[ordered, 0]
        wrong = (side > 0.0) != (codes[ordered] == 1)
        changes[by_point] = np.where(wrong, 1.0, -1.0) * share[ordered]
    else:
        sides = sides.copy()
        for e, (point, k) in enumerate(zip(points, pair, strict=True)):
            row = sides[point : point + 1]
            was = winners(row, n_classes)[0] != codes[point]
            row[0, k] = -row[0, k]
            wrong = winners(row, n_classes)[0] != codes[point]
            changes[e] = share[point] * (float(wrong) - float(was))
    return zero_one("error", start, stop, first, thetas, changes)
