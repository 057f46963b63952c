"""What a line does to the variables at bounds, in one compiled pass."""

from counterpoise.convex.quadratic_path.layout import (
    BOUND_RATE,
    FREE,
    LOWER,
    THETA,
    Line,
    Place,
    Variables,
)
from counterpoise.convex.quadratic_path.margin import bound_rate
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.compiled import compiled

# Rates that differ by less than this share of the largest are proportional; so are
# those that differ by the rounding of the bounds themselves, of which f is a sum.
SAME, ROUNDING = 1e-15, 2.5e-16


@compiled
def survey(
    variables: Variables, line: Line, place: Place, rates: Array
) -> tuple[float, int, float]:
    """Leave the rates of the bounds in `rates`, and set sides and the bound rate.

    Returns their sum of absolute values, how many are not zero, and the share by which
    all bounds grow together, NaN if they do not.
    """
    theta = place.numbers[THETA]
    total, moving, count = 0.0, 0.0, 0
    top, largest = -1, 0.0
    for i in range(rates.size):
        status = place.status[i]
        width = line.upper[i] - line.lower[i]
        opening = line.dupper[i] - line.dlower[i]
        open_now = width + theta * opening > 0.0 or width + opening > 0.0
        rates[i] = 0.0
        place.side[i] = 0.0
        if status != FREE:
            rates[i] = bound_rate(line, i, status)
            if open_now:
                place.side[i] = 1.0 if status == LOWER else -1.0
            if abs(place.a[i]) > largest:
                top, largest = i, abs(place.a[i])
        total += variables.sign[i] * rates[i]
        moving += abs(rates[i])
        count += rates[i] != 0.0
    place.numbers[BOUND_RATE] = total
    share = float("nan")
    if top >= 0:
        share = rates[top] / place.a[top]
        slack = max(SAME * abs(rates[top]), ROUNDING * largest)
        for i in range(rates.size):
            if place.status[i] != FREE:
                off = abs(rates[i] - share * place.a[i])
                if off > slack:
                    share = float("nan")
                    break
    return moving, count, share


@compiled
def extents(line: Line) -> tuple[float, float, float]:
    """Return the largest bound, the sum of all, and the largest p, absolute values."""
    bound, total, price = 0.0, 0.0, 0.0
    for i in range(line.p.size):
        low = max(abs(line.lower[i]), abs(line.lower[i] + line.dlower[i]))
        high = max(abs(line.upper[i]), abs(line.upper[i] + line.dupper[i]))
        bound = max(bound, low, high)
        total += max(low, high)
        price = max(price, abs(line.p[i]), abs(line.p[i] + line.dp[i]))
    return bound, total, price
