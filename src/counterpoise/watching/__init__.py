"""A deployed model watched chunk after chunk, by alarms that hold over all looks."""

from counterpoise.watching.chunks import Chunk, cut
from counterpoise.watching.looks import Alarm, Look
from counterpoise.watching.watch import Watch

__all__ = ["Alarm", "Chunk", "Look", "Watch", "cut"]
