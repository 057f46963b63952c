"""Shares of the classes in the target, in two ways that agree under a label shift."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from counterpoise.adaptation.partial.prior_em import PriorByEM, prior_by_em
from counterpoise.evaluation.confidence import ProbabilityLine, fit_line
from counterpoise.evaluation.metrics import SMALLEST_PROBABILITY
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.ordering import canonical_order
from counterpoise.validation import InvalidInput

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

    classes: NDArray[Any]
    source_shares: Array
    em: PriorByEM = field(repr=False)
    black_box: Array
    errors: Array
    source: Array = field(repr=False)
    target: Array = field(repr=False)
    rows: Indices = field(repr=False)
    rows_target: Indices = field(repr=False)
    scaler: Any = field(repr=False)
    model: Any = field(repr=False)
    line: ProbabilityLine = field(repr=False)

    def probabilities(self, X: Any) -> Array:
        """Return the classes' probabilities at rows of the source's law."""
        said = self.model.predict_proba(self.scaler.transform(X))
        return floored(self.line.of(said))


def class_shares(
    samples: SamplesAsRead, labels: NDArray[Any], counts: Array, seed: int
) -> ClassShares:
    r"""Return the shares of the classes in the target, by EM and as a black box.

    The better by held-out log-loss of logistic regression and boosted trees gives
    :math:`p(k \mid x)`, out of fold at source rows and recalibrated there by a slope
    and an offset a class. EM (Saerens, Latinne and Decaestecker, 2002) maximises
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
        raise InvalidInput(
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
    centred = share[:, None] * (drawn - share @ drawn)
    covariance = np.cov(target.T, ddof=1) / len(target) + centred.T @ centred
    spread = np.einsum("ij,jk,ik->i", inverse, covariance, inverse)
    return shares, source_shares * np.sqrt(np.maximum(spread, 0.0))


def _better(X: Any, place: Indices, weight: Array, seed: int) -> tuple[Array, Any]:
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
    samples: SamplesAsRead, labels: NDArray[Any], counts: Array, seed: int
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
