"""Sequential penalized relaxations and other solvers over orthonormal matrices."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.stiefel import (
    clip_singular_values,
    dense,
    largest_eigenvalue,
    orthonormality,
    polar,
    smallest_eigenpairs,
    tangent,
)
from counterpoise.optim.certificate import FEASIBLE
from counterpoise.optim.loop import Solver, State
from counterpoise.optim.stiefel.local_search import (
    descend,
    labels_of,
    on_supports,
    polished,
    restored,
)
from counterpoise.optim.stiefel.problem import OrthogonalProblem
from counterpoise.optim.stiefel.relaxations import (
    ConicRows,
    EliminatedRound,
    LiftedRound,
    NonnegativeRound,
    Relaxation,
    RoundAnswer,
    Splitting,
    can_eliminate,
    eigenvalue_shift,
)

# -----------------------------------------------------------------------------
# Which problems over frames a solver accepts.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FrameRequirements:
    """What a problem over frames may have, and what it must have.

    Parameters
    ----------
    linear, maximum, l1, constraints, nonnegative : bool
        Whether a problem with such a part is accepted.
    needs_maximum : bool
        Whether one without a maximum is refused.
    needs_signs : bool
        Whether one without P >= 0 is refused.
    one_term : bool
        Whether a quadratic beside a linear term must be a multiple of the identity.
    """

    linear: bool = True
    maximum: bool = True
    l1: bool = True
    constraints: bool = True
    nonnegative: bool = True
    needs_maximum: bool = False
    needs_signs: bool = False
    one_term: bool = False

    def lacking(self, problem: object) -> list[str]:
        """Return what stands against the problem, in words."""
        if not isinstance(problem, OrthogonalProblem):
            return [f"a {type(problem).__name__} is no problem over frames"]
        found = {
            "a linear term": problem.linear is not None and not self.linear,
            "a maximum": problem.maximum is not None and not self.maximum,
            "absolute values": problem.l1 is not None and not self.l1,
            "constraints": bool(problem.constraints) and not self.constraints,
            "P >= 0": problem.nonnegative and not self.nonnegative,
        }
        out = [f"it takes no problem with {part}" for part, bad in found.items() if bad]
        if self.needs_maximum and problem.maximum is None:
            out.append("it needs a maximum of quadratics")
        if self.needs_signs and not problem.nonnegative:
            out.append("it needs P >= 0")
        if self.one_term and not problem.has_one_term:
            out.append("it takes a quadratic or a linear term, not both")
        return out


# -----------------------------------------------------------------------------
# Problems over frames with a closed form.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Eigenvectors:
    """The global optimum of one term alone, in one step.

    A quadratic term: the eigenvectors of the m smallest eigenvalues (Ky Fan). A linear
    one, beside a multiple of the identity at most: the polar factor of -N. Valid
    without maximum, absolute values, constraints and P >= 0.
    """

    @property
    def accepts(self) -> FrameRequirements:
        """A quadratic or a linear term, and nothing else."""
        return FrameRequirements(
            maximum=False,
            l1=False,
            constraints=False,
            nonnegative=False,
            one_term=True,
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(problem.start() if x is None else x)
        return State(P, problem.claim(P))

    def step(self, problem: Any, state: State) -> State:
        """Return the optimum; there is no second step."""
        if problem.linear is not None:
            P = polar(-problem.linear)
        elif problem.quadratic is not None:
            P = np.ascontiguousarray(
                smallest_eigenpairs(problem.quadratic, problem.shape[1])[1]
            )
        else:
            P = state.x
        return State(P, problem.claim(P), stalled=True)


# -----------------------------------------------------------------------------
# Non-negative frames by rounds whose penalty rises: labels without k-means.
# -----------------------------------------------------------------------------


# Penalties of the continuation where the largest eigenvalue of M - dI is 12, and rounds
# at each.
CONTINUED, USUAL_EIGENVALUE, ROUNDS_EACH = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 12.0, 4
# A round that moves less is the last at its penalty.
LITTLE = 1e-3


@dataclass(frozen=True, eq=False)
class _ContinuedMemory:
    """Where the continuation is."""

    round: NonnegativeRound
    penalties: tuple[float, ...]
    level: int
    at_level: int
    Pc: Array
    splitting: Splitting | None
    labels: Indices


@dataclass(frozen=True)
class NonnegativeRounds:
    r"""SPR over non-negative frames, by ADMM rounds and continuation in the penalty.

    Valid for a quadratic and a linear term with P >= 0 and nothing else. No theorem of
    SPR applies: the constraint qualification that they need fails at every feasible
    point. A large penalty keeps the labels of the start (a proximal step of length 1/mu
    against curvatures of 10), so the penalty rises: 0.03, 0.1, 0.3, 1, 3, 10 (times the
    largest eigenvalue of M - dI over 12), up to 4 rounds each. After each penalty the
    largest entry of every row is its label and the best columns on these supports are
    a candidate: exactly feasible, and stationary. The best candidate is kept.

    Parameters
    ----------
    relaxation : {"sdp", "parabolic"}
    penalty : float, optional
        One penalty instead of the rising ones.
    accuracy : float
        Of the ADMM rounds.
    inner_steps : int
        Most steps of a round.
    """

    relaxation: Relaxation = "sdp"
    penalty: float | None = None
    accuracy: float = 1e-4
    inner_steps: int = 800

    @property
    def accepts(self) -> FrameRequirements:
        """Smooth terms with P >= 0."""
        return FrameRequirements(
            maximum=False, l1=False, constraints=False, needs_signs=True
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state: x, and the best frame on the supports of x."""
        Pc = problem.start() if x is None else x
        labels = labels_of(Pc)
        relaxed = NonnegativeRound(problem, self.relaxation)
        penalties: tuple[float, ...] = (self.penalty,) if self.penalty else ()
        if not penalties:
            top = largest_eigenvalue(problem.quadratic) - relaxed.shift
            unit = (top or problem.slope) / USUAL_EIGENVALUE
            penalties = tuple(unit * mu for mu in CONTINUED)
        memory = _ContinuedMemory(relaxed, penalties, 0, 0, polar(Pc), None, labels)
        P = on_supports(problem, labels)
        # Every candidate is stationary: the claim counts when the continuation is over.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _ContinuedMemory = state.memory
        mu = memory.penalties[memory.level]
        at = memory.splitting or memory.round.begin(memory.Pc, mu)
        at = memory.round.solve(memory.Pc, mu, at, self.accuracy, self.inner_steps)
        Pc = polar(at.positive + 1e-9)
        moved = float(np.linalg.norm(Pc - memory.Pc))
        over = moved < LITTLE or memory.at_level + 1 >= ROUNDS_EACH
        memory = replace(memory, Pc=Pc, splitting=at, at_level=memory.at_level + 1)
        if not over:
            return replace(state, memory=memory)
        x, value = state.x, state.claim.objective
        labels = labels_of(at.positive)
        if not np.array_equal(labels, memory.labels):
            candidate = on_supports(problem, labels)
            if problem.value(candidate) < value:
                x, value = candidate, problem.value(candidate)
        last = memory.level + 1 == len(memory.penalties)
        memory = replace(
            memory,
            level=memory.level + (not last),
            at_level=0,
            splitting=None,
            labels=labels,
        )
        if last:
            return State(x, problem.claim(x), memory, stalled=True)
        claim = replace(state.claim, objective=value)
        return State(x, claim, memory)


