"""Minimization of the discrepancy distance (spectral norms)."""
