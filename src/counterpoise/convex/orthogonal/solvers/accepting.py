"""Which problems over frames a solver accepts."""

from dataclasses import dataclass

from counterpoise.convex.orthogonal.problem import OrthogonalProblem


@dataclass(frozen=True)
class FrameRequirements:
    """What a problem over frames may have, and what it must have.

    Parameters
    ----------
    linear, maximum, l1, constraints, nonnegative : bool
        Whether a problem with such a part is accepted.
    needs_maximum : bool
        Whether one without a maximum is refused.
    needs_signs : bool
        Whether one without P >= 0 is refused.
    one_term : bool
        Whether a quadratic beside a linear term must be a multiple of the identity.
    """

    linear: bool = True
    maximum: bool = True
    l1: bool = True
    constraints: bool = True
    nonnegative: bool = True
    needs_maximum: bool = False
    needs_signs: bool = False
    one_term: bool = False

    def lacking(self, problem: object) -> list[str]:
        """Return what stands against the problem, in words."""
        if not isinstance(problem, OrthogonalProblem):
            return [f"a {type(problem).__name__} is no problem over frames"]
        found = {
            "a linear term": problem.linear is not None and not self.linear,
            "a maximum": problem.maximum is not None and not self.maximum,
            "absolute values": problem.l1 is not None and not self.l1,
            "constraints": bool(problem.constraints) and not self.constraints,
            "P >= 0": problem.nonnegative and not self.nonnegative,
        }
        out = [f"it takes no problem with {part}" for part, bad in found.items() if bad]
        if self.needs_maximum and problem.maximum is None:
            out.append("it needs a maximum of quadratics")
        if self.needs_signs and not problem.nonnegative:
            out.append("it needs P >= 0")
        if self.one_term and not problem.has_one_term:
            out.append("it takes a quadratic or a linear term, not both")
        return out
