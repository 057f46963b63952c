"""Rounds of the semidefinite relaxation without a conic solver, for smooth problems."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.descent import descend
from counterpoise.convex.orthogonal.relaxations.eliminated import eigenvalue_shift
from counterpoise.convex.orthogonal.relaxations.lifted import RoundAnswer
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.convex.orthogonal.solvers.sequential import (
    ABOVE_THE_SLOPE,
    IDLE_ROUNDS,
    LEAST_PENALTY,
)
from counterpoise.convex.orthogonal.spectrum import smallest_eigenpairs
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import clip_singular_values, orthonormality, polar

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
