"""Cross-validation of least-squares importance fitting."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dposv

from counterpoise.data.blocks import Blocks
from counterpoise.data.parallel import map_reduce
from counterpoise.data.progress import announce
from counterpoise.data.two_samples import N_FOLDS, TwoSamples, folds, spaced_places
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.path import Breakpoint, PathError, follow
from counterpoise.optim.problems import NonnegativeQuadratic
from counterpoise.weights.kernel_design import sum_of_pairs
from counterpoise.weights.search import (
    LARGEST_UNCOVERED,
    Deadline,
    HeldOut,
    choose,
    unsupported_share,
)

# -----------------------------------------------------------------------------
# All solutions of LSIF: exact, piecewise linear in the penalty.
# -----------------------------------------------------------------------------


# Of the mean diagonal entry of H, added to the diagonal; without it the path of nearly
# dependent basis functions is followed through rounding errors. The mean is not taken
# below the second number, so that samples far apart still pose a bounded problem.
PATH_RIDGE, LEAST_DIAGONAL = 1e-10, 1e-6


@dataclass(frozen=True)
class _Active:
    """The free entries from here on, and how often nothing has moved since."""

    free: Indices
    standing: int = 0


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    r"""Minimize :math:`x'(H + \rho I)x/2 - h'x + \lambda \sum x` over :math:`x \ge 0`.

    :math:`\rho` is 1e-10 of the mean diagonal entry of H (at least 1e-16). For
    :math:`\lambda \ge \max h` the solution is zero; as :math:`\lambda` falls, the free
    entries F move on lines, :math:`x_F = (H + \rho I)_{FF}^{-1} (h_F - \lambda 1)`,
    until one of them reaches zero and is fixed, or the slope of a fixed entry reaches
    zero and it is freed.

    Parameters
    ----------
    H : array of shape (n, n)
        Symmetric, positive semidefinite, no negative entries.
    h : array of shape (n,)
        With a positive entry.
    stop : float
        The smallest penalty.
    """

    H: Array
    h: Array
    stop: float = 0.0

    @property
    def start(self) -> float:
        """The penalty from which on the solution is zero."""
        return float(self.h.max())

    @cached_property
    def ridged(self) -> Array:
        """H with its small ridge."""
        out = self.H.copy()
        mean = max(float(np.trace(self.H)) / len(self.h), LEAST_DIAGONAL)
        out[np.diag_indices_from(out)] += PATH_RIDGE * mean
        return out

    def problem(self, penalty: float) -> NonnegativeQuadratic:
        """Return the problem at one penalty."""
        return NonnegativeQuadratic(self.ridged, self.h - penalty)

    def certify(self, theta: float, x: Array) -> Certificate:
        """Bound how far x is from optimal at theta, whoever found it."""
        return self.problem(theta).certify(x)

    def begin(self) -> Breakpoint:
        """Return zero, with the first entry to be freed."""
        first = int(np.argmax(self.h))
        return Breakpoint(self.start, np.zeros(len(self.h)), _Active(np.array([first])))

    def advance(self, here: Breakpoint) -> Breakpoint:
        """Return the end of the linear piece that begins here, `stop` at the latest."""
        active = here.memory
        assert isinstance(active, _Active)
        free = active.free
        if active.standing > 2 * len(self.h) or not len(free):
            raise PathError("entries come and go at one penalty", here.theta)
        # On the free entries x = level - theta * pull; the slopes of the others are
        # base + theta * tilt.
        right = np.ones((len(free), 2))
        right[:, 0] = self.h[free]
        columns = self.ridged[:, free]
        _, ends, failed = dposv(columns[free], right)
        if failed:
            raise PathError("the free basis functions depend on each other", here.theta)
        level, pull = ends.T
        images = columns @ ends
        base, tilt = images[:, 0] - self.h, 1.0 - images[:, 1]
        event = np.full(len(self.h), -np.inf)
        falls = tilt > 0.0
        event[falls] = -base[falls] / tilt[falls]
        event[free] = np.divide(
            level, pull, out=np.full(len(free), -np.inf), where=pull < 0.0
        )
        np.minimum(event, here.theta, out=event)
        moved = int(np.argmax(event))
        theta = max(float(event[moved]), self.stop)
        x = np.zeros(len(self.h))
        x[free] = np.maximum(level - theta * pull, 0.0)
        if moved in free:
            if theta > self.stop:
                x[moved] = 0.0
            following = free[free != moved]
        else:
            following = np.append(free, moved)
        standing = active.standing + 1 if theta == here.theta else 0
        return Breakpoint(theta, x, _Active(following, standing))


# -----------------------------------------------------------------------------
# Choosing the width and the penalty of least-squares ratio fits by held-out rows.
#
# The score is the one that all methods are chosen by (`weights.search.choose`). The
# textbook criterion, the held-out least-squares loss
# :math:`E_{source} w^2 / 2 - E_{target} w`, is kept beside it and not used: it has no
# lower bound, and a fit with a huge bump where no held-out source row happens to lie
# wins
# by millions.
# -----------------------------------------------------------------------------


# Entries of a kernel block, and rows at a time that stay in the processor's cache.
MOMENT_ENTRIES, ROWS_LEFT_OUT = 2**22, 512
# Rows of each sample that a choice is made by.
ROWS_SCORED = 5000


@dataclass(frozen=True, eq=False)
class Moments:
    """Second moments of the basis over both samples, and its mean over the target."""

    source: Array
    target: Array
    mean: Array

    @classmethod
    def of(cls, samples: TwoSamples, centers: Array, gamma: float) -> "Moments":
        """Return the moments of Gaussians at the centers."""
        source, _ = _moments(samples.source, samples.source_share, centers, gamma)
        target, mean = _moments(samples.target, samples.target_share, centers, gamma)
        return cls(source, target, mean)

    @classmethod
    def of_blocks(
        cls, source: Blocks, target: Blocks, centers: Array, gamma: float
    ) -> "Moments":
        """Return the moments over two tables that are read block by block."""
        announce("reading every row: moments of the basis")
        parts = [
            map_reduce(
                blocks,
                partial(_moments_of_block, centers, gamma, blocks.n_rows),
                sum_of_pairs,
            )
            for blocks in (source, target)
        ]
        return cls(parts[0][0], *parts[1])

    def mixed(self, relative: float) -> Array:
        """Return the second moment over the mixture of both samples."""
        return (1.0 - relative) * self.source + relative * self.target


def _moments_of_block(
    centers: Array, gamma: float, n_rows: int, rows: Array, first: int
) -> tuple[Array, Array]:
    return _moments(rows, np.full(len(rows), 1.0 / n_rows), centers, gamma)


@dataclass(frozen=True, eq=False)
class Curve:
    """The fits of all penalties at one width, seen at rows they were not fitted to."""

    penalties: Array
    ratio_source: Array
    ratio_target: Array


def search(
    curve_at: Callable[[float], Curve],
    samples: TwoSamples,
    relative: float,
    gammas: Array,
    n_admissible: int,
    deadline: Deadline | None = None,
    n_covering: int = 0,
) -> tuple[float, float, dict[str, Array]]:
    """Return the chosen gamma and penalty, and all that the choice was made from.

    `gammas` come with the widest kernel first, penalties with the largest first, and
    the first as good as the best is taken, or, if that is better, the
    best of the first `n_covering` widths. Widths beyond the first
    `n_admissible` are shown and not taken, except the widest where none is admissible.
    After half of the time until the deadline no further width is tried.
    """
    deadline = deadline or Deadline()
    curves: list[Curve] = []
    for gamma in gammas:
        if curves and deadline.half_is_over():
            break
        curves.append(curve_at(float(gamma)))
    deadline.warn_untried(len(curves), len(gammas), "widths")
    gammas = gammas[: len(curves)]
    sizes = [len(curve.penalties) for curve in curves]
    penalties = np.concatenate([curve.penalties for curve in curves])
    each = np.repeat(gammas, sizes)
    number = np.repeat(np.arange(len(gammas)), sizes)
    ratio_target = np.concatenate([curve.ratio_target for curve in curves])
    ratio_source = np.concatenate([curve.ratio_source for curve in curves])
    if relative > 0.0:
        # A relative ratio has mean one over the mixture of both samples.
        samples = _with_mixture(samples, relative)
        ratio_source = np.hstack([ratio_source, ratio_target])
    able = number < max(n_admissible, 1)
    choice = choose(
        [
            HeldOut(target, source, admissible=bool(one))
            for target, source, one in zip(
                ratio_target, ratio_source, able, strict=True
            )
        ],
        samples,
    )
    taken = choice.chosen
    covering = np.flatnonzero(able & (number < n_covering))
    if covering.size and choice.scores[covering].max() > choice.scores[taken]:
        taken = int(covering[np.argmax(choice.scores[covering])])
    squares = 0.5 * ratio_source**2 @ samples.source_share
    return (
        float(each[taken]),
        float(penalties[taken]),
        {
            "gamma": each,
            "width": 1.0 / np.sqrt(2.0 * each),
            "regularization": penalties,
            "score": choice.scores,
            "standard_error": np.full(len(each), choice.allowed),
            "least_squares_score": ratio_target @ samples.target_share - squares,
            "admissible": number < n_admissible,
            "chosen": np.arange(len(each)) == taken,
        },
    )


def spread_rows(samples: TwoSamples) -> tuple[Indices, Indices]:
    """Return at most 5000 rows of each sample, at equal intervals."""
    n, m = samples.source.shape[0], samples.target.shape[0]
    return spaced_places(n, ROWS_SCORED), spaced_places(m, ROWS_SCORED)


def count_admissible(
    samples: TwoSamples, gammas: Array, most: float = LARGEST_UNCOVERED
) -> int:
    """Return how many widths, the widest first, reach all but a share of the target.

    The share of target rows without a source neighbor grows as the width falls, so
    halving finds it.
    """
    low, high = 0, len(gammas)
    while low < high:
        middle = (low + high) // 2
        if unsupported_share(samples, float(gammas[middle])) <= most:
            low = middle + 1
        else:
            high = middle
    return low


def leave_one_out(
    samples: TwoSamples,
    rows: tuple[Indices, Indices],
    centers: Array,
    gamma: float,
    penalties: Array,
    relative: float,
) -> Curve:
    """Return the ratios of ridge fits at rows of both samples, each left out once.

    A row is left out of its own sample while the other sample stays whole, so that
    the ratios do not depend on which source row stands beside which target row. Of a
    row of weight above one, one copy is left out.
    """
    moments = Moments.of(samples, centers, gamma)
    source, target = rows
    of_source = left_out_ratios(
        Kernel("rbf", gamma).matrix(samples.source[source], centers),
        np.minimum(samples.source_share[source], 1.0 / samples.source_mass),
        moments.source,
        1.0 - relative,
        relative * moments.target,
        moments.mean,
        penalties,
        in_mean=False,
    )
    of_target = left_out_ratios(
        Kernel("rbf", gamma).matrix(samples.target[target], centers),
        np.minimum(samples.target_share[target], 1.0 / samples.target_mass),
        moments.target,
        relative,
        (1.0 - relative) * moments.source,
        moments.mean,
        penalties,
        in_mean=True,
    )
    return Curve(penalties, of_source, of_target)


def left_out_ratios(
    kernel: Array,
    removed: Array,
    moment: Array,
    part: float,
    rest: Array,
    mean: Array,
    penalties: Array,
    *,
    in_mean: bool,
) -> Array:
    r"""Return the clipped ratio at every row from the ridge fit without that row.

    With row i, of which a share :math:`e_i` of its sample's mass is removed, the fit is

    .. math::
        \left(p \frac{M - e_i k_i k_i'}{1 - e_i} + R + \lambda I\right) \alpha_i = h_i,
        \quad h_i = h \;\text{ or }\; \frac{h - e_i k_i}{1 - e_i},

    a matrix known in its eigenbasis less a matrix of rank one: one product of the rows
    with the basis a penalty gives all :math:`\alpha_i`, whose negative entries then
    become zero.

    Parameters
    ----------
    kernel : array of shape (k, b)
        The basis at the rows, :math:`k_i`.
    removed : array of shape (k,)
        :math:`e_i`, below one.
    moment : array of shape (b, b)
        M, the second moment of the basis over the rows' own sample.
    part : float
        p, what it counts.
    rest : array of shape (b, b)
        R, what the other sample adds.
    mean : array of shape (b,)
        h, the mean of the basis over the target.
    penalties : array of shape (l,)
    in_mean : bool
        Whether the rows are target rows, which h is a mean of.

    Returns
    -------
    array of shape (l, k)
    """
    # A row beside which no other counts leaves nothing but rounding behind.
    raised = 1.0 / np.maximum(1.0 - removed, np.finfo(float).eps)
    rank_one = part * removed * raised
    lift = raised if in_mean else np.ones_like(raised)
    own = -removed * raised if in_mean else np.zeros_like(raised)
    out = np.empty((len(penalties), len(kernel)))
    basis: Array | None = None
    for number, (now, inverse) in enumerate(
        _inverses(part * moment, rest, raised, penalties)
    ):
        if now is not basis:
            basis = now
            inside, mean_inside = kernel @ basis, mean @ basis
        for first in range(0, len(kernel), ROWS_LEFT_OUT):
            rows = slice(first, first + ROWS_LEFT_OUT)
            scale = inverse[rows] if inverse.ndim == 2 else inverse
            coef = inside[rows] * scale
            square = np.einsum("ij,ij->i", coef, inside[rows])
            slope = lift[rows] * (coef @ mean_inside) + own[rows] * square
            bend = 1.0 - rank_one[rows] * square
            coef *= (own[rows] + rank_one[rows] * slope / bend)[:, None]
            coef += lift[rows, None] * (mean_inside * scale)
            alpha = coef @ now.T
            np.maximum(alpha, 0.0, out=alpha)
            out[number, rows] = np.einsum("ij,ij->i", alpha, kernel[rows])
    return out


def _inverses(
    own: Array, rest: Array, raised: Array, penalties: Array
) -> Iterator[tuple[Array, Array]]:
    r"""Yield W and d for every penalty: the inverse for row i is W diag(d_i) W'.

    What is inverted is :math:`r_i M + R + \lambda I`. Where all r are one number (no
    weights, or none below one) or one of the matrices is zero, a single
    eigendecomposition serves all penalties; else it takes a generalized one each.
    """
    even = np.ptp(raised) <= 1e-9 * (raised.max() - 1.0)
    if even or not own.any():
        values, basis = eigh(raised.mean() * own + rest)
        for penalty in penalties:
            yield basis, 1.0 / (np.maximum(values, 0.0) + penalty)
    elif not rest.any():
        values, basis = eigh(own)
        spread = np.outer(raised, np.maximum(values, 0.0))
        for penalty in penalties:
            yield basis, 1.0 / (spread + penalty)
    else:
        for penalty in penalties:
            values, basis = eigh(own, rest + penalty * np.eye(len(own)))
            yield basis, 1.0 / (np.outer(raised, np.maximum(values, 0.0)) + 1.0)


def held_out_folds(
    samples: TwoSamples,
    centers: Array,
    gamma: float,
    penalties: Array,
    *,
    fractions: bool,
    seed: int,
) -> Curve:
    """Return the ratios of LSIF along its path at rows held out, in five folds.

    With `fractions` the penalties are in units of the one from which on the solution
    is zero.
    """
    of_source = folds(samples.source, N_FOLDS, seed)
    of_target = folds(samples.target, N_FOLDS, seed + 1)
    phi = Kernel("rbf", gamma).matrix(samples.source, centers)
    psi = Kernel("rbf", gamma).matrix(samples.target, centers)
    p, q = samples.source_share, samples.target_share
    if fractions:
        penalties = penalties * float((q @ psi).max())
    ratio_source = np.empty((len(penalties), len(p)))
    ratio_target = np.empty((len(penalties), len(q)))
    for k in range(N_FOLDS):
        kept, left = of_source != k, of_target != k
        scaled = phi[kept] * np.sqrt(p[kept] / p[kept].sum())[:, None]
        path = PenaltyPath(
            scaled.T @ scaled,
            (q[left] / q[left].sum()) @ psi[left],
            stop=float(penalties.min()),
        )
        coefs = _along(path, penalties)
        ratio_source[:, ~kept] = coefs @ phi[~kept].T
        ratio_target[:, ~left] = coefs @ psi[~left].T
        # Where nothing is fitted, nothing at the target makes it the worst candidate.
        ratio_source[np.ix_(~coefs.any(axis=1), ~kept)] = 1.0
    return Curve(penalties, ratio_source, ratio_target)


def _along(path: PenaltyPath, penalties: Array) -> Array:
    """Return the solutions at some penalties; zero where the path has none."""
    out = np.zeros((len(penalties), len(path.h)))
    inside = np.flatnonzero(penalties < path.start)
    if not len(inside):
        return out
    try:
        solutions = follow(path)
    except PathError:
        return out
    for k in inside:
        out[k] = solutions.at(float(penalties[k]))
    return out


def _moments(
    rows: Array, share: Array, centers: Array, gamma: float
) -> tuple[Array, Array]:
    """Return the weighted second moment and mean of the basis, by blocks of rows."""
    size = len(centers)
    moment, mean = np.zeros((size, size)), np.zeros(size)
    step = min(max(MOMENT_ENTRIES // size, 1), 4096)
    for first in range(0, len(rows), step):
        part = share[first : first + step]
        kernel = Kernel("rbf", gamma).matrix(rows[first : first + step], centers)
        mean += part @ kernel
        kernel *= np.sqrt(part)[:, None]
        moment += kernel.T @ kernel
    return moment, mean


def _with_mixture(samples: TwoSamples, relative: float) -> TwoSamples:
    """Return the samples with the mixture of both in place of the source."""
    share = [(1.0 - relative) * samples.source_share, relative * samples.target_share]
    return replace(
        samples,
        source=np.concatenate([samples.source, samples.target]),
        source_share=np.concatenate(share),
    )
