"""Scores by the names that people have for them."""

from dataclasses import dataclass

from counterpoise.report.record import Record


@dataclass(frozen=True)
class MetricWords:
    """A score's name, and one sentence of what it is."""

    name: str
    meaning: str


_WORDS = {
    "neg_log_loss": MetricWords(
        "log-loss",
        "how far the predicted probabilities are from what came true; 0 is perfect",
    ),
    "error_rate": MetricWords("error rate", "the share of rows predicted wrong"),
    "accuracy": MetricWords("accuracy", "the share of rows predicted right"),
    "neg_brier_score": MetricWords(
        "Brier score",
        "the mean squared distance of predicted probabilities from what came true",
    ),
    "roc_auc": MetricWords(
        "ROC AUC",
        "how often a positive row is ranked above a negative one; 0.5 is guessing",
    ),
    "f1": MetricWords("F1", "the balance of missed cases and false alarms; 1 is best"),
    "r2": MetricWords(
        "R²", "the share of the variation that is explained; 1 is perfect"
    ),
    "neg_mean_squared_error": MetricWords(
        "mean squared error", "the average squared distance from the truth"
    ),
    "neg_root_mean_squared_error": MetricWords(
        "root mean squared error",
        "the typical distance from the truth, large ones counting more",
    ),
    "neg_mean_absolute_error": MetricWords(
        "mean absolute error", "the average distance from the truth"
    ),
}


def source_rows(record: Record) -> str:
    """Return what the rows are on which the source's score was measured.

    Without a fit in the record they are not those that the model was fitted to.

    Examples
    --------
    >>> source_rows(Record.from_dict({"model": {}})), source_rows(Record({}))
    ('training data', 'the labelled rows')
    """
    return "training data" if "model" in record else "the labelled rows"


def metric_in_words(name: str) -> MetricWords:
    """Return what a score is called, by scikit-learn's name of it.

    Examples
    --------
    >>> metric_in_words("neg_log_loss").name, metric_in_words("neg_my_loss").name
    ('log-loss', 'my loss')
    """
    if name in _WORDS:
        return _WORDS[name]
    return MetricWords(name.removeprefix("neg_").replace("_", " "), "the chosen score")
