"""Diagnosis of distribution shift."""

from counterpoise.shift.discrepancy_distance import discrepancy_spectrum

__all__ = ["discrepancy_spectrum"]
