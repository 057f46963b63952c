"""Scale is the engine's business: how much memory may be taken, what is being done."""

from counterpoise.engine.memory import current_budget, memory_budget
from counterpoise.engine.progress import announce, heard_by

__all__ = ["announce", "current_budget", "heard_by", "memory_budget"]