# -----------------------------------------------------------------------------
# Rounds of a penalised relaxation, each followed by the nearest frame.
# -----------------------------------------------------------------------------


# The first penalty is just above the slope of the objective, where rounds without
# constraints are exact.
ABOVE_THE_SLOPE = 1.01
# A penalty this many times the first ends the search for a feasible frame.
LARGEST_GROWTH = 1e6
# The least penalty, in units of the slope.
LEAST_PENALTY = 1e-4
# The rising penalty of non-negative frames, in units of the slope, and its factor.
LEAST_RISING, MOST_RISING, RISE_OF_PENALTY = 3e-3, 3.0, 3.0
# So many rounds without a better frame end the search.
IDLE_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class _SequentialMemory:
    """Where the rounds are."""

    round: Any
    penalty: float
    feasible: bool
    # Whether the penalty may fall: not again where a lower one has just failed.
    may_fall: bool = True
    idle: int = 0
    # Where the next round of a non-negative frame begins, whose best candidate is x.
    center: Array | None = None


@dataclass(frozen=True)
class SequentialRelaxation:
    r"""Sequential penalised relaxation (SPR) with a penalty that finds itself.

    A round minimises the relaxed objective less :math:`\mu \langle P_c, P\rangle` from
    the frame :math:`P_c` and projects onto the frames by the polar factor. Where the
    round is exact (:math:`X = PP'`) it is the proximal step
    :math:`\arg\min f + \frac{\mu}{2}|P - P_c|^2` over the feasible frames, so that

    .. math:: f(P_c) - f(P) \ge \frac{\mu}{2} |P - P_c|^2 .

    The penalty starts at 1.01 times the problem's `slope`, is doubled in every round
    until a frame is feasible to 1e-6, and then halved as long as rounds stay feasible
    and the objective falls; a round that fails is taken back and the penalty doubled.
    So the objective never rises after the first feasible round. At 1e6 times the first
    penalty the search for a feasible frame ends.

    With P >= 0 no theorem makes a round exact, and every set of labels with its best
    columns is stationary: there the penalty rises from 0.003 to 3 times the slope, by a
    factor of three a round, each round's labels are a candidate, and the best is kept.

    Valid for every problem. A round costs one conic programme: of order n + m ("sdp",
    2 s at n = 50) or of second-order cones ("parabolic", cheaper for small m and
    matrices with few entries); without X, by `EliminatedRound`, where no constraint or
    maximum sees it.

    Parameters
    ----------
    relaxation : {"sdp", "parabolic"}
    penalty : float, optional
        Keep this penalty in all rounds; None: by the rule above.
    polish : bool
        Whether Newton steps follow a feasible round.

    References
    ----------
    Zohrizadeh (2019), chapter 3, with the penalty by the exactness rule.
    """

    relaxation: Relaxation = "sdp"
    penalty: float | None = None
    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """Every problem over frames."""
        return FrameRequirements()

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(problem.start() if x is None else x)
        relax = EliminatedRound if can_eliminate(problem) else LiftedRound
        mu = self.penalty or ABOVE_THE_SLOPE * problem.slope
        feasible = problem.infeasibility(P) <= FEASIBLE
        memory = _SequentialMemory(relax(problem, self.relaxation), mu, feasible)
        if problem.nonnegative:
            mu = self.penalty or LEAST_RISING * problem.slope
            memory = replace(memory, penalty=mu, center=P)
            return State(P, problem.unproved(P), memory)
        return State(P, problem.claim(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _SequentialMemory = state.memory
        if memory.center is not None:
            return self._signed(problem, state, memory.center)
        answer = memory.round.solve(state.x, memory.penalty)
        if not np.isfinite(answer.P).all():
            return self._doubled(problem, state, None)
        P = restored(problem, polar(answer.P))
        inside = problem.infeasibility(P) <= FEASIBLE
        if not memory.feasible:
            if not inside:
                return self._doubled(problem, state, polar(answer.P))
            return self._accepted(problem, state, P)
        noise = 1e-12 * max(problem.slope, abs(state.claim.objective))
        if inside and problem.value(P) <= state.claim.objective + noise:
            return self._accepted(problem, state, P)
        return self._doubled(problem, state, None)

    def _signed(self, problem: Any, state: State, center: Array) -> State:
        """Return the state after a round of a non-negative frame."""
        memory: _SequentialMemory = state.memory
        answer = memory.round.solve(center, memory.penalty)
        there, x, claim = center, state.x, state.claim
        if np.isfinite(answer.P).all():
            there = polar(np.maximum(answer.P, 0.0) + 1e-9)
            candidate = on_supports(problem, labels_of(answer.P))
            if self.polish:
                candidate = polished(problem, candidate)
            fresh = problem.claim(candidate)
            outside, before = (max(c.infeasibility, FEASIBLE) for c in (fresh, claim))
            if (outside, fresh.objective) < (before, claim.objective):
                x, claim = candidate, replace(fresh, residual=np.inf)
        still = float(np.linalg.norm(there - center)) < 1e-3
        last = still if self.penalty else memory.penalty >= MOST_RISING * problem.slope
        mu = memory.penalty * (1.0 if self.penalty else RISE_OF_PENALTY)
        memory = replace(memory, penalty=mu, center=there)
        if last:
            return State(x, problem.claim(x), memory, stalled=True)
        return State(x, claim, memory)

    def _accepted(self, problem: Any, state: State, P: Array) -> State:
        """Return the state at a better frame, or at the first feasible one."""
        memory: _SequentialMemory = state.memory
        moved = float(np.linalg.norm(P - state.x))
        # Newton's method goes to the nearest stationary frame: rounds come first.
        near = memory.penalty * moved <= 0.03 * problem.slope
        if self.polish and memory.feasible and near:
            P = polished(problem, P)
        claim = problem.claim(P)
        gain = state.claim.objective - claim.objective
        idle = memory.idle + 1 if memory.feasible and gain <= 1e-12 else 0
        mu = memory.penalty
        if self.penalty is None and memory.may_fall:
            mu = max(mu / 2.0, LEAST_PENALTY * problem.slope)
        stalled = idle >= IDLE_ROUNDS
        memory = replace(memory, penalty=mu, feasible=True, idle=idle)
        return State(P, claim, memory, stalled=stalled)

    def _doubled(self, problem: Any, state: State, P: Array | None) -> State:
        """Return the state with twice the penalty, at P where that is given."""
        memory: _SequentialMemory = state.memory
        mu = memory.penalty if self.penalty else 2.0 * memory.penalty
        idle = memory.idle + 1 if memory.feasible else 0
        largest = LARGEST_GROWTH * ABOVE_THE_SLOPE * problem.slope
        stalled = idle >= IDLE_ROUNDS or mu > largest
        memory = replace(memory, penalty=mu, may_fall=False, idle=idle)
        if P is None and self.polish and memory.feasible and idle == 1:
            # Where rounds fail, Newton's method may still improve the frame.
            better = polished(problem, state.x)
            return State(better, problem.claim(better), memory, stalled=stalled)
        if P is None:
            return replace(state, memory=memory, stalled=stalled)
        return State(P, problem.claim(P), memory, stalled=stalled)


# -----------------------------------------------------------------------------
# A maximum of quadratics by smooth stand-ins, descended along the frames.
# -----------------------------------------------------------------------------


# Sharpness of the stand-ins, one a step of the loop.
SHARPNESS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
# Most steps along the frames at each, and pairs of steps and gradients kept.
INNER_STEPS, KEPT_PAIRS = 60, 6
# Frames that are drawn beside a given start.
OTHER_STARTS = 3


@dataclass(frozen=True, eq=False)
class _SoftminMemory:
    """Which stand-in comes next, from where."""

    stage: int
    P: Array
    unit: float
    further: tuple[Array, ...]


@dataclass(frozen=True)
class SoftminPolar:
    r"""Softmin and polar factors: sharper and sharper stand-ins for the maximum.

    .. math:: \min_{P'P = I}\ g(P) + \frac{s}{\tau} \log\sum_k e^{\tau a_k(P) / s},
              \qquad \tau = 1, 4, \ldots, 1024

    g is the quadratic and linear part, :math:`a_k = \langle A_k, PP'\rangle`, s the
    mean absolute :math:`a_k` at the start. Quasi-Newton directions along the frames
    (L-BFGS, pairs carried along by projection), steps shortened until Armijo's
    condition holds, the polar factor back onto the frames; the frame of the best true
    maximum is kept. Without a start it begins at the eigenvectors of the forms' mean.
    After a given start it is run from there too and from three frames drawn with a
    fixed seed, and the best end is kept. Where that does not prove enough, Newton steps
    on the forms that attain the maximum follow (`polish`).

    Valid with a maximum and without absolute values, constraints and P >= 0. One step
    of the loop is one tau: O(Knm + nm^2) an inner step for forms of rank one.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow the last tau.
    """

    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """A maximum of quadratics beside smooth terms."""
        return FrameRequirements(
            l1=False, constraints=False, nonnegative=False, needs_maximum=True
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        further = () if x is None else other_frames(problem)
        memory = _SoftminMemory(0, P, _unit(problem, P), further)
        # The claim counts at the end, when all stand-ins have been seen.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one tau, or after Newton's method at the end."""
        memory: _SoftminMemory = state.memory
        if memory.stage == len(SHARPNESS):
            P = polished(problem, state.x) if self.polish else state.x
            return State(P, problem.claim(P), memory, stalled=True)
        tau = SHARPNESS[memory.stage] / memory.unit
        last = memory.stage + 1 == len(SHARPNESS)
        P, best = _descended(problem, memory.P, tau, 1e-10 if last else 1e-7)
        x, value = state.x, state.claim.objective
        if problem.value(best) < value:
            x, value = best, problem.value(best)
        memory = replace(memory, stage=memory.stage + 1, P=P)
        if memory.stage < len(SHARPNESS):
            return State(x, replace(state.claim, objective=value), memory)
        if memory.further:
            again, *rest = memory.further
            memory = _SoftminMemory(0, again, _unit(problem, again), tuple(rest))
            return State(x, replace(state.claim, objective=value), memory)
        # Where this proves enough, Newton's method has nothing to add.
        return State(x, problem.claim(x), memory)


def other_frames(problem: Any) -> tuple[Array, ...]:
    """Return frames from which the search may end better than from a given one."""
    draw = np.random.default_rng(0)
    drawn = [polar(draw.standard_normal(problem.shape)) for _ in range(OTHER_STARTS)]
    return (mean_start(problem), *drawn)


def mean_start(problem: Any) -> Array:
    """Return the eigenvectors of the smallest eigenvalues of M and the forms' mean."""
    weights = np.full(problem.forms.count, 1.0 / problem.forms.count)
    mean = problem.forms.combined(weights)
    if problem.quadratic is not None:
        mean = mean + problem.quadratic
    return np.ascontiguousarray(np.linalg.eigh(mean)[1][:, : problem.shape[1]])


def _unit(problem: Any, P: Array) -> float:
    return max(float(np.abs(problem.forms.values(P)).mean()), 1e-12 * problem.slope)


def _descended(
    problem: Any, P: Array, tau: float, enough: float
) -> tuple[Array, Array]:
    """Return the end of a descent of one stand-in, and the best frame on its way.

    A step that gains less than `enough` of the value is the last.
    """
    smooth = problem.quadratic is not None or problem.linear is not None
    # What multiples of the identity add is the same at all frames.

    def value_of(P: Array) -> tuple[float, Array, float]:
        a = problem.forms.values(P)
        top = float(a.max())
        e = np.exp(tau * (a - top))
        total = float(e.sum())
        rest = 0.0
        if problem.quadratic is not None:
            rest += float(np.sum(P * (problem.quadratic @ P)))
        if problem.linear is not None:
            rest += float(np.vdot(problem.linear, P))
        return rest + top + float(np.log(total)) / tau, e / total, rest + top

    def gradient_of(P: Array, weights: Array) -> Array:
        G = 2.0 * problem.forms.pull(weights, P)
        if smooth:
            G = G + problem.smooth_gradient(P)
        return tangent(P, G)

    value, weights, true = value_of(P)
    g = gradient_of(P, weights)
    best, least = P, true
    pairs: list[tuple[Array, Array, float]] = []
    for _ in range(INNER_STEPS):
        square = float(np.vdot(g, g))
        if square <= (1e-9 * problem.slope) ** 2:
            break
        direction = -_two_loops(pairs, g)
        slope = float(np.vdot(direction, g))
        if slope > -1e-10 * square:
            direction, slope, pairs = -g, -square, []
        step = 1.0 if pairs else min(1.0, 0.3 / np.sqrt(square))
        for _ in range(30):
            there = polar(P + step * direction)
            then, weights, true = value_of(there)
            if then <= value + 1e-4 * step * slope:
                break
            step *= 0.4
        else:
            break
        after = gradient_of(there, weights)
        if true < least:
            best, least = there, true
        # Pairs belong to the frame they were found at; their part along the new one
        # stands for them there.
        s = tangent(there, there - P)
        y = after - tangent(there, g)
        bend = float(np.vdot(s, y))
        pairs = pairs[-(KEPT_PAIRS - 1) :]
        if bend > 1e-12 * float(np.sqrt(np.vdot(s, s) * np.vdot(y, y))):
            pairs.append((s, y, 1.0 / bend))
        done = value - then <= enough * abs(value)
        P, value, g = there, then, after
        if done:
            break
    return P, best


def _two_loops(pairs: list[tuple[Array, Array, float]], g: Array) -> Array:
    """Return the L-BFGS product of the inverse Hessian with the gradient."""
    if not pairs:
        return g
    out = g.copy()
    kept = []
    for s, y, inverse in reversed(pairs):
        share = inverse * float(np.vdot(s, out))
        out = out - share * y
        kept.append(share)
    _, y, inverse = pairs[-1]
    out = out / (inverse * float(np.vdot(y, y)))
    for (s, y, inverse), share in zip(pairs, reversed(kept), strict=True):
        out = out + (share - inverse * float(np.vdot(y, out))) * s
    return out


# -----------------------------------------------------------------------------
# Rounds of the semidefinite relaxation without a conic solver, for smooth problems.
# -----------------------------------------------------------------------------


# Columns of a round's answer that are this far from orthonormal: it was not exact.
INEXACT = 1e-5
# Penalties of the continuation, in units of the slope.
CONTINUATION = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True, eq=False)
class FistaRound:
    r"""The round of the semidefinite relaxation, by accelerated projected gradients.

    .. math:: \min_{\|P\|_2 \le 1} \mathrm{tr} P'(M - dI)P
              + \langle N - \mu P_c, P\rangle + dm

    with d the least eigenvalue of M: a gradient step, singular values clipped at one,
    momentum that restarts where it points uphill. O(n^2 m + n m^2) a step, some 10 to
    200 steps. The step is no longer than the curvature or a thousandth of mu allows, so
    that M may be zero or a multiple of the identity: the answer is then the polar
    factor of :math:`\mu P_c - N`, in a step or two.

    Parameters
    ----------
    problem : OrthogonalProblem
        Without maximum, absolute values, constraints and signs.
    """

    problem: Any

    def solve(
        self,
        Pc: Array,
        penalty: float,
        first: Array | None = None,
        tol: float = 1e-9,
        steps: int = 2000,
    ) -> RoundAnswer:
        """Return the solution of the round from Pc."""
        problem, m = self.problem, Pc.shape[1]
        shift = eigenvalue_shift(problem, "sdp")
        curvature = 2.0 * (problem.quadratic_range[1] - shift)
        pull = -penalty * Pc
        if problem.linear is not None:
            pull = pull + problem.linear
        steepest = max(curvature, 1e-3 * float(np.linalg.norm(pull, 2)), 1e-300)
        P = Pc if first is None else first
        Y, momentum = P, 1.0
        for _ in range(steps):
            gradient = pull - 2.0 * shift * Y
            if problem.quadratic is not None:
                gradient = gradient + 2.0 * np.asarray(problem.quadratic @ Y)
            there = clip_singular_values(Y - gradient / steepest)
            moved = there - P
            uphill = float(np.sum((Y - there) * moved)) > 0.0
            after = 1.0 if uphill else (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            Y = there + (momentum - 1.0) / after * moved
            P, momentum = there, after
            if float(np.linalg.norm(moved)) <= tol:
                break
        value = float(np.sum(pull * P)) + shift * (m - float(np.sum(P * P)))
        if problem.quadratic is not None:
            value += float(np.sum(P * (problem.quadratic @ P)))
        return RoundAnswer(P, value, float(m - np.sum(P * P)))


@dataclass(frozen=True, eq=False)
class _FistaMemory:
    """Where the rounds are, and which ways out of a stationary frame were tried."""

    penalty: float
    may_fall: bool = True
    idle: int = 0
    searched: bool = False


@dataclass(frozen=True)
class SpectralRounds:
    r"""SPR with the semidefinite relaxation by FISTA, for smooth problems.

    Valid for a quadratic and a linear term, and nothing else. A round is exact
    where :math:`\mu > \|N\|_2 + 2 \|M - dI\|_2` (proof: the optimality condition is
    :math:`G + P\Lambda = 0`, :math:`\Lambda \succeq 0`,
    :math:`\Lambda (I - P'P) = 0`; the gradient G then has full column rank, so
    :math:`\Lambda` is positive definite). From there the penalty is halved as long as
    rounds stay exact and the value falls.

    Once rounds move little, Newton steps end them (`polish`). A stationary frame need
    not be a good one, so before the search ends it is begun anew from three others: the
    frames that the continuation mu = 0.001 ... 1 in units of the slope leads to, the
    one of the smallest eigenvalues turned towards -N, and the polar factor of -N. One
    is taken where it is better.

    Parameters
    ----------
    penalty : float, optional
        Keep this penalty in all rounds; None: by the rule above.
    polish : bool
        Whether Newton steps and other starts follow.
    """

    penalty: float | None = None
    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """A quadratic and a linear term, and nothing else."""
        return FrameRequirements(
            maximum=False, l1=False, constraints=False, nonnegative=False
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(problem.start() if x is None else x)
        mu = self.penalty or ABOVE_THE_SLOPE * problem.slope
        # A start may be stationary by accident: it is a claim only after a round.
        claim = problem.unproved(P)
        return State(P, claim, _FistaMemory(mu))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        memory: _FistaMemory = state.memory
        answer = FistaRound(problem).solve(state.x, memory.penalty)
        P = polar(answer.P)
        noise = 1e-13 * max(problem.slope, abs(state.claim.objective))
        exact = orthonormality(answer.P) <= INEXACT
        rises = problem.value(P) > state.claim.objective + noise
        if rises or (not exact and not self.penalty):
            mu = memory.penalty if self.penalty else 2.0 * memory.penalty
            idle = memory.idle + 1
            again = replace(memory, penalty=mu, may_fall=False, idle=idle)
            return replace(state, memory=again, stalled=idle >= IDLE_ROUNDS)
        moved = memory.penalty * float(np.linalg.norm(P - state.x))
        if self.polish and moved <= 0.1 * problem.slope:
            P = descend(problem, P, 1e-11 * problem.slope)
            if not memory.searched:
                P = self._better(problem, P)
                memory = replace(memory, searched=True)
        claim = problem.claim(P)
        idle = memory.idle + 1 if state.claim.objective - claim.objective <= 0.0 else 0
        mu = memory.penalty
        if self.penalty is None and memory.may_fall:
            mu = max(mu / 2.0, LEAST_PENALTY * problem.slope)
        memory = replace(memory, penalty=mu, idle=idle)
        return State(P, claim, memory, stalled=idle >= IDLE_ROUNDS)

    @staticmethod
    def _better(problem: Any, P: Array) -> Array:
        """Return the best of P and the stationary frames that other starts lead to."""
        if problem.linear is None and problem.quadratic is None:
            return P
        best, value = P, problem.value(P)
        for start in other_starts(problem, P):
            there = descend(problem, start, 1e-11 * problem.slope)
            if problem.value(there) < value - 1e-12 * problem.slope:
                best, value = there, problem.value(there)
        return best


def other_starts(problem: Any, P: Array) -> list[Array]:
    """Return frames from which a smooth problem may end better than from P."""
    out = []
    if problem.linear is not None:
        out.append(polar(-problem.linear))
    if problem.quadratic is not None:
        _, vectors = smallest_eigenpairs(problem.quadratic, P.shape[1])
        turn = np.eye(P.shape[1])
        if problem.linear is not None:
            turn = polar(-vectors.T @ problem.linear)
        out.append(vectors @ turn)
    if problem.linear is not None and problem.quadratic is not None:
        Pc, inside = P, P
        for share in CONTINUATION:
            answer = FistaRound(problem).solve(
                Pc, share * problem.slope, inside, 1e-4, 300
            )
            inside = answer.P
            Pc = polar(inside)
        out.append(Pc)
    return out


# -----------------------------------------------------------------------------
# A maximum of quadratics by rounds without a penalty.
# -----------------------------------------------------------------------------


# Cutting planes of one round, at most.
MOST_CUTS = 60


@dataclass(frozen=True)
class MajorizeMinimize:
    r"""Replace every quadratic by its tangent at the frame, minimise, project.

    With :math:`A_k \preceq 0` (a multiple of the identity is taken off all, which only
    adds a constant over frames) each :math:`\langle A_k, PP'\rangle` lies below its
    tangent, so

    .. math:: \min_{\|P\|_2 \le 1} \max_k\ 2 \langle A_k P_c, P\rangle
              - \langle A_k, P_c P_c'\rangle

    lies above the maximum and touches it at :math:`P_c`; the polar factor lowers every
    quadratic again, since :math:`PP' \preceq` its own. Monotone and without a penalty.
    The inner problem is solved by cutting planes on the K weights, a polar factor and a
    small linear programme each.

    Valid with a maximum (and a quadratic term, which joins every form), without linear
    terms, absolute values, constraints and P >= 0.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow once a round moves little.
    """

    polish: bool = True

    @property
    def accepts(self) -> FrameRequirements:
        """A maximum of quadratics."""
        return FrameRequirements(
            linear=False,
            l1=False,
            constraints=False,
            nonnegative=False,
            needs_maximum=True,
        )

    def begin(self, problem: Any, x: Array | None) -> State:
        """Return the first state, at the frame nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        return State(P, problem.unproved(P), _shift(problem))

    def step(self, problem: Any, state: State) -> State:
        """Return the state after one round."""
        P = _round(problem, state.x, state.memory)
        value = state.claim.objective
        if problem.value(P) > value:
            P = state.x
        slow = value - problem.value(P) <= 1e-4 * problem.slope
        if self.polish and slow:
            P = polished(problem, P)
        idle = value - problem.value(P) <= 1e-9 * problem.slope
        return State(P, problem.claim(P), state.memory, stalled=idle)


def _shift(problem: Any) -> float:
    """Return the largest eigenvalue of all forms, with the quadratic term in each."""
    return float(problem.forms.ranges()[1].max()) + problem.quadratic_range[1]


def _round(problem: Any, Pc: Array, shift: float) -> Array:
    """Return the frame after one round, by cutting planes."""
    forms, count = problem.forms, problem.forms.count
    fixed = -shift * Pc
    if problem.quadratic is not None:
        fixed = fixed + dense(problem.quadratic) @ Pc
    at_center = forms.values(Pc) + float(np.sum(fixed * Pc))

    def tangents(Q: Array) -> Array:
        # <A_k Pc, Q> without the images of all forms: by polarisation.
        inner = (forms.values(Pc + Q) - forms.values(Pc - Q)) / 4.0
        return 2.0 * (inner + float(np.sum(fixed * Q))) - at_center

    weights = np.full(count, 1.0 / count)
    cuts, values = [Pc], [tangents(Pc)]
    highest = -np.inf
    mix = np.ones(1)
    for _ in range(MOST_CUTS):
        G = forms.pull(weights, Pc) + fixed
        Q = polar(-G)
        highest = max(highest, 2.0 * float(np.sum(G * Q)) - float(weights @ at_center))
        cuts.append(Q)
        values.append(tangents(Q))
        found = _master(np.stack(values), problem.slope)
        if found is None:
            break
        weights, mix, top = found
        if top - highest <= 1e-7 * problem.slope:
            break
    return polar(np.tensordot(mix, np.stack(cuts[: len(mix)]), 1))


def _master(values: Array, unit: float) -> tuple[Array, Array, float] | None:
    """Return the weights w of largest min over cuts of values @ w, the cuts' shares."""
    cuts, count = values.shape
    rows = ConicRows(count + 1)
    rows.cone("zero", np.append(np.ones(count), 0.0)[None], -np.ones(1))
    rows.cone("nonnegative", np.eye(count, count + 1), np.zeros(count))
    below = np.hstack([values / unit, -np.ones((cuts, 1))])
    rows.cone("nonnegative", below, np.zeros(cuts))
    answer = rows.solve(np.append(np.zeros(count), -1.0))
    weights = np.maximum(answer.x[:count], 0.0)
    mix = np.maximum(answer.multipliers[2], 0.0)
    if not np.isfinite(answer.x).all() or not weights.sum() > 0 or not mix.sum() > 0:
        return None
    return weights / weights.sum(), mix / mix.sum(), float(answer.x[-1]) * unit


# -----------------------------------------------------------------------------
# Which method searches a problem over frames.
# -----------------------------------------------------------------------------


FRAME_SOLVERS = ("relaxation", "fista", "softmin", "mm", "eigen")


def frame_solver(
    problem: Any,
    name: str = "auto",
    relaxation: Relaxation = "sdp",
    penalty: float | None = None,
    polish: bool = True,
) -> Solver:
    """Return the method of a name, or the one that fits the problem best.

    "auto": where nothing but P'P = I is asked and neither a penalty nor the parabolic
    relaxation, "eigen" for one term, "fista" for a quadratic with a linear term,
    "softmin" for a maximum; "relaxation" in all other cases. The relaxation of a smooth
    problem with P >= 0 alone is solved by `NonnegativeRounds`.
    """
    if name == "auto":
        name = _best(problem, relaxation, penalty)
    if name == "eigen":
        return Eigenvectors()
    if name == "fista":
        return SpectralRounds(penalty, polish)
    if name == "softmin":
        return SoftminPolar(polish)
    if name == "mm":
        return MajorizeMinimize(polish)
    if problem.nonnegative and problem.is_smooth and not problem.constraints:
        return NonnegativeRounds(relaxation, penalty)
    return SequentialRelaxation(relaxation, penalty, polish)


def _best(problem: Any, relaxation: Relaxation, penalty: float | None) -> str:
    if not problem.is_free or relaxation != "sdp" or problem.l1 is not None:
        return "relaxation"
    if problem.maximum is not None:
        return "softmin" if penalty is None else "relaxation"
    if problem.has_one_term and penalty is None:
        return "eigen"
    return "fista"
