"""Exact solution paths of parametric quadratic programs."""
