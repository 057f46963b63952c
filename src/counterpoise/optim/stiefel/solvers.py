"""Solvers of problems with orthogonality constraints.

Sequential penalized relaxation (`SequentialRelaxation`; `NonnegativeRounds` with
P >= 0, `SpectralRounds` for smooth problems), `SoftminPolar` and `MajorizeMinimize` for
a maximum of quadratic forms, `Eigenvectors` where there is a closed form.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

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
    ConicProgram,
    ConicRound,
    NonnegativeRound,
    Relaxation,
    Splitting,
    can_eliminate,
    eigenvalue_shift,
)

# -----------------------------------------------------------------------------
# Which problems a solver accepts.
# -----------------------------------------------------------------------------


TERMS = {
    "linear": "a linear term",
    "maximum": "a maximum",
    "l1": "absolute values",
    "constraints": "constraints",
    "nonnegative": "P >= 0",
}


@dataclass(frozen=True)
class AcceptedTerms:
    """The terms that a problem may have beside a quadratic one, and must have.

    Parameters
    ----------
    allowed : tuple of str
        Of `TERMS`.
    required : tuple of str
    one_term : bool
        Whether a quadratic beside a linear term must be a multiple of the identity.
    """

    allowed: tuple[str, ...] = tuple(TERMS)
    required: tuple[str, ...] = ()
    one_term: bool = False

    def lacking(self, problem: object) -> list[str]:
        """Return the reasons why the problem is not accepted."""
        if not isinstance(problem, OrthogonalProblem):
            name = type(problem).__name__
            return [f"a {name} is not a problem with orthogonality constraints"]
        out = [
            f"it takes no problem with {TERMS[name]}"
            for name in problem.terms
            if name not in self.allowed
        ]
        missing = [name for name in self.required if name not in problem.terms]
        out += [f"it needs {TERMS[name]}" for name in missing]
        if self.one_term and not problem.has_one_term:
            out.append("it takes a quadratic or a linear term, not both")
        return out


# -----------------------------------------------------------------------------
# Closed forms.
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Eigenvectors:
    """The global optimum of one term alone, in one step.

    A quadratic term: the eigenvectors of the m smallest eigenvalues (Ky Fan). A linear
    one, beside a multiple of the identity at most: the polar factor of -N. Valid
    without maximum, absolute values, constraints and P >= 0.
    """

    accepts: ClassVar[AcceptedTerms] = AcceptedTerms(("linear",), one_term=True)

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state, at the orthonormal matrix nearest to x."""
        P = polar(problem.start() if x is None else x)
        return State(P, problem.claim(P))

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the optimum; there is no second step."""
        P = state.x
        if problem.linear.any():
            P = polar(-problem.linear)
        elif not problem.smooth.is_linear:
            vectors = smallest_eigenpairs(problem.quadratic, problem.shape[1])[1]
            P = np.ascontiguousarray(vectors)
        return State(P, problem.claim(P), stalled=True)


# -----------------------------------------------------------------------------
# Nonnegative P: rounds with an increasing penalty.
# -----------------------------------------------------------------------------


# Penalties of the continuation where the largest eigenvalue of M - dI is 12, and rounds
# at each.
PENALTIES, USUAL_EIGENVALUE, ROUNDS_EACH = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 12.0, 4
# A round that moves less is the last at its penalty.
SMALL_MOVE = 1e-3


@dataclass(frozen=True, eq=False)
class _ContinuationState:
    """The place in the continuation."""

    round: NonnegativeRound
    penalties: tuple[float, ...]
    level: int
    at_level: int
    Pc: Array
    splitting: Splitting | None
    labels: Indices


@dataclass(frozen=True)
class NonnegativeRounds:
    r"""SPR with P >= 0, by ADMM rounds and continuation in the penalty.

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
        One penalty instead of the increasing ones.
    accuracy : float
        Of the ADMM rounds.
    inner_steps : int
        Most steps of a round.
    """

    relaxation: Relaxation = "sdp"
    penalty: float | None = None
    accuracy: float = 1e-4
    inner_steps: int = 800
    accepts: ClassVar[AcceptedTerms] = AcceptedTerms(
        ("linear", "nonnegative"), required=("nonnegative",)
    )

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state: x, and the best P on the supports of x."""
        Pc = problem.start() if x is None else x
        labels = labels_of(Pc)
        relaxed = NonnegativeRound(problem, self.relaxation)
        penalties: tuple[float, ...] = (self.penalty,) if self.penalty else ()
        if not penalties:
            top = largest_eigenvalue(problem.quadratic) - relaxed.shift
            unit = (top or problem.slope) / USUAL_EIGENVALUE
            penalties = tuple(unit * mu for mu in PENALTIES)
        memory = _ContinuationState(relaxed, penalties, 0, 0, polar(Pc), None, labels)
        P = on_supports(problem, labels)
        # Every candidate is stationary: the claim counts when the continuation is over.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the state after one round."""
        memory: _ContinuationState = state.memory
        mu = memory.penalties[memory.level]
        at = memory.splitting or memory.round.begin(memory.Pc, mu)
        at = memory.round.solve(memory.Pc, mu, at, self.accuracy, self.inner_steps)
        Pc = polar(at.positive + 1e-9)
        is_small = float(np.linalg.norm(Pc - memory.Pc)) < SMALL_MOVE
        over = is_small or memory.at_level + 1 >= ROUNDS_EACH
        memory = replace(memory, Pc=Pc, splitting=at, at_level=memory.at_level + 1)
        if not over:
            return replace(state, memory=memory)
        x, value = state.x, state.claim.objective
        labels = labels_of(at.positive)
        if not np.array_equal(labels, memory.labels):
            candidate = on_supports(problem, labels)
            if problem.value(candidate) < value:
                x, value = candidate, problem.value(candidate)
        if memory.level + 1 == len(memory.penalties):
            return State(x, problem.claim(x), memory, stalled=True)
        level = memory.level + 1
        memory = replace(memory, level=level, at_level=0, splitting=None, labels=labels)
        return State(x, replace(state.claim, objective=value), memory)


