"""Few words for many items: a slice of its own, from the problem to its solvers."""

from counterpoise.convex.assignment.one_word import one_word_penalty
from counterpoise.convex.assignment.problem import AssignmentDual, SparseAssignment

__all__ = ["AssignmentDual", "SparseAssignment", "one_word_penalty"]
