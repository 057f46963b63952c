"""Choosing the width of a Gaussian kernel."""

import numpy as np
from scipy import sparse

from counterpoise.convex import Corrective, MixtureLikelihood, solve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernels import nearest_distance, rbf, rbf_pull
from counterpoise.samples.folds import N_FOLDS
from counterpoise.samples.median_width import median_gamma as median_gamma
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import warn_user
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.kernel_designs import SMALLEST_SCALE, StoredKernel
from counterpoise.weights.search import (
    HeldOut,
    choose,
    falls_short,
    folds_of_both,
)

# Widths in units of the median distance between target rows, the smoothest first.
FACTORS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
# Rows of each sample that a search looks at, and the fewest that it can work with.
MOST_ROWS, FEWEST_ROWS = 2000, 20
# A width at which more target rows than this have no source neighbour is not taken;
# the relative ratio stands more of them.
MOST_UNCOVERED, MOST_UNCOVERED_RELATIVE = 0.1, 0.3
# Rows of a kernel that are copied in one piece.
ROWS_COPIED = 64


def uncovered_share(samples: TwoSamples, gamma: float) -> float:
    """Return the share of target rows with less than one expected source neighbour.

    The expectation is n times the mean of the kernel over the source; it is computed
    at no more than 2000 target rows, taken at equal intervals.
    """
    m = samples.target.shape[0]
    some = np.linspace(0, m - 1, min(m, MOST_ROWS)).astype(int)
    reach = rbf_pull(samples.source_share, samples.source, samples.target[some], gamma)
    share = samples.target_share[some]
    return float(share[samples.source_mass * reach < 1.0].sum() / share.sum())


def lonely_share(samples: TwoSamples) -> float:
    """Return the share of target rows that are far from all source rows.

    A target row is lonely if its nearest source row is further away than the nearest
    other row is from all but one of the source rows. No width is involved: a wide
    kernel reaches across a hole. At most 500 rows are asked and 20,000 source rows
    looked at, at equal intervals; 0 for sparse rows and for few different ones.
    """
    if sparse.issparse(samples.source):
        return 0.0
    source = np.unique(_at_intervals(samples.source, 20_000), axis=0)
    if len(source) < FEWEST_ROWS:
        return 0.0
    asked = _at_intervals(source, 500)
    aims = np.linspace(0, samples.target.shape[0] - 1, 500).astype(int)
    aims = np.unique(aims)
    own = np.sort(nearest_distance(asked, source, own=True))
    far = nearest_distance(samples.target[aims], source) > own[-2]
    share = samples.target_share[aims]
    return float(share[far].sum() / share.sum())


def _at_intervals(rows: Array, most: int) -> Array:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]


def select_gamma(
    samples: TwoSamples,
    relative: float,
    one_sided: bool,
    seed: int,
    deadline: Deadline | None = None,
) -> tuple[float, dict[str, Array] | None]:
    """Return the chosen gamma and the whole curve behind the choice.

    Every width is scored on held-out rows of both samples (five folds); the smoothest
    width within one standard error of the best is taken. `one_sided` takes the best by
    the textbook score instead. With fewer than twenty rows in a sample there is nothing
    to hold out: the median distance is the width, and a warning says so. After half of
    the time until the deadline no further width is tried.
    """
    deadline = deadline or Deadline()
    n, m = samples.source.shape[0], samples.target.shape[0]
    middle = median_gamma(samples.target, samples.target_share)
    if min(n, m) < FEWEST_ROWS:
        warn_user(
            f"{n} source and {m} target rows are too few to choose a width by "
            "cross-validation: the median distance is taken"
        )
        return middle, None
    samples = samples.take(*thinned(samples, seed))
    gammas = middle / np.array(FACTORS) ** 2
    bound = MOST_UNCOVERED_RELATIVE if relative > 0.0 else MOST_UNCOVERED
    able = np.array([uncovered_share(samples, g) <= bound for g in gammas])
    asked = able if able.any() and not one_sided else np.ones_like(able)
    tried = np.zeros_like(asked)
    candidates = [untried(samples)] * len(gammas)
    parts = folds_of_both(samples, seed)
    for k in np.flatnonzero(asked):
        if tried.any() and deadline.choose_no_more():
            break
        candidates[k] = held_out_kliep(samples, gammas[k], relative, parts)
        tried[k] = True
    deadline.say_untried(int(tried.sum()), int(asked.sum()), "widths")
    choice = choose(candidates, samples)
    taken = choice.chosen
    if one_sided:
        taken = int(np.nanargmax([c.one_sided for c in candidates]))
    elif taken == len(gammas) - 1:
        warn_user(
            "the smallest width of the grid was chosen: the ratio may be rougher than "
            "any width tried"
        )
    curve = {
        "gamma": gammas,
        "width": 1.0 / np.sqrt(2.0 * gammas),
        "score": np.where(tried, choice.scores, np.nan),
        "standard_error": choice.allowed,
        "one_sided_score": np.array([c.one_sided for c in candidates]),
        "admissible": np.array([c.admissible for c in candidates]),
        "chosen": np.arange(len(gammas)) == taken,
    }
    return float(gammas[taken]), curve


