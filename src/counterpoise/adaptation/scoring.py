"""The target's score, estimated on held-out source rows."""

from typing import Any

from sklearn.pipeline import Pipeline

from counterpoise.evaluation.metrics import as_metric
from counterpoise.validation import InvalidType, row_counts


class TargetScorer:
    """What `target_scorer` returns: called like any of scikit-learn's scorers."""

    def __init__(self, scoring: Any = None) -> None:
        self.scoring = scoring

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None
    ) -> float:
        """Return the score, the higher the better.

        Parameters
        ----------
        estimator : fitted `Adapted`, or a pipeline that ends with one
        X, y : held-out source rows and their labels
        sample_weight : array of shape (k,)
            What the rows count; it multiplies the density ratio.
        """
        weights = _weights(estimator, X)
        weights = weights * row_counts(sample_weight, weights.size)
        metric = as_metric(self.scoring, estimator, y)
        value = metric.value(estimator, X, y, sample_weight=weights)
        return value if metric.higher_is_better else -value

    def __repr__(self) -> str:
        return f"target_scorer({self.scoring!r})"


def target_scorer(scoring: Any = None) -> TargetScorer:
    r"""Return a scorer that estimates the target's score on held-out source rows.

    Importance-weighted cross-validation: with the density ratio :math:`w` of the fitted
    `Adapted` at the held-out rows,

    .. math:: \sum_i w(x_i) s(f(x_i), y_i) / \sum_i w(x_i),

    so that ``GridSearchCV(Adapted(...), ..., scoring=target_scorer())`` chooses what is
    good for the target. Metadata routing is not needed.

    Parameters
    ----------
    scoring : str, callable or None
        Name of one of scikit-learn's scorers, or a scorer that takes `sample_weight`.
        None: minus the log-loss, error rate or squared error.

    Notes
    -----
    The weights must be defined at new rows: a weighter without `weigh` is an error.
    An `Adapted` that was fitted without a target has weights of one.

    References
    ----------
    Sugiyama, Krauledat and Mueller (2007).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from counterpoise import Adapted, target_scorer
    >>> from counterpoise.datasets import make_sinc_shift
    >>> X, y, X_target, _, _ = make_sinc_shift(random_state=0)
    >>> search = GridSearchCV(
    ...     Adapted(Ridge(), random_state=0),
    ...     {"estimator__alpha": [0.1, 100.0]},
    ...     scoring=target_scorer("neg_mean_squared_error"),
    ... )
    >>> search.fit(X, y, X_target=(X_target,)).best_params_
    {'estimator__alpha': 0.1}
    """
    return TargetScorer(scoring)


def _weights(estimator: Any, X: Any) -> Any:
    if isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = estimator[:-1].transform(X)
        return _weights(estimator[-1], X)
    if hasattr(estimator, "best_estimator_"):
        return _weights(estimator.best_estimator_, X)
    if not hasattr(estimator, "weigh"):
        raise InvalidType(
            f"target_scorer needs a fitted Adapted, got {type(estimator).__name__}"
        )
    return estimator.weigh(X)
