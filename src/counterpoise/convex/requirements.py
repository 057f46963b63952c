"""What a solver needs of a problem, said in advance and checked by name."""

from dataclasses import dataclass
from typing import Protocol

PARTS = ("objective", "domain", "penalty")


class SolverMismatchError(TypeError):
    """A solver was given a problem that it does not accept."""

    def __init__(self, solver: str, problem: object, lacking: list[str]) -> None:
        super().__init__(
            f"{solver} does not accept this {type(problem).__name__}: "
            + "; ".join(lacking)
        )
        self.lacking = lacking


class Acceptance(Protocol):
    """Whatever tells which problems a solver accepts."""

    def lacking(self, problem: object) -> list[str]:
        """Return what stands against the problem, in words; nothing if accepted."""
        ...


@dataclass(frozen=True)
class Requirements:
    """The parts a problem may have, and the capabilities each must offer.

    Parameters
    ----------
    objective, domain, penalty : tuple of str or None
        What that part of the problem must have; None: a problem with such a part is
        not accepted.
    problem : tuple of str
        What the problem itself must have.
    hint : str
        What helps where something is missing.
    """

    objective: tuple[str, ...] | None = ("value", "gradient")
    domain: tuple[str, ...] | None = None
    penalty: tuple[str, ...] | None = None
    problem: tuple[str, ...] = ()
    hint: str = ""

    def lacking(self, problem: object) -> list[str]:
        """Return what the problem lacks, in words; nothing if it is accepted."""
        out = []
        parts = {part: getattr(problem, part, None) for part in PARTS}
        for part, owner in parts.items():
            wanted = getattr(self, part)
            if owner is None:
                continue
            if wanted is None:
                out.append(f"it takes no problem with a {part}")
            else:
                out += [
                    f"the {part} {type(owner).__name__} has no `{name}`"
                    for name in wanted
                    if getattr(owner, name, False) is False
                ]
        bounded = [part for part in PARTS[1:] if getattr(self, part) is not None]
        unbounded = all(parts[part] is None for part in bounded)
        if bounded and unbounded and not out:
            out.append(f"a {type(problem).__name__} has no {' and no '.join(bounded)}")
        out += [
            f"a {type(problem).__name__} has no `{name}`"
            for name in self.problem
            if not hasattr(problem, name)
        ]
        if not any(hasattr(problem, part) for part in PARTS):
            out.append(
                "it has neither objective, domain nor penalty; a problem is needed, "
                "such as Constrained(objective, domain)"
            )
        return [*out, self.hint] if out and self.hint else out
