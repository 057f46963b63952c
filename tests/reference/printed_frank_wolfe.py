"""Frank-Wolfe with away and pairwise steps as printed, wrong indices and all.

Algorithms 4 and 5 of Chapaneri and Jayaswal (2019), step for step: the mixture itself
moves as their text says, the shares of its atoms as the algorithms are printed. What a
search returns are the shares, so that is what `x` holds here.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from counterpoise.optim import Requirements, State
from counterpoise.optim.likelihoods import log_line


@dataclass(frozen=True)
class PrintedFrankWolfe:
    """The away ("away") or pairwise ("pairwise") variant as printed."""

    variant: str

    @property
    def accepts(self):
        """A mixture over the simplex."""
        return Requirements(objective=("image", "columns"), domain=("coordinates",))

    def begin(self, problem, x):
        """Begin at x, or at the column with the smallest peak, as printed."""
        if x is None:
            x = np.zeros(problem.domain.size)
            x[int(np.argmin(problem.objective.A.max(axis=0)))] = 1.0
        atoms = frozenset(np.flatnonzero(x).tolist())
        return self._state(problem, x.copy(), x.copy(), atoms, Counter())

    def step(self, problem, state):
        """Take one step; nothing is repaired."""
        shares, mixture, atoms = (np.copy(state.x), *state.memory)
        if not atoms:
            return State(state.x, state.claim, state.memory, stalled=True)
        A, counts = problem.objective.A, Counter(state.counts)
        z = A @ mixture
        slopes = -problem.objective.gradient(mixture)
        best = int(np.argmax(slopes))
        worst = min(sorted(atoms), key=lambda k: slopes[k])
        mixture = mixture.copy()
        if self.variant == "pairwise":
            limit = shares[worst]
            length = self._along(problem, z, A[:, best] - A[:, worst], limit)
            known = best in atoms
            mixture[best] += length
            mixture[worst] -= length
            shares[best] += length
            shares[worst] -= length
            atoms = atoms | {best}
            if length >= limit:
                if known:
                    shares[best] = 0.0  # as printed; the text says the worst
                    atoms = atoms - {best}
                    counts["drop"] += 1
                else:
                    atoms = atoms - {worst}
                    counts["swap"] += 1
            counts["pairwise"] += 1
        elif slopes[best] - 1.0 >= 1.0 - slopes[worst]:
            length = self._along(problem, z, A[:, best] - z, 1.0)
            mixture *= 1.0 - length
            mixture[best] += length
            shares *= 1.0 - length
            shares[worst] += length  # as printed; the text says the best
            atoms = atoms | {worst}  # as printed; the text says the best
            counts["towards"] += 1
        else:
            rest = 1.0 - shares[worst]
            limit = shares[worst] / rest if rest > 0.0 else 1e3
            length = self._along(problem, z, z - A[:, worst], limit)
            mixture *= 1.0 + length
            mixture[worst] -= length
            shares *= 1.0 + length
            shares[worst] -= length
            if length >= limit:
                shares[worst] = 0.0
                atoms = atoms - {worst}
                counts["drop"] += 1
            counts["away"] += 1
        return self._state(problem, shares, mixture, atoms, counts)

    @staticmethod
    def _along(problem, z, direction, limit):
        return log_line(z, direction, problem.objective.weights, float(limit))

    @staticmethod
    def _state(problem, shares, mixture, atoms, counts):
        proof = problem.certify(mixture)
        return State(shares, proof, (mixture, atoms), counts=dict(counts))
