"""What may be said of a score that changes from the source to the target."""

# What "about the same" means, in shares of the score: a half width of the interval,
# or a difference and a whole width.
NARROW_HALF_WIDTH, CLOSE_DIFFERENCE, NARROW_WIDTH = 0.15, 0.1, 0.5
# How a score changes, in a word, and by which rule, for a person.
SAME, CANNOT_TELL, WORSE, BETTER = (
    "about the same",
    "cannot be told well",
    "worse",
    "better",
)
RULE = {
    SAME: "the training score lies in the interval, which is at most "
    f"{200 * NARROW_HALF_WIDTH:.0f} % as wide as that score, or narrower than "
    f"{100 * NARROW_WIDTH:.0f} % of a value that is within "
    f"{100 * CLOSE_DIFFERENCE:.0f} % of it",
    CANNOT_TELL: "the training score lies in the interval, which is too wide to call "
    "them the same",
    WORSE: "the training score lies outside the interval",
    BETTER: "the training score lies outside the interval",
}
# A gain of so many standard errors is clear, of so many likely.
CLEAR_GAIN, LIKELY_GAIN = 2.0, 1.0
CLEAR, LIKELY, WEAK = "clear", "likely", "weak"


def is_within(source: float, low: float | None, high: float | None) -> bool:
    """Return whether the source's score lies in the interval of the target's.

    Examples
    --------
    >>> is_within(1.0, 0.9, 1.2), is_within(1.0, None, None)
    (True, False)
    """
    return low is not None and high is not None and low <= source <= high


def is_about_the_same(
    source: float, value: float, low: float | None, high: float | None
) -> bool:
    """Return whether the target's score is the source's, and well enough known.

    The source's score lies in the interval :math:`[l, h]` of the target's value
    :math:`v`, and of its size :math:`s` either :math:`h - l \\le 0.3 s`, or
    :math:`|v - s| < 0.1 s` and :math:`h - l < 0.5 |v|`.

    Examples
    --------
    >>> is_about_the_same(1.0, 1.05, 0.9, 1.2), is_about_the_same(1.0, 1.5, 0.9, 2.1)
    (True, False)
    """
    if low is None or high is None or not is_within(source, low, high):
        return False
    width, unit = high - low, abs(source)
    is_close = abs(value - source) < CLOSE_DIFFERENCE * unit
    return bool(
        width <= 2 * NARROW_HALF_WIDTH * unit
        or (is_close and width < NARROW_WIDTH * abs(value))
    )


def change_of(
    source: float,
    value: float,
    low: float | None,
    high: float | None,
    *,
    higher_is_better: bool,
) -> str:
    """Return the one word for how a score changes from the source to the target.

    "About the same" by `is_about_the_same`; "cannot be told well" where the source's
    score lies in the target's interval all the same; else "worse" or "better".

    Examples
    --------
    >>> change_of(1.0, 1.5, 1.2, 1.8, higher_is_better=False)
    'worse'
    """
    if is_about_the_same(source, value, low, high):
        return SAME
    if is_within(source, low, high):
        return CANNOT_TELL
    is_worse = value < source if higher_is_better else value > source
    return WORSE if is_worse else BETTER


def sureness_of_gain(gain: float, error: float) -> str:
    """Return how sure a gain is by its standard error: clear, likely or weak.

    Clear from two standard errors on, :math:`g / e \\ge 2`, likely from one on. That a
    model *is* better is said of clear gains alone. Where weights make no difference the
    guard, which asks for one standard error, uses some in up to 30 of 100 draws of 300
    to 1,000 rows judged by accuracy or AUC, and their gain is clear in up to 5; judged
    by log-loss or squared error it uses some in 2 or 3, and next to none are clear.

    Examples
    --------
    >>> sureness_of_gain(0.3, 0.1), sureness_of_gain(0.05, 0.1)
    ('clear', 'weak')
    """
    times = gain / error
    return CLEAR if times >= CLEAR_GAIN else LIKELY if times >= LIKELY_GAIN else WEAK
