"""How large a weight held-out rows support."""

import math
from dataclasses import replace

import numpy as np

from counterpoise.numerics.arrays import Array
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.weights.search import HeldOut

# How many of the source rows of the largest weights are looked at, together.
TOP_ROWS = (10, 30, 90)
# They stand for no more than the target rows of such ratios and this many errors.
ERRORS_ABOVE = 2.0


def supported_weight(held_out: HeldOut, samples: TwoSamples) -> float:
    r"""Return the largest weight that held-out rows support; infinity where all are.

    A density ratio w has, at every level c,

    .. math:: E_{source}[w\,1(w \ge c)] = P_{target}(w \ge c) = \pi_c .

    With c the weight that ten source rows reach (that thirty, that ninety reach), all
    of them held out, the left side may exceed the right by two standard errors of the
    difference,

    .. math:: se^2 = \max(\pi_c (1 - \pi_c), 1 / m) / m
        + \mathrm{mean}_i(w_i^2\,1(w_i \ge c)) / n .

    Where it exceeds that, weights are cut to where it does not, never below one: a few
    source rows would stand for more of the target than there is like them. A number of
    rows is passed over where it is more than half of the source rows.
    """
    mean = float(samples.source_share @ held_out.source)
    if not 0.0 < mean < math.inf:
        return math.inf
    source, target = held_out.source / mean, held_out.target / mean
    order = np.argsort(-source, kind="stable")
    ordered, share = source[order], samples.source_share[order]
    # In ten million parts of a row, so that rounding moves no row.
    rows = np.round(np.cumsum(share) * samples.source_mass, 7)
    limit = math.inf
    for count in TOP_ROWS:
        if 2 * count > samples.source_mass:
            continue
        level = ordered[np.searchsorted(rows, count)]
        above = ordered >= level
        there = float(samples.target_share[target >= level].sum())
        n, m = samples.source_mass, samples.target_mass
        variance = max(there * (1.0 - there), 1.0 / m) / m
        variance += float(share[above] @ ordered[above] ** 2) / n
        most = there + ERRORS_ABOVE * math.sqrt(variance)
        if float(share[above] @ ordered[above]) > most:
            limit = min(limit, _cut(ordered[above], share[above], most))
    return max(limit, 1.0)


def cut_at(held_out: HeldOut, limit: float, samples: TwoSamples) -> HeldOut:
    """Return held-out weights of mean one with none above a limit."""
    if math.isinf(limit):
        return held_out
    mean = float(samples.source_share @ held_out.source)
    return replace(
        held_out,
        target=np.minimum(held_out.target / mean, limit),
        source=np.minimum(held_out.source / mean, limit),
    )


def _cut(weights: Array, share: Array, most: float) -> float:
    """Return where to cut descending weights so that their mass is `most`."""
    # Cut at the k-th weight, the first k rows have that weight each.
    first = np.cumsum(share)
    rest = np.concatenate([np.cumsum((share * weights)[::-1])[::-1][1:], [0.0]])
    mass = first * weights + rest
    k = int(np.flatnonzero(mass <= most)[0]) if (mass <= most).any() else mass.size
    k = max(k, 1)
    return float((most - rest[k - 1]) / first[k - 1])
