"""Solvers of problems with an objective and a set or penalty."""