def untried(samples: TwoSamples) -> HeldOut:
    """Return what stands for a candidate that was not tried: it is never taken."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    return HeldOut(np.ones(m), np.ones(n), np.nan, admissible=False)


def held_out_kliep(
    samples: TwoSamples,
    gamma: float,
    relative: float,
    parts: tuple[Indices, Indices],
    rival: HeldOut | None = None,
) -> HeldOut:
    """Return KLIEP's weights at the rows of both samples, each held out once.

    `parts` are the folds of the rows.
    A width that is far behind a rival on the first fold is not tried on the others, and
    not to be taken: narrow kernels that win nothing cost most.
    """
    p, q = samples.source_share, samples.target_share
    to_source = rbf(samples.source, samples.target, gamma)
    to_target = rbf(samples.target, samples.target, gamma)
    n, m = to_source.shape
    fold_source, fold_target = parts
    weights_source, weights_target = np.empty(n), np.empty(m)
    for k in range(N_FOLDS):
        kept, left = fold_source != k, np.flatnonzero(fold_target != k)
        out = fold_target == k
        inside = _block(to_source, np.flatnonzero(kept), left)
        source_mean = (p[kept] / p[kept].sum()) @ inside
        share = q[left] / q[left].sum()
        block = _block(to_target, left, left)
        scale = np.maximum(
            (1.0 - relative) * source_mean + relative * (share @ block), SMALLEST_SCALE
        )
        block /= scale[:, None]
        design = StoredKernel(
            block.T,
            samples.target[left],
            samples.target[left],
            gamma,
            scale,
        )
        found = solve(
            MixtureLikelihood(design, share), Corrective(), tol=1e-3, max_iter=200
        )
        support = np.flatnonzero(found.x)
        coef = found.x[support] / scale[support]
        # Mean one over the rows fitted to, so that folds can be pooled.
        coef /= max(float(source_mean[support] @ coef), SMALLEST_SCALE)
        weights_source[~kept] = to_source[np.ix_(~kept, left[support])] @ coef
        weights_target[out] = to_target[np.ix_(out, left[support])] @ coef
        if k == 0 and rival is not None:
            here = HeldOut(weights_target[out], weights_source[~kept])
            there = HeldOut(rival.target[out], rival.source[~kept])
            if falls_short(here, there, samples.take(~kept, out)):
                return untried(samples)
    covered = samples.source_mass * (p @ to_source) >= 1.0
    bound = MOST_UNCOVERED_RELATIVE if relative > 0.0 else MOST_UNCOVERED
    return HeldOut(
        weights_target,
        weights_source,
        one_sided=float(q @ np.log(np.maximum(weights_target, 1e-300))),
        admissible=float(q[~covered].sum()) <= bound,
    )


def _block(K: Array, rows: Indices, columns: Indices) -> Array:
    """Return some rows and columns, by pieces that stay in the processor's cache."""
    out = np.empty((rows.size, columns.size))
    for first in range(0, rows.size, ROWS_COPIED):
        some = slice(first, first + ROWS_COPIED)
        np.take(K[rows[some]], columns, axis=1, out=out[some], mode="clip")
    return out


def thinned(
    samples: TwoSamples, seed: int, most: int = MOST_ROWS
) -> tuple[Indices, Indices]:
    """Return the places of at most so many rows of each sample, by chance."""
    rng = np.random.default_rng(seed)
    sizes = samples.source.shape[0], samples.target.shape[0]
    source, target = (np.sort(rng.permutation(k)[:most]) for k in sizes)
    return source, target