# -----------------------------------------------------------------------------
# Sequential penalized relaxation (SPR).
# -----------------------------------------------------------------------------


# The first penalty is just above the slope of the objective, where rounds without
# constraints are exact.
ABOVE_THE_SLOPE = 1.01
# A penalty this many times the first ends the search for a feasible point.
LARGEST_GROWTH = 1e6
# The smallest penalty, in units of the slope.
LEAST_PENALTY = 1e-4
# The increasing penalty with P >= 0, in units of the slope, and its factor.
LEAST_RISING, MOST_RISING, RISE_OF_PENALTY = 3e-3, 3.0, 3.0
# So many rounds without a better point end the search.
IDLE_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class _SequentialState:
    """The penalty and the progress of the rounds."""

    round: ConicRound
    penalty: float
    feasible: bool
    # Whether the penalty may fall: not again where a lower one has just failed.
    may_fall: bool = True
    idle: int = 0
    # With P >= 0, where the next round begins; x is the best candidate.
    center: Array | None = None


@dataclass(frozen=True)
class SequentialRelaxation:
    r"""Sequential penalized relaxation (SPR) with an automatic penalty.

    A round minimizes the relaxed objective less :math:`\mu \langle P_c, P\rangle` from
    the point :math:`P_c` and projects onto P'P = I by the polar factor. Where the round
    is exact (:math:`X = PP'`) it is the proximal step
    :math:`\arg\min f + \frac{\mu}{2}|P - P_c|^2` over the feasible points, so that

    .. math:: f(P_c) - f(P) \ge \frac{\mu}{2} |P - P_c|^2 .

    The penalty starts at 1.01 times the problem's `slope`, is doubled in every round
    until a point is feasible to 1e-6, and then halved as long as rounds stay feasible
    and the objective falls; a round that fails is taken back and the penalty doubled.
    So the objective never rises after the first feasible round. At 1e6 times the first
    penalty the search for a feasible point ends.

    With P >= 0 no theorem makes a round exact, and every set of labels with its best
    columns is stationary: there the penalty rises from 0.003 to 3 times the slope, by a
    factor of three a round, each round's labels are a candidate, and the best is kept.

    Valid for every problem. A round costs one conic program: of order n + m ("sdp",
    2 s at n = 50) or of second-order cones ("parabolic", cheaper for small m and
    matrices with few entries); X is eliminated where no constraint or maximum has it.

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
    accepts: ClassVar[AcceptedTerms] = AcceptedTerms()

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state, at the orthonormal matrix nearest to x."""
        P = polar(problem.start() if x is None else x)
        relaxed = ConicRound(problem, self.relaxation, eliminate=can_eliminate(problem))
        mu = self.penalty or ABOVE_THE_SLOPE * problem.slope
        feasible = problem.infeasibility(P) <= FEASIBLE
        memory = _SequentialState(relaxed, mu, feasible)
        if problem.nonnegative:
            mu = self.penalty or LEAST_RISING * problem.slope
            memory = replace(memory, penalty=mu, center=P)
            return State(P, problem.unproved(P), memory)
        return State(P, problem.claim(P), memory)

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the state after one round."""
        memory: _SequentialState = state.memory
        if memory.center is not None:
            return self._nonnegative_step(problem, state, memory.center)
        relaxed, _ = memory.round.solve(state.x, memory.penalty)
        if not np.isfinite(relaxed).all():
            return self._doubled(problem, state, None)
        P = restored(problem, polar(relaxed))
        feasible = problem.infeasibility(P) <= FEASIBLE
        if not memory.feasible:
            if not feasible:
                return self._doubled(problem, state, polar(relaxed))
            return self._accepted(problem, state, P)
        noise = 1e-12 * max(problem.slope, abs(state.claim.objective))
        if feasible and problem.value(P) <= state.claim.objective + noise:
            return self._accepted(problem, state, P)
        return self._doubled(problem, state, None)

    def _nonnegative_step(
        self, problem: OrthogonalProblem, state: State, center: Array
    ) -> State:
        """Return the state after a round with P >= 0."""
        memory: _SequentialState = state.memory
        relaxed, _ = memory.round.solve(center, memory.penalty)
        there, x, claim = center, state.x, state.claim
        if np.isfinite(relaxed).all():
            there = polar(np.maximum(relaxed, 0.0) + 1e-9)
            candidate = on_supports(problem, labels_of(relaxed))
            if self.polish:
                candidate = polished(problem, candidate)
            fresh = problem.claim(candidate)
            outside, before = (max(c.infeasibility, FEASIBLE) for c in (fresh, claim))
            if (outside, fresh.objective) < (before, claim.objective):
                x, claim = candidate, replace(fresh, residual=np.inf)
        still = float(np.linalg.norm(there - center)) < SMALL_MOVE
        last = still if self.penalty else memory.penalty >= MOST_RISING * problem.slope
        mu = memory.penalty * (1.0 if self.penalty else RISE_OF_PENALTY)
        memory = replace(memory, penalty=mu, center=there)
        if last:
            return State(x, problem.claim(x), memory, stalled=True)
        return State(x, claim, memory)

    def _accepted(self, problem: OrthogonalProblem, state: State, P: Array) -> State:
        """Return the state at a better point, or at the first feasible one."""
        memory: _SequentialState = state.memory
        moved = float(np.linalg.norm(P - state.x))
        # Newton's method goes to the nearest stationary point: rounds come first.
        near = memory.penalty * moved <= 0.03 * problem.slope
        if self.polish and memory.feasible and near:
            P = polished(problem, P)
        claim = problem.claim(P)
        gain = state.claim.objective - claim.objective
        idle = memory.idle + 1 if memory.feasible and gain <= 1e-12 else 0
        mu = memory.penalty
        if self.penalty is None and memory.may_fall:
            mu = max(mu / 2.0, LEAST_PENALTY * problem.slope)
        memory = replace(memory, penalty=mu, feasible=True, idle=idle)
        return State(P, claim, memory, stalled=idle >= IDLE_ROUNDS)

    def _doubled(
        self, problem: OrthogonalProblem, state: State, P: Array | None
    ) -> State:
        """Return the state with twice the penalty, at P where there is one."""
        memory: _SequentialState = state.memory
        mu = memory.penalty if self.penalty else 2.0 * memory.penalty
        idle = memory.idle + 1 if memory.feasible else 0
        largest = LARGEST_GROWTH * ABOVE_THE_SLOPE * problem.slope
        stalled = idle >= IDLE_ROUNDS or mu > largest
        memory = replace(memory, penalty=mu, may_fall=False, idle=idle)
        if P is None and self.polish and memory.feasible and idle == 1:
            # Where rounds fail, Newton's method may still improve the point.
            P = polished(problem, state.x)
        if P is None:
            return replace(state, memory=memory, stalled=stalled)
        return State(P, problem.claim(P), memory, stalled=stalled)


# -----------------------------------------------------------------------------
# A maximum of quadratic forms by smooth approximations.
# -----------------------------------------------------------------------------


# Sharpness of the approximations, one a step of the loop.
SHARPNESS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
# Most descent steps at each, and pairs of steps and gradients kept.
INNER_STEPS, MEMORY_PAIRS = 60, 6
# Points that are drawn beside a given start.
OTHER_STARTS = 3


@dataclass(frozen=True, eq=False)
class _SoftminState:
    """The stage of the approximations, and where it begins."""

    stage: int
    P: Array
    unit: float
    further: tuple[Array, ...]


@dataclass(frozen=True)
class SoftminPolar:
    r"""Softmin and polar factors: increasingly sharp approximations of the maximum.

    .. math:: \min_{P'P = I}\ g(P) + \frac{s}{\tau} \log\sum_k e^{\tau a_k(P) / s},
              \qquad \tau = 1, 4, \ldots, 1024

    g is the quadratic and linear part, :math:`a_k = \langle A_k, PP'\rangle`, s the
    mean absolute :math:`a_k` at the start. Riemannian quasi-Newton directions
    (L-BFGS, pairs transported by projection), steps shortened until Armijo's condition
    holds, the polar factor back onto P'P = I; the point of the best true maximum is
    kept. Without a start it begins at the eigenvectors of the forms' mean. After a
    given start it is run from there too and from three points drawn with a fixed seed,
    and the best end is kept. Where that does not prove enough, Newton steps on the
    forms that attain the maximum follow (`polish`).

    Valid with a maximum and without absolute values, constraints and P >= 0. One step
    of the loop is one tau: O(Knm + nm^2) an inner step for forms of rank one.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow the last tau.
    """

    polish: bool = True
    accepts: ClassVar[AcceptedTerms] = AcceptedTerms(
        ("linear", "maximum"), required=("maximum",)
    )

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state, at the orthonormal matrix nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        further: tuple[Array, ...] = ()
        if x is not None:
            draw = np.random.default_rng(0)
            drawn = (draw.standard_normal(problem.shape) for _ in range(OTHER_STARTS))
            further = (mean_start(problem), *(polar(one) for one in drawn))
        memory = _SoftminState(0, P, _mean_size(problem, P), further)
        # The claim counts at the end, after all approximations.
        return State(P, problem.unproved(P), memory)

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the state after one tau, or after Newton's method at the end."""
        memory: _SoftminState = state.memory
        if memory.stage == len(SHARPNESS):
            P = polished(problem, state.x) if self.polish else state.x
            return State(P, problem.claim(P), memory, stalled=True)
        tau = SHARPNESS[memory.stage] / memory.unit
        last = memory.stage + 1 == len(SHARPNESS)
        P, best = _softmin_descent(problem, memory.P, tau, 1e-10 if last else 1e-7)
        x, value = state.x, state.claim.objective
        if problem.value(best) < value:
            x, value = best, problem.value(best)
        memory = replace(memory, stage=memory.stage + 1, P=P)
        if last and not memory.further:
            # Where this proves enough, Newton's method has nothing to add.
            return State(x, problem.claim(x), memory)
        if last:
            again, *rest = memory.further
            unit = _mean_size(problem, again)
            memory = _SoftminState(0, again, unit, tuple(rest))
        return State(x, replace(state.claim, objective=value), memory)


def mean_start(problem: OrthogonalProblem) -> Array:
    """Return the eigenvectors of the smallest eigenvalues of M and the forms' mean."""
    weights = np.full(len(problem.forms), 1.0 / len(problem.forms))
    mean = problem.forms.combined(weights) + dense(problem.quadratic)
    return np.ascontiguousarray(np.linalg.eigh(mean)[1][:, : problem.shape[1]])


def _mean_size(problem: OrthogonalProblem, P: Array) -> float:
    return max(float(np.abs(problem.forms.values(P)).mean()), 1e-12 * problem.slope)


def _softmin_descent(
    problem: OrthogonalProblem, P: Array, tau: float, enough: float
) -> tuple[Array, Array]:
    """Return the end of the descent of one approximation, and its best point.

    A step that gains less than `enough` of the value is the last.
    """
    has_smooth = not problem.smooth.is_linear or problem.linear.any()

    def value_of(P: Array) -> tuple[float, Array, float]:
        """Return the approximation, the weights of the forms and the true maximum."""
        a = problem.forms.values(P)
        top = float(a.max())
        e = np.exp(tau * (a - top))
        total = float(e.sum())
        true = top + (problem.smooth.value(P) if has_smooth else 0.0)
        return true + float(np.log(total)) / tau, e / total, true

    def gradient_of(P: Array, weights: Array) -> Array:
        G = 2.0 * problem.forms.pull(weights, P)
        return tangent(P, G + problem.smooth.gradient(P) if has_smooth else G)

    value, weights, true = value_of(P)
    g = gradient_of(P, weights)
    best, least = P, true
    pairs: list[tuple[Array, Array, float]] = []
    for _ in range(INNER_STEPS):
        square = float(np.vdot(g, g))
        if square <= (1e-9 * problem.slope) ** 2:
            break
        direction = -_lbfgs_product(pairs, g)
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
        # Pairs belong to the point at which they arose; their tangential part at the
        # new one represents them there.
        s = tangent(there, there - P)
        y = after - tangent(there, g)
        curvature = float(np.vdot(s, y))
        pairs = pairs[-(MEMORY_PAIRS - 1) :]
        if curvature > 1e-12 * float(np.sqrt(np.vdot(s, s) * np.vdot(y, y))):
            pairs.append((s, y, 1.0 / curvature))
        done = value - then <= enough * abs(value)
        P, value, g = there, then, after
        if done:
            break
    return P, best


def _lbfgs_product(pairs: list[tuple[Array, Array, float]], g: Array) -> Array:
    """Return the L-BFGS product of the inverse Hessian with the gradient."""
    if not pairs:
        return g
    out = g.copy()
    shares = []
    for s, y, inverse in reversed(pairs):
        share = inverse * float(np.vdot(s, out))
        out = out - share * y
        shares.append(share)
    _, y, inverse = pairs[-1]
    out = out / (inverse * float(np.vdot(y, y)))
    for (s, y, inverse), share in zip(pairs, reversed(shares), strict=True):
        out = out + (share - inverse * float(np.vdot(y, out))) * s
    return out


# -----------------------------------------------------------------------------
# SPR for smooth problems, rounds by accelerated projected gradients (FISTA).
# -----------------------------------------------------------------------------


# Columns of a round's answer that are this far from orthonormal: it was not exact.
INEXACT = 1e-5
# Penalties of the continuation, in units of the slope.
CONTINUATION = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)


