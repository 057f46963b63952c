"""Exact validation curves along a path: the traced function, and where it turns."""
