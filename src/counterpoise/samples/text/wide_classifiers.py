"""Classifiers of target against source rows of very many columns, as in text."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from scipy.special import expit, xlogy
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.numerics.arrays import Array
from counterpoise.samples.scaling import sparse_moments

# One over the ridge that is tried, times the mean squared length of the rows.
STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
# Every fifth row of each sample chooses the ridge.
ONE_IN = 5
# To which logistic regression on so many columns goes.
TOL_OF_TEXT = 1e-4
# Share of the striking columns that may be so by chance, and the fewest kept.
FALSE_SHARE, FEWEST_STRIKING = 0.2, 10
# How many directions of the rows a classifier by components has.
N_COMPONENTS = 12


def text_classifiers(max_iter: int = 10_000) -> dict[str, Any]:
    """Return classifiers of wide sparse rows by their names, the simplest first.

    Logistic regression on twelve directions of words weighed by how rare they are (a
    shift of topics), on the words that differ most by themselves (a shift of some
    words), on all words so weighed, on these times the log odds that each speaks for,
    and on the rows as they are; each with a ridge that held-out rows choose. No column
    is divided by its spread: that would make a word that three rows have as large as
    one that tells the samples apart.
    """
    ridged = RidgedLogistic(max_iter=max_iter)
    return {
        "logistic on components": make_pipeline(
            RareWords(), Components(), StandardScaler(), ridged
        ),
        "logistic on striking words": RidgedLogistic(
            StrikingColumns(), max_iter=max_iter
        ),
        "logistic on rare words": make_pipeline(RareWords(), ridged),
        "logistic on telling words": make_pipeline(
            RareWords(), RidgedLogistic(TellingWords(), max_iter=max_iter)
        ),
        "logistic": ridged,
    }


class RidgedLogistic(ClassifierMixin, BaseEstimator):
    r"""Logistic regression whose ridge is chosen by rows held out of the fit.

    Tried are :math:`C = \kappa / \mathrm{mean}_i |x_i|^2`, one over the ridge in
    scikit-learn's units, :math:`\kappa` rising from 0.1 to 1000 by tens until the
    log-loss of every fifth row of each class rises; that of the least loss is fitted to
    all rows. Each fit begins where the last ended.

    Parameters
    ----------
    transformer : transformer or None
        What makes columns by the labels of rows: fitted without the held-out rows
        while the ridge is chosen, else these would be told by their own labels.
    tol, max_iter : float, int
        Of the regression.
    """

    def __init__(
        self,
        transformer: Any = None,
        *,
        tol: float = TOL_OF_TEXT,
        max_iter: int = 10_000,
    ) -> None:
        self.transformer = transformer
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Array, sample_weight: Any = None) -> Self:
        """Choose the ridge, and fit."""
        y = np.asarray(y)
        weight = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.array([0, 1])
        held_out = _one_in(y)
        self.strength_ = STRENGTHS[0]
        model = LogisticRegression(
            warm_start=True, tol=self.tol, max_iter=self.max_iter
        )
        if held_out.any() and np.unique(y[~held_out]).size == 2:
            least, kept, best = np.inf, ~held_out, model
            seen = X[kept], y[kept], weight[kept]
            made = self._fitted_transformer(*seen)
            rows, others = _made(made, seen[0]), _made(made, X[held_out])
            size = _mean_square(rows, seen[2])
            for strength in STRENGTHS:
                model.set_params(C=strength / size).fit(rows, *seen[1:])
                odds = model.decision_function(others)
                loss = _log_loss(odds, y[held_out], weight[held_out])
                if loss >= least:
                    break
                least, self.strength_, best = loss, strength, copy.deepcopy(model)
            # Columns chosen by other rows are others.
            model = best if self.transformer is None else clone(model)
        self.transformer_ = self._fitted_transformer(X, y, weight)
        rows = _made(self.transformer_, X)
        self.model_ = model.set_params(C=self.strength_ / _mean_square(rows, weight))
        self.model_.fit(rows, y, weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of label 1."""
        return np.asarray(self.model_.decision_function(_made(self.transformer_, X)))

    def predict(self, X: Any) -> Array:
        """Return the likelier label."""
        return np.asarray(self.model_.predict(_made(self.transformer_, X)))

    def _fitted_transformer(self, X: Any, y: Array, weight: Array) -> Any:
        if self.transformer is None:
            return None
        return clone(self.transformer).fit(X, y, sample_weight=weight)