def fista_round(
    problem: OrthogonalProblem,
    Pc: Array,
    penalty: float,
    first: Array | None = None,
    tol: float = 1e-9,
    steps: int = 2000,
) -> Array:
    r"""Return the solution of the semidefinite relaxation of a round from Pc.

    .. math:: \min_{\|P\|_2 \le 1} \mathrm{tr} P'(M - dI)P
              + \langle N - \mu P_c, P\rangle + dm

    with d the smallest eigenvalue of M: a gradient step, singular values clipped at
    one, momentum that restarts where it points uphill. O(n^2 m + n m^2) a step, some 10
    to 200 steps. The step is no longer than the curvature or a thousandth of mu allows,
    so that M may be zero or a multiple of the identity: the answer is then the polar
    factor of :math:`\mu P_c - N`, in a step or two. Valid without maximum, absolute
    values, constraints and P >= 0.
    """
    shift = eigenvalue_shift(problem, "sdp")
    curvature = 2.0 * (problem.quadratic_range[1] - shift)
    pull = problem.linear - penalty * Pc
    steepest = max(curvature, 1e-3 * float(np.linalg.norm(pull, 2)), 1e-300)
    P = Pc if first is None else first
    Y, momentum = P, 1.0
    for _ in range(steps):
        gradient = pull - 2.0 * shift * Y + 2.0 * np.asarray(problem.quadratic @ Y)
        there = clip_singular_values(Y - gradient / steepest)
        moved = there - P
        uphill = float(np.sum((Y - there) * moved)) > 0.0
        after = 1.0 if uphill else (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        Y = there + (momentum - 1.0) / after * moved
        P, momentum = there, after
        if float(np.linalg.norm(moved)) <= tol:
            break
    return P


@dataclass(frozen=True, eq=False)
class _SpectralState:
    """The penalty of the rounds, and whether other starts were tried."""

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

    Once rounds move little, Newton steps end them (`polish`). A stationary point need
    not be a good one, so before the search ends it is begun anew from three others: the
    end of the continuation mu = 0.001 ... 1 in units of the slope, the eigenvectors of
    the smallest eigenvalues rotated towards -N, and the polar factor of -N. One is
    taken where it is better.

    Parameters
    ----------
    penalty : float, optional
        Keep this penalty in all rounds; None: by the rule above.
    polish : bool
        Whether Newton steps and other starts follow.
    """

    penalty: float | None = None
    polish: bool = True
    accepts: ClassVar[AcceptedTerms] = AcceptedTerms(("linear",))

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state, at the orthonormal matrix nearest to x."""
        P = polar(problem.start() if x is None else x)
        mu = self.penalty or ABOVE_THE_SLOPE * problem.slope
        # A start may be stationary by accident: it is a claim only after a round.
        return State(P, problem.unproved(P), _SpectralState(mu))

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the state after one round."""
        memory: _SpectralState = state.memory
        relaxed = fista_round(problem, state.x, memory.penalty)
        P = polar(relaxed)
        noise = 1e-13 * max(problem.slope, abs(state.claim.objective))
        exact = orthonormality(relaxed) <= INEXACT
        rises = problem.value(P) > state.claim.objective + noise
        if rises or (not exact and not self.penalty):
            mu = memory.penalty if self.penalty else 2.0 * memory.penalty
            idle = memory.idle + 1
            again = replace(memory, penalty=mu, may_fall=False, idle=idle)
            return replace(state, memory=again, stalled=idle >= IDLE_ROUNDS)
        moved = memory.penalty * float(np.linalg.norm(P - state.x))
        if self.polish and moved <= 0.1 * problem.slope:
            P = descend(problem, P, 1e-11 * problem.slope)
            starts = () if memory.searched else other_starts(problem, P)
            memory = replace(memory, searched=True)
            for start in starts:
                there = descend(problem, start, 1e-11 * problem.slope)
                if problem.value(there) < problem.value(P) - 1e-12 * problem.slope:
                    P = there
        claim = problem.claim(P)
        idle = memory.idle + 1 if state.claim.objective - claim.objective <= 0.0 else 0
        mu = memory.penalty
        if self.penalty is None and memory.may_fall:
            mu = max(mu / 2.0, LEAST_PENALTY * problem.slope)
        memory = replace(memory, penalty=mu, idle=idle)
        return State(P, claim, memory, stalled=idle >= IDLE_ROUNDS)


def other_starts(problem: OrthogonalProblem, P: Array) -> list[Array]:
    """Return points from which a smooth problem may end better than from P."""
    out = []
    N = problem.linear
    if N.any():
        out.append(polar(-N))
    if not problem.smooth.is_linear:
        _, vectors = smallest_eigenpairs(problem.quadratic, P.shape[1])
        out.append(vectors @ polar(-vectors.T @ N) if N.any() else vectors)
    if N.any() and not problem.smooth.is_linear:
        Pc, relaxed = P, P
        for share in CONTINUATION:
            mu = share * problem.slope
            relaxed = fista_round(problem, Pc, mu, relaxed, 1e-4, 300)
            Pc = polar(relaxed)
        out.append(Pc)
    return out


# -----------------------------------------------------------------------------
# A maximum of quadratic forms by majorization, without a penalty.
# -----------------------------------------------------------------------------


# Cutting planes of one round, at most.
MOST_CUTS = 60


@dataclass(frozen=True)
class MajorizeMinimize:
    r"""Replace every quadratic by its tangent at the point, minimize, project.

    With :math:`A_k \preceq 0` (a multiple of the identity is subtracted from all, which
    only adds a constant where P'P = I) each :math:`\langle A_k, PP'\rangle` lies below
    its tangent, so

    .. math:: \min_{\|P\|_2 \le 1} \max_k\ 2 \langle A_k P_c, P\rangle
              - \langle A_k, P_c P_c'\rangle

    lies above the maximum and touches it at :math:`P_c`; the polar factor lowers every
    quadratic again, since :math:`PP' \preceq` its own. Monotone and without a penalty.
    The inner problem is solved by cutting planes on the K weights, a polar factor and a
    small linear program each.

    Valid with a maximum (and a quadratic term, which joins every form), without linear
    terms, absolute values, constraints and P >= 0.

    Parameters
    ----------
    polish : bool
        Whether Newton steps follow once a round moves little.
    """

    polish: bool = True
    accepts: ClassVar[AcceptedTerms] = AcceptedTerms(
        ("maximum",), required=("maximum",)
    )

    def begin(self, problem: OrthogonalProblem, x: Array | None) -> State:
        """Return the first state, at the orthonormal matrix nearest to x."""
        P = polar(mean_start(problem) if x is None else x)
        # Above the eigenvalues of all forms, with the quadratic term in each.
        shift = float(problem.forms.ranges()[1].max()) + problem.quadratic_range[1]
        return State(P, problem.unproved(P), shift)

    def step(self, problem: OrthogonalProblem, state: State) -> State:
        """Return the state after one round."""
        P = _tangent_round(problem, state.x, state.memory)
        value = state.claim.objective
        if problem.value(P) > value:
            P = state.x
        slow = value - problem.value(P) <= 1e-4 * problem.slope
        if self.polish and slow:
            P = polished(problem, P)
        idle = value - problem.value(P) <= 1e-9 * problem.slope
        return State(P, problem.claim(P), state.memory, stalled=idle)


def _tangent_round(problem: OrthogonalProblem, Pc: Array, shift: float) -> Array:
    """Return the point after one round, by cutting planes."""
    forms = problem.forms
    fixed = np.asarray(problem.quadratic @ Pc) - shift * Pc
    at_center = forms.values(Pc) + float(np.sum(fixed * Pc))

    def tangents(Q: Array) -> Array:
        # <A_k Pc, Q> without the images of all forms: by polarization.
        inner = (forms.values(Pc + Q) - forms.values(Pc - Q)) / 4.0
        return 2.0 * (inner + float(np.sum(fixed * Q))) - at_center

    weights = np.full(len(forms), 1.0 / len(forms))
    cuts, values = [Pc], [tangents(Pc)]
    highest = -np.inf
    mix = np.ones(1)
    for _ in range(MOST_CUTS):
        G = forms.pull(weights, Pc) + fixed
        Q = polar(-G)
        highest = max(highest, 2.0 * float(np.sum(G * Q)) - float(weights @ at_center))
        cuts.append(Q)
        values.append(tangents(Q))
        solved = _solve_cuts(np.stack(values), problem.slope)
        if solved is None:
            break
        weights, mix, top = solved
        if top - highest <= 1e-7 * problem.slope:
            break
    return polar(np.tensordot(mix, np.stack(cuts[: len(mix)]), 1))


def _solve_cuts(values: Array, unit: float) -> tuple[Array, Array, float] | None:
    """Return the weights w of largest min over cuts of values @ w, the cuts' shares."""
    cuts, count = values.shape
    program = ConicProgram(count + 1)
    program.add("zero", np.append(np.ones(count), 0.0)[None], -np.ones(1))
    program.add("nonnegative", np.eye(count, count + 1), np.zeros(count))
    below = np.hstack([values / unit, -np.ones((cuts, 1))])
    program.add("nonnegative", below, np.zeros(cuts))
    x, multipliers = program.solve(np.append(np.zeros(count), -1.0))
    weights = np.maximum(x[:count], 0.0)
    mix = np.maximum(multipliers[2], 0.0)
    if not np.isfinite(x).all() or not weights.sum() > 0 or not mix.sum() > 0:
        return None
    return weights / weights.sum(), mix / mix.sum(), float(x[-1]) * unit


# -----------------------------------------------------------------------------
# Choice of the solver.
# -----------------------------------------------------------------------------


ORTHOGONAL_SOLVERS = ("relaxation", "fista", "softmin", "mm", "eigen")


def orthogonal_solver(
    problem: OrthogonalProblem,
    name: str = "auto",
    relaxation: Relaxation = "sdp",
    penalty: float | None = None,
    polish: bool = True,
) -> Solver:
    """Return the solver of a name, or the one that fits the problem best.

    "auto": where nothing but P'P = I is required and neither a penalty nor the
    parabolic relaxation, "eigen" for one term, "fista" for a quadratic with a linear
    term, "softmin" for a maximum; "relaxation" in all other cases. The relaxation of a
    smooth problem with P >= 0 alone is solved by `NonnegativeRounds`.
    """
    terms = set(problem.terms)
    if name == "auto":
        name = "relaxation"
        if relaxation == "sdp" and terms <= {"linear"}:
            name = "eigen" if problem.has_one_term and penalty is None else "fista"
        elif relaxation == "sdp" and terms <= {"linear", "maximum"}:
            name = "softmin" if penalty is None else "relaxation"
    if name == "eigen":
        return Eigenvectors()
    if name == "fista":
        return SpectralRounds(penalty, polish)
    if name == "softmin":
        return SoftminPolar(polish)
    if name == "mm":
        return MajorizeMinimize(polish)
    if problem.nonnegative and terms <= {"linear", "nonnegative"}:
        return NonnegativeRounds(relaxation, penalty)
    return SequentialRelaxation(relaxation, penalty, polish)
