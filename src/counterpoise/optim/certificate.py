"""Certificates, and what problems offer."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# What is proved about a point, whoever found it.
# -----------------------------------------------------------------------------


# A point further outside its set than this is no answer, however small its gap.
FEASIBLE = 1e-6
# Kinds whose residual decides, whatever their bound.
BY_RESIDUAL = ("divergence", "stationarity")


@dataclass(frozen=True)
class Certificate:
    """A proof of how far a point is from optimal.

    Problems make certificates; solvers never do.

    Parameters
    ----------
    kind : str
        What is proved, in words ("Frank-Wolfe gap"). Kinds that bound nothing say
        so ("stationarity", "none").
    objective : float
        The value at the point.
    bound : float
        A number that no feasible point goes below; minus infinity if there is none.
    gap : float
        `objective - bound`, an upper bound of the excess over the optimum; a solution
        has converged when it is at most `tol * scale`.
    scale : float
        The unit in which `holds` measures the gap.
    residual : float or None
        How far the optimality conditions are from holding, where that is another
        number than the gap.
    infeasibility : float
        How far outside its set the point is (0: inside).

    Examples
    --------
    >>> proof = Certificate("Frank-Wolfe gap", 1.0, 0.999, gap=1e-3, scale=10.0)
    >>> proof.holds(1e-3), proof.holds(1e-6)
    (True, False)
    """

    kind: str
    objective: float
    bound: float = -math.inf
    gap: float = math.inf
    scale: float = 1.0
    residual: float | None = None
    infeasibility: float = 0.0

    def holds(self, tol: float) -> bool:
        """Tell whether the point is feasible and proved optimal to `tol`.

        The gap decides, in units of `scale`; where nothing is bounded, or where the
        bound is not attained ("divergence") or is global where the proof is local
        ("stationarity"), the residual does; a certificate of kind "none" promises
        nothing and always holds.
        """
        if self.kind == "none":
            return True
        if math.isnan(self.objective):
            return False
        if not self.infeasibility <= min(max(tol, 1e-12), FEASIBLE):
            return False
        if math.isfinite(self.gap) and self.kind not in BY_RESIDUAL:
            return self.gap <= tol * self.scale
        return self.residual is not None and self.residual <= tol * self.scale

    def __str__(self) -> str:
        parts = [f"objective {self.objective:.6g}"]
        if self.infeasibility > FEASIBLE:
            parts.append(f"INFEASIBLE by {self.infeasibility:.1e}, nothing is proved")
        elif self.kind == "stationarity" and self.residual is not None:
            words = f"{self.kind} {self.residual:.2e} at scale {self.scale:.3g}"
            if math.isfinite(self.gap):
                words += f", global bound {self.bound:.6g}"
            parts.append(words)
        elif math.isfinite(self.gap):
            # A scale may be zero where the optimum is plain to see.
            share = f"{self.gap / self.scale:.1e} of" if self.scale > 0.0 else "at"
            parts.append(
                f"proved within {self.gap:.2e} of the optimum, {share} its scale "
                f"{self.scale:.3g} ({self.kind})"
            )
        elif self.residual is not None:
            parts.append(f"{self.kind} {self.residual:.2e}")
        return ", ".join(parts)


# -----------------------------------------------------------------------------
# What every problem has.
# -----------------------------------------------------------------------------


class Problem(Protocol):
    """Something to minimize, with a proof for every point."""

    @property
    def objective(self) -> Any:
        """The smooth part: an `Objective`, with what solvers ask of it by name."""
        ...

    def start(self) -> Array:
        """Return a feasible point with a finite value."""
        ...

    def certify(self, x: Array, hint: object = None) -> Certificate:
        """Bound how far x is from optimal, whoever found it."""
        ...

    def judge(self, x: Array, value: float, gradient: Any, /) -> Certificate:
        """Return what a value and a gradient (or a dual point) at x prove."""
        ...


class DomainProblem(Problem, Protocol):
    """A problem over a set."""

    @property
    def domain(self) -> Any:
        """The set: a `Domain`."""
        ...
