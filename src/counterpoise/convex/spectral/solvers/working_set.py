"""Interior-point steps on some of the rows, priced on all of them."""

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.convex.spectral.discrepancy import Discrepancy, DualMatrix
from counterpoise.convex.spectral.solvers.incumbent import Incumbent
from counterpoise.convex.spectral.steps.interior import (
    Inside,
    SpectralInterior,
    spectral_norm,
)
from counterpoise.numerics.arrays import Array, Indices

# Rows are exchanged when the gap on those in use is below this share of what the
# others cost.
EXCHANGE = 0.7
# Rows nearest to use that join, as a share of those in use.
NEAR_USE = 0.1
# Weight of a new row, as a share of the mean weight.
ENTRY = 0.05
# Steps without progress after which the dual matrices are put in the middle again.
PATIENCE = 15
# Times that a search without a step is taken up again.
MOST_RECOVERIES = 4
# Where directions join: the share of the middle in the dual matrices, and the room
# above the norm, in units of the gap.
BLEND, ROOM = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """The rows in use, an interior point on them, and the best seen so far.

    `age` counts the steps since rows were exchanged, when the gap was `gap_then`.
    `restricted` is the bound on the rows in use, `missed` how much of it the others
    take away; `spent`: rounding leaves no step.
    """

    problem: Discrepancy
    columns: Indices
    interior: SpectralInterior
    inside: Inside
    incumbent: Incumbent
    pulls: Array
    restricted: float = 0.0
    missed: float = 0.0
    age: int = 0
    gap_then: float = np.inf
    failures: int = 0
    spent: bool = False

    @classmethod
    def of(
        cls,
        problem: Discrepancy,
        columns: Indices,
        z: Array | None = None,
        incumbent: Incumbent | None = None,
    ) -> "WorkingSet":
        """Return a fresh set of rows at z (or equal weights on them)."""
        interior = _interior(problem, columns)
        inside = interior.start(None if z is None else _pushed_inside(z, problem.cap))
        return cls(
            problem,
            columns,
            interior,
            inside,
            incumbent or Incumbent.at(problem, None),
            np.zeros(problem.size),
        )._priced()

    def widened(self, problem: Discrepancy) -> "WorkingSet":
        """Return the same weights and dual matrix where directions have joined.

        The first ones are the old ones, in their order.
        """
        here, N = self.inside, problem.rows.shape[1]
        interior = _interior(problem, self.columns)
        old = len(here.M)
        M = interior.operator(here.z)
        norm = spectral_norm(M)
        point = self.point
        value = norm + problem.spread_term(point)
        gap = value - max(self.incumbent.bound, 0.0)
        share = min(0.5, max(1e-3, BLEND * gap / norm))
        above, below = np.zeros((N, N)), np.zeros((N, N))
        above[:old, :old], below[:old, :old] = here.above, here.below
        keep = 1.0 - share
        inside = replace(
            here,
            t=norm + ROOM * gap,
            above=blended(above, share),
            below=blended(below, share),
            low=keep * here.low,
            high=None if here.high is None else keep * here.high,
            level=keep * here.level,
            M=M,
            norm=norm,
            pulls=keep * here.pulls,
        )
        start = replace(self.incumbent, z=point, value=value)
        if isinstance(start.dual, DualMatrix):
            room = np.zeros((N - old, start.dual.values.size))
            wider = np.concatenate([start.dual.directions, room])
            start = replace(start, dual=DualMatrix(wider, start.dual.values))
        return replace(
            self,
            problem=problem,
            interior=interior,
            inside=inside,
            incumbent=start,
            age=0,
            gap_then=np.inf,
            failures=0,
            spent=False,
        )._priced()

    def turned(self, turn: Array) -> "WorkingSet":
        """Return the same on the span of an orthonormal `turn` of the directions."""
        here = self.inside
        above, below = turn.T @ here.above @ turn, turn.T @ here.below @ turn
        trace = float(np.trace(above) + np.trace(below))
        inside = replace(
            here,
            above=above / trace,
            below=below / trace,
            M=turn.T @ here.M @ turn,
            matched=False,
        )
        incumbent = replace(self.incumbent, dual=None, bound=-np.inf)
        return replace(self, inside=inside, incumbent=incumbent)

    @property
    def whole(self) -> bool:
        """Whether all rows are in use."""
        return self.columns.size == self.pulls.size

    @property
    def point(self) -> Array:
        """The weights of all rows."""
        if self.whole:
            return self.inside.z
        z = np.zeros(self.problem.size)
        z[self.columns] = self.inside.z
        return z

    @property
    def gap(self) -> float:
        """The gap of the best point and the best bound."""
        return self.incumbent.value - max(self.incumbent.bound, 0.0)

    def advanced(self, accuracy: float = 0.0) -> "WorkingSet":
        """Return the set after one step, with other rows before it if they are due.

        `accuracy` is the absolute gap that is wanted: no row is exchanged for less.
        One step on w of m rows costs O(w^2 N + w^3 / 3 + N^3), pricing O(m N^2).
        """
        here = self._exchanged() if self._due(accuracy) else self
        if here.age >= PATIENCE and here.gap > 0.9 * here.gap_then:
            here = replace(here, inside=here.interior.start(here.inside.z), age=0)
        try:
            inside = here.interior.advance(here.inside)
        except np.linalg.LinAlgError:
            return here._recovered()
        out = replace(here, inside=inside, age=here.age + 1)._priced()
        if here.age >= PATIENCE and here.gap <= 0.9 * here.gap_then:
            out = replace(out, age=0, gap_then=here.gap)
        return out

    def _recovered(self) -> "WorkingSet":
        """Return the set with other rows or with its matrices in the middle again.

        Rounding has left no step; it has the last word when neither has helped.
        """
        failures = self.failures + 1
        if failures > MOST_RECOVERIES:
            return replace(self, spent=True)
        if not self.whole and self.missed > 0.0 and failures % 2:
            return replace(self._exchanged(), failures=failures)
        inside = self.interior.start(self.inside.z)
        return replace(self, inside=inside, age=0, failures=failures)

    def _due(self, accuracy: float) -> bool:
        if self.whole or not self.missed > 0.0:
            return False
        gap = self._value() - self.restricted
        near = 0.5 * max(self.restricted, 2.0 * accuracy)
        return gap < EXCHANGE * self.missed and gap < near

    def _value(self) -> float:
        return self.inside.norm + self.problem.spread_term(self.point)

    def _priced(self) -> "WorkingSet":
        """Return the same with its proof over all rows."""
        point, here = self.point, self.inside
        used = None if self.whole else self.columns
        priced = self.problem.priced(point, here.norm, here.Y, used)
        return replace(
            self,
            incumbent=self.incumbent.or_priced(point, priced),
            pulls=priced.pulls,
            restricted=priced.restricted,
            missed=priced.missed,
        )

    def _exchanged(self) -> "WorkingSet":
        """Return the set with unused rows dropped and violating ones joined, warm."""
        problem, W, z, pulls = self.problem, self.columns, self.inside.z, self.pulls
        N = problem.rows.shape[1]
        here, gap = self.inside, self._value() - self.restricted
        top = float(pulls[W].max()) if problem.cap is None else self.inside.level
        slack = top - pulls[W]
        kept = W[(z > 1e-3 / W.size) | (slack < 0.5 * np.median(slack))]
        outside = np.setdiff1d(np.arange(problem.size), W, assume_unique=True)
        tempting = outside[pulls[outside] > top - 0.5 * gap]
        count = min(tempting.size, max(200, N, W.size // 2))
        near = min(int(NEAR_USE * W.size), outside.size)
        if near > count:
            tempting, count = outside, near
        joined = tempting[np.argsort(-pulls[tempting], kind="stable")[:count]]
        columns = np.union1d(kept, joined)
        fresh = np.isin(columns, joined, assume_unique=True)
        weights, low = np.empty(columns.size), np.empty(columns.size)
        places = np.searchsorted(W, columns[~fresh])
        weights[~fresh], low[~fresh] = z[places], here.low[places]
        # A new row enters with next to no weight and the multiplier that is central for
        # it: the point stays where it is, and Newton's steps mend the mismatch.
        centre = here.centre(W.size)
        room = np.maximum(here.level - pulls[columns[fresh]], 1e-300)
        weights[fresh] = np.minimum(centre / room, ENTRY / columns.size)
        low[fresh] = centre / weights[fresh]
        high = None
        if here.high is not None:
            high = np.full(columns.size, float(np.median(here.high)))
            high[~fresh] = here.high[places]
        total = float(weights.sum())
        interior = _interior(problem, columns)
        inside = interior.mismatched(here, weights / total, low * total, high)
        return replace(
            self,
            columns=columns,
            interior=interior,
            inside=inside,
            age=0,
            gap_then=self.gap,
        )


def blended(Y: Array, share: float) -> Array:
    """Return a half of the dual matrix mixed with its share of the middle."""
    N = len(Y)
    return (1.0 - share) * Y + (share / (2.0 * N)) * np.eye(N)


def _interior(problem: Discrepancy, columns: Indices) -> SpectralInterior:
    rows = problem.rows if columns.size == problem.size else problem.rows[columns]
    cap = problem.cap if problem.cap is not None and problem.cap < 1.0 else None
    return SpectralInterior(rows, problem.target_moment, cap, problem.bend)


def _pushed_inside(z: Array, cap: float | None) -> Array:
    """Return a point with every entry positive and strictly below the cap."""
    even = 1.0 / z.size
    out = 0.999 * z + 0.001 * even
    if cap is not None and cap < 1.0 and out.max() > 0.99 * cap:
        reach = (0.99 * cap - even) / (float(out.max()) - even)
        out = even + max(reach, 0.0) * (out - even)
    return out