class StrikingColumns(TransformerMixin, BaseEstimator):
    r"""The columns whose means in the two classes differ by more than chance.

    With :math:`z = (\bar x_1 - \bar x_0) / (s_1^2 / n_1 + s_0^2 / n_0)^{1/2}` (Welch;
    with weights, effective sizes) and two-sided normal p-values, of d columns those k
    of the smallest are kept, k the largest with :math:`p_{(k)} \le 0.2\, k / d`
    (Benjamini and Hochberg): about a fifth of them differ by chance. Ten at least.

    References
    ----------
    Y. Benjamini and Y. Hochberg, 1995.
    """

    def fit(self, X: Any, y: Array, sample_weight: Any = None) -> Self:
        """Learn which columns to keep."""
        y = np.asarray(y)
        weight = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight)
        apart, variance = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for label, sign in ((0, -1.0), (1, 1.0)):
            own = weight[y == label]
            share = own / own.sum()
            mean, spread = sparse_moments(X[y == label], share)
            apart += sign * mean
            variance += spread * float(share @ share)
        error = np.sqrt(variance)
        z = np.divide(apart, error, out=np.zeros_like(apart), where=error > 0)
        chance = 2 * norm.sf(np.abs(z))
        order = np.argsort(chance, kind="stable")
        levels = FALSE_SHARE * np.arange(1, chance.size + 1) / chance.size
        below = np.flatnonzero(chance[order] <= levels)
        k = max(FEWEST_STRIKING, int(below[-1]) + 1 if below.size else 0)
        self.kept_ = np.sort(order[:k])
        return self

    def transform(self, X: Any) -> Array:
        """Return these columns, dense if they are few."""
        kept = X.tocsc()[:, self.kept_].tocsr()
        return np.asarray(kept.toarray()) if self.kept_.size <= 100 else kept


class TellingWords(TransformerMixin, BaseEstimator):
    r"""Columns times the log odds of the target that they speak for.

    With :math:`s_{kj}` one plus the sum of the absolute entries of column j in class k,
    the factor is :math:`\log (s_{1j} / \sum_l s_{1l}) - \log (s_{0j} / \sum_l s_{0l})`,
    what naive Bayes adds up: a strong ridge leaves that sum, a weak one the regression.

    References
    ----------
    S. Wang and C. Manning, 2012.
    """

    def fit(self, X: Any, y: Array, sample_weight: Any = None) -> Self:
        """Learn the factors."""
        y = np.asarray(y)
        weight = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight)
        logs = []
        for label in (0, 1):
            own = y == label
            sums = 1.0 + np.asarray(weight[own] @ abs(X[own])).ravel()
            logs.append(np.log(sums / sums.sum()))
        self.factor_ = logs[1] - logs[0]
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns times their factors."""
        return (X @ sparse.diags_array(self.factor_)).tocsr()


class RareWords(TransformerMixin, BaseEstimator):
    r"""Entries times how rare their column is, rows of length one (tf-idf).

    With a column that is not zero in N' of N rows the factor is
    :math:`\log((1 + N) / (1 + N')) + 1`.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn in how many rows each column is not zero."""
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        found = X.tocsr().copy()
        found.data = (found.data != 0.0).astype(float)
        seen = np.asarray(weight @ found).ravel()
        self.factor_ = np.log((1.0 + weight.sum()) / (1.0 + seen)) + 1.0
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows so weighed, of length one unless they are zero."""
        weighed = X @ sparse.diags_array(self.factor_)
        lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return (sparse.diags_array(inverse) @ weighed).tocsr()


class Components(TransformerMixin, BaseEstimator):
    """The first directions of the rows, by a truncated singular value decomposition.

    Twelve of them, or one fewer than there are rows or columns.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the directions; a row of weight two counts twice."""
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        rows = (sparse.diags_array(np.sqrt(weight)) @ X).tocsc()
        k = max(1, min(N_COMPONENTS, min(rows.shape) - 1))
        # Ones are no random start, and not across the rows of counts.
        start = np.ones(min(rows.shape))
        _, _, directions = svds(rows, k=k, v0=start, solver="arpack")
        # The largest first, and the sign that makes the largest entry positive.
        directions = directions[::-1]
        largest = np.abs(directions).argmax(axis=1)
        self.directions_ = directions * np.sign(
            directions[np.arange(k), largest]
        ).reshape(-1, 1)
        return self

    def transform(self, X: Any) -> Array:
        """Return where the rows lie along the directions."""
        return np.asarray(X @ self.directions_.T)


def _made(transformer: Any, X: Any) -> Any:
    """Return rows as a regression takes them, columns made by a transformer or not."""
    return _narrow(X if transformer is None else transformer.transform(X))


def _mean_square(X: Any, weight: Array) -> float:
    """Return the mean squared length of the rows."""
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    lengths = np.asarray(squares.sum(axis=1)).ravel()
    return max(float(weight @ lengths / weight.sum()), np.finfo(float).tiny)


def _one_in(y: Array) -> NDArray[np.bool_]:
    """Return every fifth row of each class, as a mask."""
    number = np.empty(y.size, dtype=int)
    for label in (0, 1):
        number[y == label] = np.arange(np.count_nonzero(y == label))
    return np.asarray(number % ONE_IN == ONE_IN - 1)


def _narrow(X: Any) -> Any:
    """Return sparse rows with the places of 32 bits that scikit-learn wants."""
    if not sparse.issparse(X) or X.indices.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=X.shape)


def _log_loss(log_odds: Array, y: Array, weight: Array) -> float:
    p = np.clip(expit(log_odds), 1e-12, 1.0 - 1e-12)
    return float(-weight @ (xlogy(y, p) + xlogy(1 - y, 1 - p)) / weight.sum())
