"""A solution carried over to a problem with more or fewer variables."""

import numpy as np

from counterpoise.convex.quadratic_path.follower import Follower
from counterpoise.convex.quadratic_path.layout import BIAS, LOWER, UPPER
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.convex.quadratic_path.setting import Setting
from counterpoise.numerics.arrays import Array, Indices


def carried_over(
    follower: Follower,
    rows: KernelRows,
    sign: Array,
    row: Indices | None,
    p: Array,
    source: Indices,
    row_source: Indices,
) -> Follower:
    """Return a follower of another problem that begins where this one is.

    Parameters
    ----------
    follower : Follower
    rows : KernelRows
        The kernel rows of the new problem.
    sign, row, p : arrays
        Its variables; `p` of those that were there before must be unchanged.
    source : array of int
        Which old variable each is, -1 for a new one. New ones have both bounds at zero;
        old ones that are left out must be zero.
    row_source : array of int
        The same for kernel rows.
    """
    # What has no room left is on no margin.
    follower.settle_closed()
    variables = follower.variables
    out = Follower(rows, sign, row, bias=variables.bias, shift=variables.shift)
    if follower.max_events != 50 * follower.a.size + 2000:
        out.max_events = follower.max_events
    old, old_setting = follower.place, follower.setting
    known = source >= 0
    came = source[known]
    lower, upper = np.zeros(source.size), np.zeros(source.size)
    lower[known], upper[known] = old_setting.lower[came], old_setting.upper[came]
    place = out.place
    place.a[known] = old.a[came]
    place.status[known] = old.status[came]
    place.numbers[BIAS] = old.numbers[BIAS]
    where = np.full(old.a.size, -1)
    where[came] = np.flatnonzero(known)
    margin = where[follower.margin]
    if (margin < 0).any():
        raise ValueError("a variable on the margin cannot be left out")
    out.adopt_margin(margin, old.factor[: margin.size, : margin.size])
    there = row_source >= 0
    place = out.place
    place.f[there] = old.f[row_source[there]]
    if not there.all():
        beta = out.combined(place.a)
        used, new = np.flatnonzero(beta), np.flatnonzero(~there)
        place.f[new] = rows.block(new, used) @ beta[used]
    out.setting = Setting(np.array(p, dtype=float), lower, upper, old_setting.d)
    return out


def centre_bias(follower: Follower) -> None:
    """Put the bias in the middle of its interval, where no variable is free.

    Any bias of the interval is optimal; the middle is what LIBSVM reports. An interval
    without an end keeps its other end.
    """
    if follower.margin.size or not follower.variables.bias:
        return
    sign, setting = follower.variables.sign, follower.setting
    f = follower.place.f[follower.variables.row]
    limit = sign * setting.p - f
    status = follower.place.status
    open_box = setting.upper > setting.lower
    at_least = open_box & np.where(sign > 0.0, status == LOWER, status == UPPER)
    at_most = open_box & ~at_least
    low = limit[at_least].max(initial=-np.inf)
    high = limit[at_most].min(initial=np.inf)
    if np.isfinite(low) and np.isfinite(high):
        follower.place.numbers[BIAS] = 0.5 * (low + high)
    elif np.isfinite(low) or np.isfinite(high):
        follower.place.numbers[BIAS] = low if np.isfinite(low) else high
