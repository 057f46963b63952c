"""What counts as zero on a line of data."""

from counterpoise.convex.quadratic_path.layout import Line
from counterpoise.convex.quadratic_path.survey import extents

# Slack of the event search on gradients, in units of p: the smaller one where f is so
# small that its rounding is far below. On variables it follows from it, within these
# shares of the largest bound.
LEAST_GRADIENT, MOST_GRADIENT, SHARE_OF_F = 1e-11, 1e-10, 1e-17
LEAST_VALUE, MOST_VALUE = 1e-15, 1e-12


def event_slack(
    line: Line, largest: float, gradient: float | None, value: float | None
) -> tuple[float, float]:
    """Return the slack on gradients and on variables; what is given stays.

    Parameters
    ----------
    line : Line
    largest : float
        The largest entry of the kernel's diagonal.
    gradient, value : float or None
    """
    most, total, unit = extents(line)
    most = max(most, 1e-300)
    if unit == 0.0:
        unit = largest * most
    if gradient is None:
        rounding = SHARE_OF_F * total * largest
        gradient = min(max(LEAST_GRADIENT * unit, rounding), MOST_GRADIENT * unit)
    if value is None:
        value = 0.1 * gradient / largest
        value = max(LEAST_VALUE * most, min(MOST_VALUE * most, value))
    return float(gradient), float(value)
