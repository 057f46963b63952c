"""LSIF, uLSIF and RuLSIF: density ratios as sums of Gaussians, by least squares."""

from counterpoise.weights.least_squares.lsif import LSIF
from counterpoise.weights.least_squares.ridge import RULSIF, ULSIF

__all__ = ["LSIF", "RULSIF", "ULSIF"]
