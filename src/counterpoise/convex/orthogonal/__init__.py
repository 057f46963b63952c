"""Frames: quadratic problems over P'P = I, their proofs and ways to search.

problem.py       the problem, its certificate of stationarity and its global bound
reading.py       what a user gives
forms.py         quadratic forms under a maximum
stationarity.py  multipliers of a frame, and what the optimality conditions lack
bounds.py        numbers below every feasible value (spectrum.py: eigenvalues)
polish.py        quadratic programmes from a near frame to a stationary one
descent.py       Newton steps along the frames, for smooth problems
supports.py      non-negative frames by the labels of their rows
relaxations/     the convex problems of one round
solvers/         ways to search, a file a method; choice.py: which one
"""

from counterpoise.convex.orthogonal.forms import DenseForms, RankOneForms
from counterpoise.convex.orthogonal.problem import OrthogonalProblem

__all__ = ["DenseForms", "OrthogonalProblem", "RankOneForms"]
