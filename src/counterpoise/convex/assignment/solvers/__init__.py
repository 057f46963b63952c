"""Ways to solve a sparse assignment, a file a method."""

from counterpoise.convex.assignment.solvers.conic import AssignmentConic
from counterpoise.convex.assignment.solvers.proximal_admm import ProximalADMM, Trail
from counterpoise.convex.assignment.solvers.slack_admm import SlackADMM

__all__ = ["AssignmentConic", "ProximalADMM", "SlackADMM", "Trail"]
