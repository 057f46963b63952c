"""Two samples in, a weight a source row out."""

from counterpoise.weights.kliep import KLIEP

__all__ = ["KLIEP"]
