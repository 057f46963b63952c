"""Adaptation to label shift: class shares, recognition, weights."""

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from counterpoise.adaptation.partial import PriorByEM, prior_by_em
from counterpoise.adaptation.routing import fit_weight_estimator
from counterpoise.data.arrays import Classifier, Estimator, Matrix
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import canonical_order, effective_sample_size
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.performance.loss_model import ProbabilityLine, fit_line
from counterpoise.performance.metrics import (
    SMALLEST_PROBABILITY,
    Labels,
    is_classifier,
)
from counterpoise.shift.columns import holm
from counterpoise.shift.domain_classifier import score_domains
from counterpoise.weights.auto import AutoWeights
from counterpoise.weights.label_shift import LabelShiftWeights

# -----------------------------------------------------------------------------
# Shares of the classes in the target, in two ways that agree under a label shift.
# -----------------------------------------------------------------------------


# Rows of either sample that are looked at, and folds of the source's.
ROWS_ASKED_ABOUT, FOLDS_OF_CLASSES = 2_000, 5
EM_TOL, EM_STEPS = 1e-6, 3_000


@dataclass(frozen=True, eq=False)
class ClassShares:
    """What a classifier says of both samples, and the shares that follow from it.

    Attributes
    ----------
    classes : array of shape (K,)
    source_shares : array of shape (K,)
    em : PriorByEM
        Those that make the target's probabilities likeliest.
    black_box : array of shape (K,)
        Those that make the mean answer the target's, whatever the classifier.
    errors : array of shape (K,)
        Standard errors of `black_box`.
    source, target : array of shape (k, K)
        Probabilities, of source rows out of fold, recalibrated.
    rows, rows_target : array of int
        Which rows these are.
    scaler, model, line : transformer, classifier, ProbabilityLine
        What gives them, one after another.
    """

    classes: Labels
    source_shares: Array
    em: PriorByEM = field(repr=False)
    black_box: Array
    errors: Array
    source: Array = field(repr=False)
    target: Array = field(repr=False)
    rows: Indices = field(repr=False)
    rows_target: Indices = field(repr=False)
    scaler: MaxAbsScaler | StandardScaler = field(repr=False)
    model: Classifier = field(repr=False)
    line: ProbabilityLine = field(repr=False)

    def probabilities(self, X: Matrix) -> Array:
        """Return the classes' probabilities at rows of the source's law."""
        said = self.model.predict_proba(self.scaler.transform(X))
        return floored(self.line.of(said))


def class_shares(
    samples: Samples, labels: Labels, counts: Array, seed: int
) -> ClassShares:
    r"""Return the shares of the classes in the target, by EM and as a black box.

    The better by held-out log-loss of logistic regression and boosted trees gives
    :math:`p(k \mid x)`, out of fold at source rows and recalibrated there by a slope
    and an offset a class. EM (Saerens, Latinne and Decaestecker, 2002) maximizes
    :math:`\sum_j \log \sum_k q_k p(k \mid t_j) / s_k`; the black box (Lipton, Wang and
    Smola, 2018) solves :math:`C w = \mathrm{mean}_j\, p(t_j)` with :math:`C_{kl} =
    \mathrm{mean}_i\, p(k \mid x_i) 1[y_i = l]`, :math:`q_k = w_k s_k`, none below
    zero. Its covariance is :math:`C^{-1} (\mathrm{cov}_j\, p / m +
    \mathrm{cov}_i (w_{y_i} p(x_i)) / n) C^{-\top}`. At most 2,000 rows of either sample
    are looked at.

    Parameters
    ----------
    samples : SamplesAsRead
    labels : array of shape (n,)
        Classes of the source rows.
    counts : array of shape (n,)
        What the source rows count.
    seed : int
        Of folds and subsamples.
    """
    rows, rows_target = _some(samples, labels, counts, seed)
    X, T = samples.source[rows], samples.target[rows_target]
    classes, place = np.unique(labels[rows], return_inverse=True)
    weight = counts[rows] / counts[rows].mean()
    sizes = np.bincount(place)
    if classes.size < 2 or sizes.min() < 2:
        raise InvalidInputError(
            "shares of classes need two classes of two rows each or more, got "
            + ", ".join(
                f"{one!r}: {size}"
                for one, size in zip(classes.tolist(), sizes.tolist(), strict=True)
            )
        )
    # Not in a pipeline, whose way to pass weights on is a setting of the user's.
    scaler = (MaxAbsScaler() if sparse.issparse(X) else StandardScaler()).fit(X)
    X, T = scaler.transform(X), scaler.transform(T)
    with threadpool_limits(limits=1):
        said, model = _better(X, place, weight, seed)
        target = model.predict_proba(T)
    line = fit_line(said, place, weight)
    source, target = (floored(line.of(p)) for p in (said, target))
    share = weight / weight.sum()
    source_shares = np.bincount(place, share).astype(float)
    shares, errors = black_box(source, target, place, share, source_shares)
    return ClassShares(
        classes,
        source_shares,
        prior_by_em(target, source_shares, EM_TOL, EM_STEPS),
        shares,
        errors,
        source,
        target,
        rows,
        rows_target,
        scaler,
        model,
        line,
    )


