"""When each part of a loss begins to count, and how much."""

import math
from dataclasses import dataclass

SCHEDULES = ("late", "published")
# A training has this many updates of the class weights, and those at the ends of the
# warm-up and of the training.
UPDATES = 12
# Steepness of the reversal's rise, and of the rate's fall.
RISE, FALL, FALL_POWER = 10.0, 10.0, 0.75


@dataclass(frozen=True)
class Schedule:
    r"""Rates and weights by the share of the training that is done, :math:`\rho`.

    The rate is :math:`r_0 / (1 + 10 \rho)^{0.75}`. The reversal coefficient is

    .. math:: c(\rho) = a \left(\frac{2}{1 + e^{-10 (\rho - s) / (1 - s)}} - 1\right)

    from :math:`\rho = s` on: "published": :math:`s = 0, a = 1`; "late": s is the end of
    the warm-up and a is `adversary`. Class weights that move, entropy and selection
    count from the end of the warm-up on, in either; the selection's weight rises to
    all of it at half the training.

    Attributes
    ----------
    kind : {"late", "published"}
    warm_up : float
        Share of the training in which the source is learned alone.
    adversary : float
    n_steps : int
        Iterations of the training.
    """

    kind: str
    warm_up: float
    adversary: float
    n_steps: int

    @property
    def warm_steps(self) -> int:
        """Iterations of the warm-up."""
        return math.ceil(self.warm_up * self.n_steps - 1e-9)

    def is_update(self, done: int) -> bool:
        """Return whether class weights are worked out after so many iterations."""
        every = max(1, round(self.n_steps / UPDATES))
        return done % every == 0 or done in (self.warm_steps, self.n_steps)

    def is_warm(self, step: int) -> bool:
        """Return whether the warm-up is over at an iteration."""
        return step >= self.warm_steps

    def has_adversary(self, step: int) -> bool:
        """Return whether the discriminator learns at an iteration."""
        return self.kind == "published" or self.is_warm(step)

    def rate(self, step: int) -> float:
        """Return the share of the first rate at an iteration."""
        return (1.0 + FALL * step / self.n_steps) ** -FALL_POWER

    def reversal(self, step: int) -> float:
        """Return the reversal coefficient at an iteration."""
        start, top = 0.0, 1.0
        if self.kind == "late":
            start, top = self.warm_up, self.adversary
        done = (step / self.n_steps - start) / (1.0 - start)
        return top * (2.0 / (1.0 + math.exp(-RISE * done)) - 1.0)

    def selecting(self, step: int) -> float:
        """Return the share of the selection's weight at an iteration."""
        return min(1.0, 2.0 * step / self.n_steps)
