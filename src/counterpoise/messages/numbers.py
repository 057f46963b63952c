"""Numbers, names and metrics as text."""

from dataclasses import dataclass

# Less than this away from nothing or from all is rounding.
_ROUNDING = 1e-9
_LONGEST_NAME = 30


def percentage(share: float) -> str:
    """Return a share as a percentage, in two or three figures and never as a power.

    What is not all, or not nothing, does not look like it; what rounding leaves of
    either does.

    Examples
    --------
    >>> percentage(0.1234), percentage(0.0001), percentage(0.9999), percentage(12.0)
    ('12.3 %', '< 0.1 %', '> 99.9 %', '1,200 %')
    >>> percentage(-2.2e-16), percentage(1 + 2.2e-16), percentage(-0.04)
    ('0 %', '100 %', '-4 %')
    """
    size = abs(share)
    if size < _ROUNDING:
        return "0 %"
    if abs(size - 1) < _ROUNDING:
        return "100 %" if share > 0 else "-100 %"
    if size < 0.001:
        return "< 0.1 %" if share > 0 else "> -0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    if size >= 9.995:
        return f"{100 * share:,.0f} %"
    return f"{100 * share:.3g} %" if size >= 0.1 else f"{100 * share:.2g} %"


def in_figures(value: float, digits: int) -> str:
    """Return a number in so many figures, whole and never as a power where it is large.

    Examples
    --------
    >>> in_figures(391.2, 2), in_figures(0.01234, 2), in_figures(12345.6, 4)
    ('391', '0.012', '12,346')
    """
    if 10 ** (digits - 1) <= abs(value) < 1e9:
        return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return f"{value:.{digits}g}"


def points(share: float) -> str:
    """Return a difference of shares in points, with its sign and one decimal.

    Examples
    --------
    >>> points(0.1234), points(-1e-17), points(1.0)
    ('+12.3', '0', '+100')
    """
    said = f"{100 * share:+.1f}".removesuffix(".0")
    return "0" if said in ("+0", "-0") else said


def in_quotes(name: str) -> str:
    """Return a name as it stands in a sentence."""
    return f"'{printable(name)}'"


def printable(text: str, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name as it can be printed: on one line, and not too long.

    Examples
    --------
    >>> printable("a\nb")
    'a\\nb'
    >>> printable("1\xa0000")
    '1 000'
    """
    # Longer ones are cut before they are looked through.
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode()
        # The space that does not break a line is a space.
        for c in text[: longest + 1].replace("\xa0", " ")
    )
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def p_value_text(p: float) -> str:
    """Return a p-value in two figures.

    Examples
    --------
    >>> p_value_text(0.0314), p_value_text(3.2e-14)
    ('0.031', '< 0.0001')
    """
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


# A number and its sign stay on one line.
NARROW = "\N{NO-BREAK SPACE}"
# Longer names are cut, on the page and in pictures.
LONGEST_NAME, LONGEST_LABEL = 60, 22


def readable(text: str, longest: int = LONGEST_NAME) -> str:
    r"""Return a name that can be seen, on one line and not too long.

    Control characters and those that turn the direction of writing are spelled out;
    a space that does not break is a space.

    Examples
    --------
    >>> readable("a\x00b"), readable(""), readable("  ")
    ('a\\x00b', '(no name)', '(2 spaces)')
    """
    text = text.replace(NARROW, " ")
    if not text:
        return "(no name)"
    if not text.strip(" "):
        return f"({len(text)} space{'s' if len(text) > 1 else ''})"
    return printable(text, longest)


@dataclass(frozen=True)
class MetricName:
    """A score's name, and one sentence of what it is."""

    name: str
    meaning: str


_METRICS = {
    "neg_log_loss": MetricName(
        "log-loss",
        "how far the predicted probabilities are from what came true; 0 is perfect",
    ),
    "error_rate": MetricName("error rate", "the share of rows predicted wrong"),
    "accuracy": MetricName("accuracy", "the share of rows predicted right"),
    "neg_brier_score": MetricName(
        "Brier score",
        "the mean squared distance of predicted probabilities from what came true",
    ),
    "roc_auc": MetricName(
        "ROC AUC",
        "how often a positive row is ranked above a negative one; 0.5 is guessing",
    ),
    "f1": MetricName("F1", "the balance of missed cases and false alarms; 1 is best"),
    "r2": MetricName(
        "R²", "the share of the variation that is explained; 1 is perfect"
    ),
    "neg_mean_squared_error": MetricName(
        "mean squared error", "the average squared distance from the truth"
    ),
    "neg_root_mean_squared_error": MetricName(
        "root mean squared error",
        "the typical distance from the truth, large ones counting more",
    ),
    "neg_mean_absolute_error": MetricName(
        "mean absolute error", "the average distance from the truth"
    ),
}


def metric_name(metric: str) -> MetricName:
    """Return what a score is called, by scikit-learn's name of it.

    Examples
    --------
    >>> metric_name("neg_log_loss").name, metric_name("neg_my_loss").name
    ('log-loss', 'my loss')
    """
    plain = metric.removeprefix("neg_").replace("_", " ")
    return _METRICS.get(metric, MetricName(plain, "the chosen score"))