def black_box(
    source: Array, target: Array, place: Indices, share: Array, source_shares: Array
) -> tuple[Array, Array]:
    """Return the shares that make the mean answer the target's, and their errors."""
    K = source_shares.size
    joint = source.T @ (share[:, None] * (place[:, None] == np.arange(K)))
    inverse = np.linalg.pinv(joint, rcond=1e-6)
    ratio = np.maximum(inverse @ target.mean(axis=0), 0.0)
    shares = ratio * source_shares
    shares = shares / shares.sum() if shares.sum() > 0 else source_shares
    drawn = source * ratio[place][:, None]
    centered = share[:, None] * (drawn - share @ drawn)
    covariance = np.cov(target.T, ddof=1) / len(target) + centered.T @ centered
    spread = np.einsum("ij,jk,ik->i", inverse, covariance, inverse)
    return shares, source_shares * np.sqrt(np.maximum(spread, 0.0))


def _better(
    X: Matrix, place: Indices, weight: Array, seed: int
) -> tuple[Array, Classifier]:
    """Return out-of-fold probabilities of the better classifier, and it refitted."""
    offered: list[Any] = [LogisticRegression(max_iter=300)]
    if not sparse.issparse(X):
        offered.append(
            HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
            )
        )
    n_folds = min(FOLDS_OF_CLASSES, int(np.bincount(place).min()))
    folds = list(
        StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(place, place)
    )
    # Ones change nothing, and weighted quantiles of the columns take their time.
    equal = bool((weight == weight[0]).all())
    best: tuple[float, Array, Any] | None = None
    for one in offered:
        said = np.empty((place.size, int(place.max()) + 1))
        for kept, out in folds:
            counts = None if equal else weight[kept]
            model = clone(one).fit(X[kept], place[kept], counts)
            said[out] = model.predict_proba(X[out])
        chance = floored(said)[np.arange(place.size), place]
        loss = float(-weight @ np.log(chance))
        if best is None or loss < best[0]:
            best = loss, said, one
    assert best is not None
    return best[1], best[2].fit(X, place, None if equal else weight)


def _some(
    samples: Samples, labels: Labels, counts: Array, seed: int
) -> tuple[Indices, Indices]:
    """Return the rows that are looked at, in an order that is not the user's."""
    place = np.unique(labels, return_inverse=True)[1].astype(float)
    used = np.flatnonzero(counts > 0)
    X = samples.source
    whole = X if sparse.issparse(X) else np.column_stack([X, place])
    used = used[canonical_order(whole[used], counts[used])]
    aims = np.flatnonzero(samples.target_weight > 0)
    aims = aims[canonical_order(samples.target[aims], samples.target_weight[aims])]
    rng = np.random.default_rng(seed)
    drawn = []
    for rows in (used, aims):
        if rows.size > ROWS_ASKED_ABOUT:
            rows = rows[np.sort(rng.choice(rows.size, ROWS_ASKED_ABOUT, replace=False))]
        drawn.append(rows)
    return drawn[0], drawn[1]


def floored(p: Array) -> Array:
    """Return probabilities of which none is taken for zero."""
    p = np.maximum(p, SMALLEST_PROBABILITY)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


