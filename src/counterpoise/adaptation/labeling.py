"""Selection of target rows to label."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from counterpoise.data.arrays import Regressor, target_pieces
from counterpoise.data.parameters import as_seed, check_integer
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import TwoSamples, pooled_scale, scale_columns
from counterpoise.errors import suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel, median_distance
from counterpoise.performance.intervals import random_rows
from counterpoise.performance.metrics import Predictions, is_classifier

# Source rows that are taken into account, and target rows that are candidates together.
SOURCE_ROWS_SEEN, CANDIDATES_AT_ONCE = 1_000, 2_000
# Variance of a label around its mean, in units of that of the mean over the rows.
NOISE = 0.5
# A row that the model is sure of still counts so much.
LEAST_UNSURE = 0.1


def select_rows_to_label(
    model: Regressor,
    X: object,
    X_target: object,
    n_rows: int,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Indices:
    r"""Return the target rows whose labels would tell most, the best first.

    What is to be learned is taken for a Gaussian process with a kernel of the median
    distance of target rows, seen with noise at the source rows :math:`X`. The rows
    :math:`S` are chosen one by one so that labels there leave the least variance on the
    target,

    .. math:: \sum_j u_j \, \mathrm{Var}\bigl(f(t_j) \mid f(X) + \text{noise},
        f(t_S) + \text{noise}\bigr),

    with :math:`u_j` how unsure the model is of the row: of a classifier with
    probabilities :math:`1 - \sum_k p_k^2`, relative to its largest value, at least a
    tenth; of all others one. So rows are chosen where the source is thin and the target
    is not, and never two that tell the same.

    Parameters
    ----------
    model : fitted predictor
    X : table of shape (n, d)
        The rows that have labels.
    X_target : table of shape (m, d), or a tuple of such
    n_rows : int
        How many rows to choose, at most m.
    random_state : int, RandomState or None
        Which 1,000 source rows are taken into account and which 2,000 target rows are
        candidates, where there are more.

    Returns
    -------
    array of shape (k,)
        Places of rows of `X_target`.

    Notes
    -----
    For fitting the model again, with these rows among its own. They are not a random
    sample of the target: `estimate_performance` with labeled rows (`X_target_labeled`)
    needs rows drawn at random. More than 2,000 rows are chosen in rounds, each among
    up to 2,000 candidates of its own that know nothing of the others', and come back by
    turns: the first of every round, then the second.

    References
    ----------
    D. Cohn, 1996; S. Seo, M. Wallat, T. Graepel and K. Obermayer, 2000.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, X_target = np.array([[0.0], [0.1]]), np.array([[0.0], [3.0], [3.1], [0.1]])
    >>> chosen = select_rows_to_label(Ridge().fit(X, [0, 1]), X, X_target, 1)
    >>> int(chosen[0]) in (1, 2)
    True
    """
    pieces = tuple(target_pieces(X_target).values())
    samples = Samples.read(X, pieces)
    samples.refuse_huge(by_label=True)
    source, target = samples.source, samples.target
    m = target.shape[0]
    check_integer("n_rows", n_rows, low=1, high=m)
    rng = np.random.default_rng(as_seed(random_state))
    n_rounds = -(-n_rows // CANDIDATES_AT_ONCE)
    candidates = random_rows(m, n_rounds * CANDIDATES_AT_ONCE, rng)
    unsure = _unsure(model, pieces)[candidates]
    rows = random_rows(source.shape[0], SOURCE_ROWS_SEEN, rng)
    seen, open_rows = _scaled(source[rows], target[candidates])
    gamma = 0.5 / max(median_distance(open_rows), 1e-12) ** 2
    # What a source row tells stands for all that were left out.
    noise = NOISE * rows.size / source.shape[0]
    chosen = np.full((n_rounds, -(-n_rows // n_rounds)), -1)
    for nth in range(n_rounds):
        # Every n-th candidate, so that rounds are alike and their sizes too.
        own = np.arange(nth, candidates.size, n_rounds)
        n_own = len(range(nth, n_rows, n_rounds))
        left = _left(seen, open_rows[own], gamma, noise)
        chosen[nth, :n_own] = candidates[own[_greedy(left, unsure[own], n_own)]]
    by_turns = chosen.T.ravel()
    return by_turns[by_turns >= 0]


def _left(seen: Array, open_rows: Array, gamma: float, noise: float) -> Array:
    """Return the covariance of the candidates, given labels of the source rows."""
    kernel = Kernel("rbf", gamma)
    across, within = kernel.matrix(seen, open_rows), kernel.matrix(seen, seen)
    within[np.diag_indices_from(within)] += noise
    return kernel.matrix(open_rows, open_rows) - across.T @ cho_solve(
        cho_factor(within), across
    )


def _greedy(left: Array, unsure: Array, k: int) -> Indices:
    """Return rows one by one, each with the largest fall of the sum of variances."""
    chosen = np.empty(k, dtype=np.intp)
    free = np.ones(len(left), dtype=bool)
    # Sum of squared covariances with all rows, kept up to date.
    fall = (left**2) @ unsure
    for step in range(k):
        variance = np.maximum(np.diag(left), 0.0)
        gain = np.where(free, fall / (variance + NOISE), -np.inf)
        best = int(np.argmax(gain))
        chosen[step], free[best] = best, False
        column = left[:, best] / np.sqrt(variance[best] + NOISE)
        inner = left @ (unsure * column)
        left -= np.outer(column, column)
        fall = fall - 2 * column * inner + column**2 * float(unsure @ column**2)
    return chosen


def _unsure(model: Regressor, pieces: tuple[object, ...]) -> Array:
    """Return how unsure the model is of every row, at most one."""
    classifier = is_classifier(model)
    answers = Predictions.of(model, pieces, classifier)
    if "predict_proba" not in answers.said:
        return np.ones(len(answers.rows))
    p = answers.said["predict_proba"]
    spread = 1.0 - (p**2).sum(axis=1)
    return np.maximum(spread / max(float(spread.max()), 1e-12), LEAST_UNSURE)


def _scaled(source: Any, target: Any) -> tuple[Array, Array]:
    if sparse.issparse(source):
        source, target = source.toarray(), target.toarray()
    # A column that varies in the target alone is a reason to choose rows there.
    with suppress_warnings(UserWarning):
        scale = pooled_scale(TwoSamples.of(source, target))
    return scale_columns(source, scale), scale_columns(target, scale)
