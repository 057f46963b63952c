"""Spectral norms over weights: problem, proof, steps and solvers, to be read alone.

discrepancy.py         the norm over weights; the problem where rows have columns
kernel_discrepancy.py  the problem where rows are seen through a kernel
kernel_proofs.py       bounds of a norm by two Cholesky factors
steps/                 arrays in, arrays out: what one step of a solver computes
solvers/               ways to search, a file a method; choice.py: which one
"""

from counterpoise.convex.spectral.discrepancy import Discrepancy, DualMatrix
from counterpoise.convex.spectral.kernel_discrepancy import KernelDiscrepancy

__all__ = ["Discrepancy", "DualMatrix", "KernelDiscrepancy"]
