"""Problems over frames with a closed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.convex.loop import State
from counterpoise.convex.orthogonal.solvers.accepting import FrameRequirements
from counterpoise.convex.orthogonal.spectrum import smallest_eigenpairs
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.frames import polar


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
