"""A constraint that cannot be met: the error that names it, and its proof."""

from typing import Literal, TypeAlias

from counterpoise.convex.network.constrained_training import ConstrainedTraining
from counterpoise.convex.network.free_values import BestOfAll, best_of_all
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput

InfeasibleProof: TypeAlias = Literal[
    "every function", "these hidden layers", "max_rounds"
]

_PROVED = {
    "every function": "no function of these inputs meets it",
    "these hidden layers": "proved for these hidden layers: no output layer meets it",
    "max_rounds": "not proved: not reached in max_rounds, max_time or by the callback",
}
# An excess of the linear programme below this share of its largest number is its
# rounding.
EXCESS_IS_ROUNDING = 1e-7


class InfeasibleConstraintError(InvalidInput):
    """A hard constraint of a network cannot be met, or was not.

    Parameters
    ----------
    constraint : str
        Its name, as in `multipliers_`: ``class_error_bound['MIT']``.
    bound : float
        What was asked for.
    reached : float
        What the point of least violation reaches.
    proof : {"every function", "these hidden layers", "max_rounds"}
        The strongest that is known: no function of these inputs meets it (some rows are
        equal, or constraints contradict each other); no output layer does over the
        hidden layers that were reached; or the budget ended before it was met.

    Examples
    --------
    >>> error = InfeasibleConstraintError(
    ...     "class_error_bound['MIT']", 0.05, 0.11, "these hidden layers"
    ... )
    >>> print(error)
    class_error_bound['MIT'] = 0.05 cannot be met: 0.11 is reached (these hidden \
layers: proved for these hidden layers: no output layer meets it)
    """

    def __init__(
        self, constraint: str, bound: float, reached: float, proof: InfeasibleProof
    ) -> None:
        # The arguments themselves go up, so that the error survives pickling.
        super().__init__(constraint, bound, reached, proof)
        self.constraint = constraint
        self.bound = bound
        self.reached = reached
        self.proof = proof

    def __str__(self) -> str:
        can = "was not met" if self.proof == "max_rounds" else "cannot be met"
        return (
            f"{self.constraint} = {self.bound:g} {can}: {self.reached:.6g} is reached "
            f"({self.proof}: {_PROVED[self.proof]})"
        )


def excess_of_every_function(training: ConstrainedTraining) -> BestOfAll | None:
    """Return the best of all functions if it exceeds a limit, else None."""
    n_outputs = training.objective.Y.shape[1]
    best = best_of_all(training.rows, n_outputs, training.limits)
    if best is None or not best.excess.max() > EXCESS_IS_ROUNDING * best.unit:
        return None
    return best


def strongest_proof(
    training: ConstrainedTraining, x: Array
) -> tuple[InfeasibleProof, BestOfAll]:
    """Return what is proved at a point that exceeds a limit, and all excesses.

    The strongest that applies: no function of the inputs keeps all limits; no output
    layer over the hidden layers of x does; nothing. Excesses and outputs are those of
    the best of all functions, or of x.
    """
    free = excess_of_every_function(training)
    if free is not None:
        return "every function", free
    outputs = training.objective.network.outputs(x, training.rows)
    own = BestOfAll(training.violations(x), outputs)
    proved = training.output_layer(x).impossible()
    return "these hidden layers" if proved else "max_rounds", own
