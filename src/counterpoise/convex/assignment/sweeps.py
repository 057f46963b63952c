"""Compiled passes over an assignment: values, bounds, proximal maps, triangular solves.

Items are rows and words columns of C-ordered arrays (n, l), so that the innermost loop
runs over the words of one item. A Laplacian is given by its compressed rows.
"""

from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.reordered import reordered

# Newton's method for a threshold ends after as many passes as there are entries; this
# many are never needed.
MOST_PASSES = 1000
# Above every entry.
NO_CEILING = 1e300


@reordered
def laplacian_times(
    starts: Indices, columns: Indices, entries: Array, Y: Array, out: Array
) -> float:
    """Write L Y to `out`, and return tr(Y'LY).

    Both by differences of rows, as rows of L add up to zero: what is constant has
    neither, exactly, and the trace of weights is not negative.
    """
    n, words = Y.shape
    total = 0.0
    for i in range(n):
        for j in range(words):
            out[i, j] = 0.0
        for k in range(starts[i], starts[i + 1]):
            other, weight = columns[k], entries[k]
            if other == i:
                continue
            for j in range(words):
                apart = Y[other, j] - Y[i, j]
                out[i, j] += weight * apart
                total -= 0.5 * weight * apart * apart
    return total


@reordered
def sum_of_least(C: Array, G: Array, slope: float, LY: Array) -> float:
    """Return the sum over items of the least entry of C + G + slope LY."""
    n, words = C.shape
    total = 0.0
    for i in range(n):
        least = C[i, 0] + G[i, 0] + slope * LY[i, 0]
        for j in range(1, words):
            entry = C[i, j] + G[i, j] + slope * LY[i, j]
            least = entry if entry < least else least
        total += least
    return total


@reordered
def proximal_sweep(
    U: Array,
    Z1: Array,
    Z2: Array,
    y1: Array,
    y2: Array,
    costs: Array,
    levels: Array,
    is_max: bool,
    relaxation: float,
    row_thresholds: Array,
    column_thresholds: Array,
    sums: Array,
    counts: Array,
    before: Array,
) -> None:
    """Update both halves of the splitting and their multipliers after U.

    `costs` and `levels` are divided by the penalty parameter. Rows of Z1 are projected
    onto the simplex, columns of Z2 get the proximal map of their norm on the positive
    orthant; thresholds begin where the sweep before ended. U becomes
    (Z1 - y1 + Z2 - y2) / 2, what the next smoothing is of.
    """
    n, words = U.shape
    rest = 1.0 - relaxation
    for i in range(n):
        for j in range(words):
            moved = relaxation * U[i, j]
            y1[i, j] += moved + rest * Z1[i, j]
            y2[i, j] += moved + rest * Z2[i, j]
            Z1[i, j] = y1[i, j] - costs[i, j]
        row_thresholds[i] = simplex_threshold(Z1, i, row_thresholds[i])
        threshold = row_thresholds[i]
        for j in range(words):
            entry = Z1[i, j] - threshold
            Z1[i, j] = entry if entry > 0.0 else 0.0
            y1[i, j] -= Z1[i, j]
    if is_max:
        column_ceilings(y2, levels, column_thresholds, sums, counts, before)
        for i in range(n):
            for j in range(words):
                entry = y2[i, j] if y2[i, j] > 0.0 else 0.0
                top = column_thresholds[j]
                Z2[i, j] = entry if entry < top else top
    else:
        column_factors(y2, levels, column_thresholds)
        for i in range(n):
            for j in range(words):
                entry = y2[i, j] if y2[i, j] > 0.0 else 0.0
                Z2[i, j] = entry * column_thresholds[j]
    for i in range(n):
        for j in range(words):
            y2[i, j] -= Z2[i, j]
            U[i, j] = 0.5 * (Z1[i, j] - y1[i, j] + Z2[i, j] - y2[i, j])


@reordered
def simplex_threshold(W: Array, i: int, threshold: float) -> float:
    """Return tau with sum_j max(W_ij - tau, 0) = 1, by Newton from a threshold."""
    words = W.shape[1]
    before = -1
    for _ in range(MOST_PASSES):
        total, count = 0.0, 0
        for j in range(words):
            above = W[i, j] > threshold
            total += W[i, j] if above else 0.0
            count += 1 if above else 0
        if count == before:
            break
        if count == 0:
            # Above all entries: below the largest by one is a bound from below.
            largest = W[i, 0]
            for j in range(1, words):
                largest = W[i, j] if W[i, j] > largest else largest
            threshold = largest - 1.0
            before = -1
            continue
        before = count
        threshold = (total - 1.0) / count
    return threshold


@reordered
def column_ceilings(
    W: Array, levels: Array, tops: Array, sums: Array, counts: Array, before: Array
) -> None:
    """Write the ceilings of the max norm's proximal map to `tops`.

    The ceiling theta of a column has sum_i max(w_i - theta, 0) = level, zero where the
    positive entries add up to less. Newton's method from what `tops` holds, all columns
    at once; the sets above a threshold are nested, so equal counts end it.
    """
    n, words = W.shape
    for j in range(words):
        before[j] = -1.0
        if levels[j] == 0.0:
            # Nothing is taken off: no ceiling, and nothing to look for.
            tops[j] = NO_CEILING
            before[j] = 0.0
    for _ in range(MOST_PASSES):
        for j in range(words):
            sums[j] = 0.0
            counts[j] = 0.0
        for i in range(n):
            for j in range(words):
                above = W[i, j] > tops[j]
                sums[j] += W[i, j] if above else 0.0
                counts[j] += 1.0 if above else 0.0
        moving = False
        for j in range(words):
            if counts[j] == before[j]:
                continue
            if counts[j] == 0.0:
                if tops[j] == 0.0:
                    # Nothing is positive.
                    before[j] = 0.0
                else:
                    tops[j] = 0.0
                    before[j] = -1.0
                    moving = True
                continue
            before[j] = counts[j]
            top = (sums[j] - levels[j]) / counts[j]
            tops[j] = top if top > 0.0 else 0.0
            moving = True
        if not moving:
            break


@reordered
def column_factors(W: Array, levels: Array, factors: Array) -> None:
    """Write what the positive part of each column is multiplied by to `factors`.

    The proximal map of level times the Euclidean norm shortens it by the level.
    """
    n, words = W.shape
    for j in range(words):
        factors[j] = 0.0
    for i in range(n):
        for j in range(words):
            entry = W[i, j] if W[i, j] > 0.0 else 0.0
            factors[j] += entry * entry
    for j in range(words):
        length = factors[j] ** 0.5
        kept = 1.0 - levels[j] / length if length > levels[j] else 0.0
        factors[j] = kept


@reordered
def triangular_solves(
    starts: Indices, rows: Indices, entries: Array, pivots: Array, X: Array
) -> None:
    """Solve T diag(pivots) T' Y = X in place, T unit lower by its columns."""
    n, words = X.shape
    for k in range(n):
        for q in range(starts[k], starts[k + 1]):
            other, weight = rows[q], entries[q]
            for j in range(words):
                X[other, j] -= weight * X[k, j]
    for k in range(n - 1, -1, -1):
        pivot = 1.0 / pivots[k]
        for j in range(words):
            X[k, j] *= pivot
        for q in range(starts[k], starts[k + 1]):
            other, weight = rows[q], entries[q]
            for j in range(words):
                X[k, j] -= weight * X[other, j]
