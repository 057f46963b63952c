"""The Lagrangian of a programme under limits: a bound that any multipliers prove."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from counterpoise.convex.network.limits import ErrorBound, MeanWithin, OutputLimit
from counterpoise.convex.network.programme import LimitedProgramme, ProgrammeAnswer


def least_value(programme: LimitedProgramme, answer: ProgrammeAnswer) -> float:
    """Return the least value of the Lagrangian over d, for H positive definite.

    No d that keeps the limits has a lower value of the quadratic function, however
    good the multipliers are; minus infinity where H is singular.
    """
    q = programme.q + np.tensordot(answer.signal, programme.J, axes=2)
    floors = programme.floors
    np.subtract.at(q, floors.places, floors.signs * answer.floors)
    constant = float((answer.signal * programme.z).sum())
    constant += float(answer.floors @ floors.values)
    for k, limit in enumerate(programme.limits):
        constant += dual_constant(limit, answer, k)
    try:
        return constant - 0.5 * float(q @ cho_solve(cho_factor(programme.H), q))
    except LinAlgError:
        return -np.inf


def dual_constant(limit: OutputLimit, answer: ProgrammeAnswer, k: int) -> float:
    """Return what a limit adds to the Lagrangian beside its slope by the outputs."""
    if isinstance(limit, ErrorBound):
        return -float(answer.truths[k]) - answer.above[k] * limit.bound
    if isinstance(limit, MeanWithin):
        high = answer.above[k] * limit.high if answer.above[k] else 0.0
        low = answer.below[k] * limit.low if answer.below[k] else 0.0
        return low - high
    return answer.above[k] * limit.least
