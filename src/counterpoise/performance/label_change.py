"""Concept drift: do labeled target rows contradict the source model?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats

from counterpoise.data.arrays import Matrix
from counterpoise.data.columns import weighted_quantile
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.intervals import effective_rows, weighted_mean_error
from counterpoise.performance.loss_model import fit_line, fit_loss_model
from counterpoise.performance.metrics import SMALLEST_PROBABILITY, Labels, Predictions

# Columns along which what is left is looked at, beside the prediction.
STRONG_COLUMNS = 3
# What is less than this share of the strongest is not strong.
STRONG_FROM = 0.5
# A column this close to a direction that is there already is no other.
SAME_DIRECTION = 0.95
# No row lies further along a direction, in standard deviations.
FURTHEST = 3.0
# A class is looked at if so many labeled rows should have it, and have it not.
FEWEST_EXPECTED = 5.0
# Weights are cut at this quantile, as those of the estimates are.
CUT_AT = 0.99

MEAN, SLOPE, COLUMN, LOSS = "mean", "slope", "column", "loss"


@dataclass(frozen=True)
class Direction:
    """What is left of the labels along one direction, target against source.

    Attributes
    ----------
    kind : {"mean", "slope", "column", "loss"}
        All rows alike; along the prediction; along a column; the mean loss.
    column : str or None
        Which column.
    of : str or None
        Which class or output, where there are several.
    difference, error : float
        How much more is left of labeled target rows than of weighted source rows, and
        the standard error of that.
    statistic, p_value : float
        Their ratio, and how often chance does more than that (two-sided, Student).
    """

    kind: str
    column: str | None
    of: str | None
    difference: float
    error: float
    statistic: float
    p_value: float

    def __str__(self) -> str:
        along = {
            MEAN: "in the mean",
            SLOPE: "along the prediction",
            COLUMN: f"along {self.column}",
            LOSS: "in the mean loss",
        }[self.kind]
        return along if self.of is None else f"of {self.of!r} {along}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class LabeledSample:
    """Rows with labels and with what a model says of them.

    Attributes
    ----------
    answers : Answers
    labels : array of shape (n,) or (n, n_outputs)
    rows : matrix of shape (n, d) or None
        As numbers; None or sparse: no column is looked at.
    """

    answers: Predictions
    labels: Labels
    rows: Matrix | None


def residual_directions(
    source: LabeledSample,
    ratio: Array,
    counts: Array,
    target: LabeledSample,
    names: Sequence[str] | None,
    seed: int,
    groups: Indices | None = None,
) -> tuple[Direction, ...]:
    r"""Return tests of p(y | x), one a direction, that are blind to calibration.

    A label's residual is :math:`r = y - q(x) - g(x)`: of a classifier :math:`y` is the
    indicator of a class and :math:`q` the model's probability, its log-odds moved by a
    line to the labels of weighted source rows (`fit_line`); of a regressor :math:`q` is
    the prediction, moved by a weighted line; of a classifier without probabilities the
    class's weighted share. :math:`g` is a cross-fitted regression of :math:`y - q` on
    the row and the prediction (`fit_loss_model`), so that a model that is badly
    calibrated, or wrong somewhere, is not called a change. Along a direction :math:`z`

    .. math:: d = \mathrm{mean}_l\, z_l r_l - \sum_i \bar w_i z_i r_i, \qquad
        e^2 = \frac{1}{k} \max\Bigl(\mathrm{var}_l(z r),
        \sum_i \bar w_i (z_i r_i - \overline{z r})^2\Bigr)
        + \sum_i \bar w_i^2 (z_i r_i - \overline{z r})^2

    over k labeled target rows and source rows with weights :math:`\bar w` that are cut
    at their 99 % quantile and sum to one; :math:`d / e` is Student's with the smaller
    of k and the effective source rows, less one, degrees of freedom. :math:`d` is zero
    up to chance if p(y | x) is the same, the weights being the ratio or :math:`q + g`
    right; the last term is what the source does not know.

    The directions: :math:`z = 1`; the prediction (log-odds of the class); the three
    columns of largest weighted correlation with the label, at least half of the
    largest, one within 0.95 of another direction left out; the last four less their
    weighted mean, in weighted standard deviations, cut at 3. Of more classes than two
    each that 5 labeled rows or more should have, and 5 should not, by :math:`q + g`.

    Parameters
    ----------
    source, target : LabeledSample
        Labeled rows that the model was not fitted to.
    ratio, counts : array of shape (n,)
        Density ratio target/source at source rows, and what the rows count.
    names : sequence of str or None
        Of the columns of the rows.
    seed : int
        Of the folds of g.
    groups : array of shape (n,) or None
        Numbers of groups of source rows that may be alike within.

    References
    ----------
    D. Cox, 1958, on slope and intercept of probabilities.
    """
    used = np.flatnonzero(ratio * counts > 0)
    if used.size < 2:
        return ()
    ratio, counts = ratio[used], counts[used]
    weights = counts * ratio
    source = LabeledSample(
        source.answers.take(used),
        source.labels[used],
        None if source.rows is None else source.rows[used],
    )
    groups = None if groups is None else np.unique(groups[used], return_inverse=True)[1]
    cut = counts * np.minimum(ratio, weighted_quantile(ratio, counts, CUT_AT))
    share = cut / cut.sum()
    dense = [None if sparse.issparse(s.rows) else s.rows for s in (source, target)]
    columns = _strong_columns(dense[0], source, share)
    found = []
    for part in _parts(source, target, weights):
        features = [
            a.columns if X is None else np.column_stack([X, a.columns])
            for X, a in zip(dense, (source.answers, target.answers), strict=True)
        ]
        model = fit_loss_model(
            features[0], part.rest, weights, features[1], seed, groups
        )
        expected = float((part.said_target + model.target).sum())
        k = len(target.labels)
        if part.is_one_of_many and not (
            FEWEST_EXPECTED <= expected <= k - FEWEST_EXPECTED
        ):
            continue
        rest, rest_target = part.rest - model.rows, part.rest_target - model.target
        for kind, j, z, z_target in _directions(part, dense, columns, share):
            column = None if j is None else _name(names, j)
            found.append(
                _tested(
                    kind,
                    column,
                    part.of,
                    z * rest,
                    z_target * rest_target,
                    share,
                    groups,
                )
            )
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Part:
    """One class or output: what is predicted, what is left, and where rows lie."""

    of: str | None
    is_one_of_many: bool
    said_target: Array
    rest: Array
    rest_target: Array
    along: Array
    along_target: Array


def _tested(
    kind: str,
    column: str | None,
    of: str | None,
    left: Array,
    left_target: Array,
    share: Array,
    groups: Indices | None,
) -> Direction:
    middle = float(share @ left)
    difference = float(left_target.mean()) - middle
    k = left_target.size
    spread = max(float(left_target.var(ddof=1)), float(share @ (left - middle) ** 2))
    of_source = weighted_mean_error(left, share, groups)
    error = float(np.hypot(np.sqrt(spread / k), of_source))
    freedom = max(min(k, effective_rows(share, groups)) - 1, 1.0)
    # Nothing left anywhere is no surprise.
    statistic = difference / error if error > 0 else 0.0
    p_value = float(2 * stats.t.sf(abs(statistic), freedom))
    return Direction(kind, column, of, difference, error, statistic, p_value)


def _directions(
    part: _Part,
    rows: Sequence[Matrix | None],
    columns: Sequence[int],
    share: Array,
) -> Iterator[tuple[str, int | None, Array, Array]]:
    yield MEAN, None, np.ones(part.rest.size), np.ones(part.rest_target.size)
    offered: list[tuple[str, int | None, Array, Array]]
    offered = [(SLOPE, None, part.along, part.along_target)]
    if rows[0] is not None and rows[1] is not None:
        offered += [(COLUMN, j, rows[0][:, j], rows[1][:, j]) for j in columns]
    taken: list[Array] = []
    for kind, j, z, z_target in offered:
        middle, spread = _moments(z, share)
        if not spread > 0 or not np.isfinite(z_target).all():
            continue
        z, z_target = (z - middle) / spread, (z_target - middle) / spread
        if any(abs(share @ (z * other)) > SAME_DIRECTION for other in taken):
            continue
        taken.append(z)
        yield (
            kind,
            j,
            np.clip(z, -FURTHEST, FURTHEST),
            np.clip(z_target, -FURTHEST, FURTHEST),
        )


def _strong_columns(
    rows: Matrix | None, source: LabeledSample, share: Array
) -> list[int]:
    """Return the columns of largest weighted correlation with the label, in order."""
    if rows is None:
        return []
    classes = source.answers.classes
    if classes is None:
        labels = np.asarray(source.labels, dtype=float).reshape(len(source.labels), -1)
    else:
        labels = (source.labels[:, None] == classes).astype(float)
    labels = labels - share @ labels
    spread = np.sqrt(share @ labels**2)
    labels = labels[:, spread > 0] / spread[spread > 0]
    if not labels.size:
        return []
    strength = np.zeros(rows.shape[1])
    for j in range(rows.shape[1]):
        middle, width = _moments(rows[:, j], share)
        if width > 0:
            z = (rows[:, j] - middle) / width
            strength[j] = np.abs((share * z) @ labels).max()
    order = np.argsort(-strength, kind="stable")[:STRONG_COLUMNS]
    least = STRONG_FROM * strength.max()
    return [int(j) for j in order if strength[j] >= max(least, 1e-12)]


def _moments(z: Array, share: Array) -> tuple[float, float]:
    """Return weighted mean and deviation; none where all are alike but for rounding."""
    if not np.isfinite(z).all():
        return 0.0, 0.0
    middle = float(share @ z)
    spread = float(np.sqrt(share @ (z - middle) ** 2))
    return middle, spread if spread > 1e-9 * np.abs(z).max() else 0.0


def _parts(
    source: LabeledSample, target: LabeledSample, weights: Array
) -> Iterator[_Part]:
    classes, known = source.answers.classes, target.answers.classes
    if classes is None or known is None:
        yield from _outputs(source, target, weights)
    elif np.array_equal(classes, known):
        yield from _classes(source, target, weights)


def _outputs(
    source: LabeledSample, target: LabeledSample, weights: Array
) -> Iterator[_Part]:
    both = [
        [np.asarray(z, dtype=float).reshape(len(z), -1) for z in pair]
        for pair in (
            (source.answers.said["predict"], target.answers.said["predict"]),
            (source.labels, target.labels),
        )
    ]
    (said, said_target), (y, y_target) = both
    root = np.sqrt(weights)
    for k in range(y.shape[1]):
        design = np.column_stack([np.ones(len(y)), said[:, k]])
        line = np.linalg.lstsq(design * root[:, None], y[:, k] * root, rcond=None)[0]
        moved, moved_target = (line[0] + line[1] * z[:, k] for z in (said, said_target))
        yield _Part(
            f"output {k}" if y.shape[1] > 1 else None,
            False,
            moved_target,
            y[:, k] - moved,
            y_target[:, k] - moved_target,
            said[:, k],
            said_target[:, k],
        )


def _classes(
    source: LabeledSample, target: LabeledSample, weights: Array
) -> Iterator[_Part]:
    classes = source.answers.classes
    assert classes is not None
    hit, hit_target = (s.labels[:, None] == classes for s in (source, target))
    known = hit.any(axis=1)
    present = hit[known].any(axis=0).sum()
    if present < 2:
        return
    if "predict_proba" in source.answers.said:
        p, p_target = (s.answers.said["predict_proba"] for s in (source, target))
        line = fit_line(p[known], hit[known].argmax(axis=1), weights[known])
        p, p_target = line.of(p), line.of(p_target)
        z, z_target = (_log_odds(one) for one in (p, p_target))
    else:
        shares = weights @ hit / weights.sum()
        p, p_target = (np.tile(shares, (len(s.labels), 1)) for s in (source, target))
        z, z_target = (_by_class(s.answers) for s in (source, target))
    for k in range(1 if classes.size == 2 else 0, classes.size):
        yield _Part(
            None if classes.size == 2 else str(classes[k]),
            classes.size > 2,
            p_target[:, k],
            hit[:, k] - p[:, k],
            hit_target[:, k] - p_target[:, k],
            z[:, k],
            z_target[:, k],
        )


def _log_odds(p: Array) -> Array:
    p = np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.log(p / (1 - p))


def _by_class(answers: Predictions) -> Array:
    """Return scores of every class of a classifier without probabilities."""
    assert answers.classes is not None
    values = answers.columns
    if "decision_function" in answers.said:
        if values.shape[1] == answers.classes.size:
            return values
        if values.shape[1] == 1:
            return np.column_stack([-values, values])
    # One against one, or classes alone: whether the class is predicted.
    return (answers.said["predict"][:, None] == answers.classes).astype(float)


def _name(names: Sequence[str] | None, j: int) -> str:
    return f"column {j}" if names is None else str(names[j])
