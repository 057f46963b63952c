"""One clock for a whole fit."""

import time
from dataclasses import dataclass, field

from counterpoise.validation import warn_user


@dataclass(frozen=True)
class Deadline:
    """When a fit has to end.

    Attributes
    ----------
    seconds : float or None
        What the user allows; None: all the time in the world.
    began : float
        When the fit began, by `time.perf_counter`.
    """

    seconds: float | None = None
    began: float = field(default_factory=time.perf_counter)

    def left(self) -> float | None:
        """Return the seconds that are left, None without a limit."""
        if self.seconds is None:
            return None
        return max(self.seconds - (time.perf_counter() - self.began), 0.0)

    def choose_no_more(self) -> bool:
        """Return whether half of the time is over: the rest is for the fit itself."""
        left = self.left()
        return left is not None and left <= 0.5 * (self.seconds or 0.0)

    def say_untried(self, tried: int, asked: int, what: str) -> None:
        """Warn that the choice was made among fewer candidates than there are."""
        if tried < asked:
            warn_user(
                f"max_time = {self.seconds:g} s: {tried} of {asked} {what} were tried "
                "in the first half of it, and the best of these is taken"
            )
