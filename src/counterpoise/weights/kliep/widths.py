"""Choosing the width of KLIEP's kernel by held-out rows of both samples."""

import numpy as np

from counterpoise.convex import Corrective, MixtureLikelihood, solve
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.folds import N_FOLDS
from counterpoise.samples.median_width import median_gamma
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation import warn_user
from counterpoise.weights.deadline import Deadline
from counterpoise.weights.kernel_widths import (
    FEWEST_TO_CHOOSE,
    LARGEST_UNCOVERED,
    LARGEST_UNCOVERED_RELATIVE,
    WIDTH_FACTORS,
    thinned,
    uncovered_share,
)
from counterpoise.weights.kliep.designs import SMALLEST_SCALE, StoredDesign
from counterpoise.weights.search import (
    HeldOut,
    choose,
    falls_short,
    folds_of_both,
    untried,
)

# Rows of a kernel that are copied in one piece.
ROWS_COPIED = 64


def select_gamma(
    samples: TwoSamples,
    relative: float,
    one_sided: bool,
    seed: int,
    deadline: Deadline | None = None,
) -> tuple[float, dict[str, Array] | None]:
    """Return the chosen gamma and the whole curve behind the choice.

    Every width is scored on held-out rows of both samples (five folds); the smoothest
    width as good as the best is taken (`search.choose`). `one_sided` takes the best by
    the textbook score instead. With fewer than twenty rows in a sample there is nothing
    to hold out: the median distance is the width, and a warning says so. After half of
    the time until the deadline no further width is tried.
    """
    deadline = deadline or Deadline()
    n, m = samples.source.shape[0], samples.target.shape[0]
    middle = median_gamma(samples.target, samples.target_share)
    if min(n, m) < FEWEST_TO_CHOOSE:
        warn_user(
            f"{n} source and {m} target rows are too few to choose a width by "
            "cross-validation: the median distance is taken"
        )
        return middle, None
    samples = samples.take(*thinned(samples, seed))
    gammas = middle / np.array(WIDTH_FACTORS) ** 2
    bound = LARGEST_UNCOVERED_RELATIVE if relative > 0.0 else LARGEST_UNCOVERED
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
        "standard_error": np.full(len(gammas), choice.allowed),
        "one_sided_score": np.array([c.one_sided for c in candidates]),
        "admissible": np.array([c.admissible for c in candidates]),
        "chosen": np.arange(len(gammas)) == taken,
    }
    return float(gammas[taken]), curve


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
    kernel = Kernel("rbf", gamma)
    to_source = kernel.matrix(samples.source, samples.target)
    to_target = kernel.matrix(samples.target, samples.target)
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
        design = StoredDesign(
            block.T,
            samples.target[left],
            samples.target[left],
            kernel,
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
    bound = LARGEST_UNCOVERED_RELATIVE if relative > 0.0 else LARGEST_UNCOVERED
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
