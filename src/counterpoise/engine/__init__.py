"""Scale is the engine's business: how much memory a computation may take."""

from counterpoise.engine.memory import current_budget, memory_budget

__all__ = ["current_budget", "memory_budget"]