# -----------------------------------------------------------------------------
# Weights by class, for a target that has the classes in other shares.
# -----------------------------------------------------------------------------


class ClassShareWeights(BaseEstimator):
    r"""The ratio of class shares, where those have moved and p(x given y) has not.

    A source row of class k weighs :math:`q_k / s_k`, with the source's shares s and the
    target's q by EM (`class_shares`). That is the ratio of both samples' laws of row
    and label; of rows alone the ratio is :math:`\sum_k q_k p(k \mid x) / s_k`, which is
    what `predict_weights` gives, for target rows too. For classes what
    `LabelShiftWeights` is for numbers.

    Parameters
    ----------
    random_state : int
        Seed of folds and subsamples.

    Attributes
    ----------
    weights_ : array of shape (n,)
        Of mean one, by label.
    classes_, class_prior_, class_weight_ : array of shape (K,)
        The classes, their estimated shares in the target, what a row of each weighs.
    shares_ : ClassShares
    solution_ : Solution
        Of EM, with its certificate.
    effective_sample_size_ : float
    unsupported_fraction_ : None
        It cannot tell which target rows lie far from the source's.
    """

    # Of row and label together: weighted means over labeled rows are the target's.
    weights_are_a_ratio = True
    needs_labels = False
    unsupported_fraction_ = None

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(
        self,
        X: object,
        y: ArrayLike,
        *,
        X_target: object,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Estimate the shares and weigh the source rows by their classes.

        Parameters
        ----------
        X, X_target : table of shape (n, d), (m, d)
        y : array of shape (n,)
            Classes of the source rows.
        sample_weight : array of shape (n,)
            What the source rows count.
        """
        samples = Samples.read(X, X_target, sample_weight)
        counts = samples.source_weight
        labels = as_classes(y, counts.size)
        found = class_shares(samples, labels, counts, self.random_state)
        return self.fit_shares(found, labels, counts)

    def fit_shares(self, found: ClassShares, labels: Labels, counts: Array) -> Self:
        """Weigh the source rows by shares that were found."""
        self.shares_ = found
        self.classes_ = found.classes
        self.class_prior_ = found.em.shares
        self.class_weight_ = found.em.shares / found.source_shares
        self.solution_ = found.em.solution
        ratio = self.weights_of(labels)
        self.weights_ = ratio * (counts.sum() / (counts @ ratio))
        self.effective_sample_size_ = effective_sample_size(self.weights_ * counts)
        return self

    def weights_of(self, labels: Labels) -> Array:
        """Return what rows of these classes weigh, before the mean of one.

        A class that was drawn into no subsample weighs as in the source.
        """
        place = np.searchsorted(self.classes_, labels)
        known = np.minimum(place, self.classes_.size - 1)
        same = self.classes_[known] == labels
        return np.where(same, self.class_weight_[known], 1.0)

    def predict_weights(self, X: Matrix) -> Array:
        """Return the density ratio of rows without labels.

        Parameters
        ----------
        X : matrix of shape (k, d)
            As numbers, encoded as the samples of the fit were.
        """
        check_is_fitted(self, "weights_")
        weights: Array = self.shares_.probabilities(X) @ self.class_weight_
        return weights

    def without_rows(self) -> "ClassShareWeights":
        """Return a copy that holds nothing of single rows."""
        lean = copy(self)
        none = np.zeros((0, self.classes_.size))
        nowhere = np.zeros(0, dtype=np.intp)
        lean.shares_ = replace(
            self.shares_,
            em=replace(self.shares_.em, posterior=none),
            source=none,
            target=none,
            rows=nowhere,
            rows_target=nowhere,
        )
        return lean


# -----------------------------------------------------------------------------
# Whether rows have moved within classes, once the classes' shares are made up for.
# -----------------------------------------------------------------------------


# Fewer source rows than this in the estimated shares tell nothing of what is left, and
# of more than this no more are looked at.
FEWEST_TO_TELL, MOST_TO_TELL = 100, 2_000


def rest_auc(
    found: ClassShares, samples: Samples, labels: Labels, seed: int
) -> tuple[float, float, float] | None:
    """Return how well source rows in the estimated shares are told from the target's.

    Each row is kept with the chance :math:`(q_y / s_y) / \\max_k (q_k / s_k)`. The area
    under the curve with its interval; None where too few rows are left.
    """
    place = np.searchsorted(found.classes, labels[found.rows])
    ratio = found.em.shares / found.source_shares
    rng = np.random.default_rng(seed)
    kept = found.rows[rng.random(place.size) < (ratio / ratio.max())[place]]
    aims = found.rows_target
    if min(kept.size, aims.size) < FEWEST_TO_TELL:
        return None
    kept, aims = (
        rows
        if rows.size <= MOST_TO_TELL
        else np.sort(rng.choice(rows, MOST_TO_TELL, replace=False))
        for rows in (kept, aims)
    )
    left = Samples.of_matrices(samples.source[kept], samples.target[aims])
    seen = score_domains(left, seed)
    return seen.auc, seen.auc_low, seen.auc_high


def rest_p_value(found: ClassShares, samples: Samples, labels: Labels) -> float:
    r"""Return how often chance moves a mean within classes by more than is seen.

    Under a label shift the mean of any :math:`f(x)` over the target is
    :math:`M w`, with :math:`M_k = \mathrm{mean}_i f(x_i) 1[y_i = k]` and the ratios w
    of the black box, :math:`C w = \mathrm{mean}_j p(t_j)`. So with
    :math:`h = f - M C^{-1} p`

    .. math:: d = \mathrm{mean}_j\, h(t_j) - \mathrm{mean}_i\, w_{y_i} h(x_i), \qquad
        e^2 = \mathrm{var}_j\, h / m + \mathrm{var}_i (w_{y_i} h) / n

    is zero up to chance, what the ratios are not known for included. Two-sided normal
    tests of every column and its square, with Holm's correction; one of sparse rows.
    """
    X, T = samples.source[found.rows], samples.target[found.rows_target]
    if sparse.issparse(X):
        return 1.0
    f, f_target = _columns_and_squares(X, T)
    place = np.searchsorted(found.classes, labels[found.rows])
    n, m = len(X), len(T)
    hit = (place[:, None] == np.arange(found.classes.size)) / n
    inverse = np.linalg.pinv(found.source.T @ hit, rcond=1e-6)
    ratio = (inverse @ found.target.mean(axis=0))[place]
    onto = f.T @ hit @ inverse
    h = (f - found.source @ onto.T) * ratio[:, None]
    h_target = f_target - found.target @ onto.T
    difference = h_target.mean(axis=0) - h.mean(axis=0)
    error = np.sqrt(h_target.var(axis=0) / m + h.var(axis=0) / n)
    told = error > 0
    z = np.abs(difference[told]) / error[told]
    return float(holm(2 * stats.norm.sf(z)).min(initial=1.0))


def _columns_and_squares(X: Array, T: Array) -> tuple[Array, Array]:
    """Return the columns of both, of one scale and cut at its ends, and squares."""
    pooled = np.vstack([X, T])
    middle, spread = pooled.mean(axis=0), pooled.std(axis=0)
    used = spread > 1e-12 * np.maximum(np.abs(middle), 1.0)
    both = [
        np.clip((rows[:, used] - middle[used]) / spread[used], -4.0, 4.0)
        for rows in (X, T)
    ]
    return tuple(np.hstack([rows, rows**2]) for rows in both)  # type: ignore[return-value]


# -----------------------------------------------------------------------------
# Whether the target looks like the source's classes in other shares.
# -----------------------------------------------------------------------------


# Shares have moved from so many standard errors on; two estimates agree within so many
# and a little more.
ERRORS_MOVED, ERRORS_APART, SHARES_APART = 3.0, 2.0, 0.03
# What is left of the shift is told apart no better than this, nor more surprising.
FLAT_AUC, FLAT_P_VALUE = 0.55, 0.05


@dataclass(frozen=True)
class LabelShift:
    """Two explanations of a shift: classes in other shares, or other inputs.

    Attributes
    ----------
    classes : tuple
    source_shares, shares, black_box : tuple of float
        In the source; estimated for the target by EM, and by the black box.
    moved, agree : bool
        Whether the shares differ from the source's by more than chance, and the two
        estimates do not.
    rest_auc, rest_auc_low, rest_auc_high : float or None
        How well a classifier tells target rows from source rows that were drawn in the
        estimated shares: what is left within classes. None: not looked at.
    rest_p_value : float or None
        How often chance moves the mean of a column or its square within classes by as
        much (`rest_p_value`).
    flat : bool
        Whether nothing is seen to be left.
    score, score_error : float
        Held-out two-sided score of the ratio by labels, in nats, and its error.
    score_inputs : float or None
        The same of the weights by inputs.
    is_label_shift : bool
        The rule: moved, agree and flat.
    preferred : {"labels", "inputs"}
        Which explanation is taken where both may be: labels, if they are a label shift
        and their score is no more than its error below that of the inputs.
    words : str
    """

    classes: tuple[Any, ...]
    source_shares: tuple[float, ...]
    shares: tuple[float, ...]
    black_box: tuple[float, ...]
    moved: bool
    agree: bool
    rest_auc: float | None
    rest_auc_low: float | None
    rest_auc_high: float | None
    rest_p_value: float | None
    flat: bool
    score: float
    score_error: float
    score_inputs: float | None
    is_label_shift: bool
    preferred: str
    words: str

    def __str__(self) -> str:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        found = {
            name: list(one) if isinstance(one, tuple) else one
            for name, one in vars(self).items()
        }
        return {**found, "classes": [str(one) for one in self.classes]}


def recognize_label_shift(
    found: ClassShares, samples: Samples, labels: Labels, seed: int
) -> LabelShift:
    r"""Return whether the classes in other shares explain the shift.

    Three things, each with its threshold:

    - the shares have *moved*: :math:`|q_k - s_k|` is three standard errors of the black
      box or more, for some class;
    - EM and black box *agree*: nowhere further apart than 0.03 and two such errors;
    - what is left is *flat*: no column's mean or square within classes has moved
      (`rest_p_value` is 0.05 or more), and source rows, each kept with the chance
      :math:`(q_y / s_y) / \max_k (q_k / s_k)`, and target rows are not told apart by a
      classifier, the interval of its area under the curve reaching down to one half and
      the area not above 0.55; 2,000 rows of each at most, and 100 at least. The
      classifier is not asked where a mean has moved.

    If all hold it is called a label shift. A shift of inputs has other shares too, but
    moves rows within classes.

    Parameters
    ----------
    found : ClassShares
    samples : SamplesAsRead
    labels : array of shape (n,)
    seed : int
        Of the rows that are kept.
    """
    shares, before = found.em.shares, found.source_shares
    errors = np.maximum(found.errors, 1e-12)
    moved = bool((np.abs(found.black_box - before) >= ERRORS_MOVED * errors).any())
    apart = np.abs(found.black_box - shares)
    agree = bool((apart <= SHARES_APART + ERRORS_APART * errors).all())
    rest = p_value = None
    if moved and agree:
        p_value = rest_p_value(found, samples, labels)
    flat = p_value is not None and p_value >= FLAT_P_VALUE
    if flat:
        rest = rest_auc(found, samples, labels, seed)
    auc, low, high = rest or (None, None, None)
    flat = flat and rest is not None and rest[1] <= 0.5 and rest[0] <= FLAT_AUC
    score, error = _score(found)
    is_label_shift = moved and agree and flat
    return LabelShift(
        tuple(found.classes.tolist()),
        tuple(before.tolist()),
        tuple(shares.tolist()),
        tuple(found.black_box.tolist()),
        moved,
        agree,
        auc,
        low,
        high,
        p_value,
        flat,
        score,
        error,
        None,
        is_label_shift,
        "labels" if is_label_shift else "inputs",
        _words(found, is_label_shift, moved, agree, rest, p_value),
    )


def judged(found: LabelShift, score_inputs: float) -> LabelShift:
    """Return the same, judged beside weights by inputs on held-out rows."""
    better = found.score >= score_inputs - found.score_error
    labels = found.is_label_shift and better
    words = (
        f"{found.words}; on held-out rows the shares of classes score {found.score:.3f}"
        f" nats (standard error {found.score_error:.2g}), weights by inputs "
        f"{score_inputs:.3f}"
    )
    return replace(
        found,
        score_inputs=score_inputs,
        preferred="labels" if labels else "inputs",
        words=words,
    )


def _score(found: ClassShares) -> tuple[float, float]:
    """Return the two-sided score of the ratio by labels, and its error from rows."""
    ratio = found.em.shares / found.source_shares
    w, w_target = found.source @ ratio, found.target @ ratio
    v: Array = w / w.mean()
    logs = np.log(w_target)
    score = float(logs.mean() - np.log(w.mean()))
    return score, float(np.sqrt(logs.var() / logs.size + v.var() / v.size))


def _words(
    found: ClassShares,
    is_label_shift: bool,
    moved: bool,
    agree: bool,
    rest: tuple[float, float, float] | None,
    p_value: float | None,
) -> str:
    before, after = found.source_shares, found.em.shares
    largest = np.argsort(-np.abs(after - before), kind="stable")[:5]
    changes = ", ".join(
        f"{found.classes[k]} {before[k]:.1%} -> {after[k]:.1%}" for k in largest
    )
    if not moved:
        return "the shares of the classes are not seen to differ in the target"
    if not agree:
        return (
            "no label shift: two estimates of the shares of the classes in the target "
            "contradict one another"
        )
    assert p_value is not None
    left = f"p = {p_value:.2g}"
    if rest is not None:
        left = f"AUC {rest[0]:.3f} ({rest[1]:.3f} to {rest[2]:.3f}), {left}"
    elif p_value >= FLAT_P_VALUE:
        return f"too few rows a label shift ({changes}) from one of inputs"
    if is_label_shift:
        return (
            "the target rows look like the source's classes in other shares "
            f"({changes}); within classes nothing is seen to have moved ({left})"
        )
    return (
        f"no label shift alone: with the classes in other shares ({changes}) the "
        f"samples are still told apart ({left})"
    )


# -----------------------------------------------------------------------------
# Weights by labels in `Adapted`: asked for, or taken where they explain the shift.
# -----------------------------------------------------------------------------


BY_INPUTS, LABELS, EITHER = "auto", "labels", "either"


def weight_estimator_by_labels(
    samples: Samples,
    estimator: Estimator,
    y: ArrayLike,
    counts: Array | None,
    seed: int,
    allow_no_overlap: bool,
) -> tuple[ClassShareWeights | LabelShiftWeights, LabelShift | None]:
    """Return a fitted weight estimator by labels, and whether they explain the shift.

    Of a classifier by the shares of the classes, of a regressor `LabelShiftWeights`.
    """
    if not is_classifier(estimator, y):
        weight_estimator = LabelShiftWeights(
            allow_no_overlap=allow_no_overlap, random_state=seed
        )
        return fit_weight_estimator(weight_estimator, samples, y, counts), None
    counts = np.ones(samples.source_weight.size) if counts is None else counts
    labels = as_classes(y, counts.size)
    found = class_shares(samples, labels, counts, seed)
    by_classes = ClassShareWeights(random_state=seed).fit_shares(found, labels, counts)
    return by_classes, recognize_label_shift(found, samples, labels, seed)


def explain_by_labels(
    by_inputs: AutoWeights,
    samples: Samples,
    y: ArrayLike,
    counts: Array | None,
    seed: int,
) -> tuple[LabelShift | None, ClassShareWeights | None]:
    """Return whether labels explain the shift, and their weights if they are preferred.

    (None, None) where a class has a single row.
    """
    counts = np.ones(samples.source_weight.size) if counts is None else counts
    labels = as_classes(y, counts.size)
    try:
        found = class_shares(samples, labels, counts, seed)
    except InvalidInputError:
        return None, None
    # The held-out score of the weights that were chosen; zero where there is none.
    results = getattr(by_inputs, "cv_results_", None) or {}
    scores = np.asarray(results.get("score", ()), dtype=float)
    chosen = np.asarray(results.get("chosen", ()), dtype=bool)
    score = scores[chosen] if chosen.size == scores.size else scores[:0]
    score_inputs = float(score[0]) if score.size and np.isfinite(score[0]) else 0.0
    shift = judged(recognize_label_shift(found, samples, labels, seed), score_inputs)
    if shift.preferred != LABELS:
        return shift, None
    weight_estimator = ClassShareWeights(random_state=seed)
    return shift, weight_estimator.fit_shares(found, labels, counts)
