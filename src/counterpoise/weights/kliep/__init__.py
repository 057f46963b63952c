"""KLIEP: density ratios as mixtures of Gaussians, by maximum likelihood."""

from counterpoise.weights.kliep.estimator import KLIEP

__all__ = ["KLIEP"]
