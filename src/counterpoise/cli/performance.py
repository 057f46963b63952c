"""The score on the target: what is asked of the library."""

from argparse import Namespace
from typing import Any

from counterpoise.cli.exits import WrongUse
from counterpoise.cli.options import OPTIONS
from counterpoise.cli.reading.labels import CLASSIFICATION
from counterpoise.cli.reading.pair import Pair
from counterpoise.validation import did_you_mean

# How names of scikit-learn's scorers of numbers end, and how those of classes begin.
_OF_NUMBERS = (
    "r2",
    "explained_variance",
    "_error",
    "_deviance",
    "d2_absolute_error_score",
)
_OF_CLASSES = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "d2_brier_score",
    "d2_log_loss_score",
    "f1",
    "jaccard",
    "matthews_corrcoef",
    "neg_brier_score",
    "neg_log_loss",
    "neg_negative_likelihood_ratio",
    "positive_likelihood_ratio",
    "precision",
    "recall",
    "roc_auc",
    "top_k_accuracy",
)


def check_metric(metric: str | None) -> None:
    """Refuse what is no scorer of scikit-learn."""
    if metric is None:
        return
    from sklearn.metrics import get_scorer_names

    if metric not in get_scorer_names():
        raise WrongUse(
            f"--metric must be the name of a scorer of scikit-learn, got {metric!r}: "
            "accuracy, roc_auc, neg_log_loss, neg_mean_squared_error, ..."
            f"{did_you_mean(metric, get_scorer_names())}"
        )


def check_metric_of(metric: str | None, task: str, label: str) -> None:
    """Refuse a score of numbers for a label of classes, and the reverse.

    Examples
    --------
    >>> check_metric_of("accuracy", "classification", "bought")
    """
    if metric is None:
        return
    holds = "classes" if task == CLASSIFICATION else "numbers"
    scored = None
    if metric.endswith(_OF_NUMBERS):
        scored = "numbers"
    elif metric.startswith(_OF_CLASSES):
        scored = "classes"
    if scored is not None and scored != holds:
        raise WrongUse(
            f"--metric {metric} is a score of {scored}, but the label {label!r} holds "
            f"{holds}"
        )


def estimate(
    model: Any,
    pair: Pair,
    options: Namespace,
    *,
    cv: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Return the estimates of the score on the target.

    Parameters
    ----------
    model : fitted `Adapted`
    pair : Pair
        With labels of the source, and of target rows where they may be used.
    options : metric, level, weighter and seed
    cv : None, int or "blocks"
        None: the source rows were not fitted to. Else they are those of the fit, and
        the model is fitted again without each fold.
    sample_weight : array of shape (n,) or None
        What the source rows count, by `--weights`.
    """
    from counterpoise.adaptation.performance import estimate_performance

    labelled: dict[str, Any] = {}
    if pair.y_target is not None and pair.labelled.size:
        rows = pair.X_target.take(pair.labelled).reset_index(drop=True)
        labelled = {"X_lab": rows, "y_lab": pair.y_target}
    # Rows of the fit have been weighed already, unless by no density ratio.
    weighed = cv is not None and options.weighter not in ("uniform", "discrepancy")
    return estimate_performance(
        model,
        pair.X,
        pair.y,
        pair.samples,
        metrics=None if options.metric is None else [options.metric],
        level=getattr(options, "level", OPTIONS["level"].default),
        precision=getattr(options, "precision", OPTIONS["precision"].default),
        weighter="model" if weighed else "auto",
        cv=cv,
        groups=pair.groups,
        sample_weight=sample_weight,
        random_state=options.seed,
        **labelled,
    )
