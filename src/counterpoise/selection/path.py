"""Assignments over a range of sparsities, each found from the one before."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from counterpoise.convex import Solution
from counterpoise.convex.assignment.solvers import Trail
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.selection.posed import PosedSelection, active_words
from counterpoise.validation import InvalidInput, check_number, warn_user
from counterpoise.validation.tables import as_column

# Sparsities of a path where none are given.
DEFAULT_SPARSITIES = np.geomspace(0.01, 1.0, 12)


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """What a selector finds over ascending sparsities.

    Attributes
    ----------
    sparsities, lambdas : arrays of shape (s,)
        Shares of the penalty at which one word is best, and the penalties.
    assignments : array of shape (s, n, l), or (s, n, l + 1) with the outlier word
    labels : array of shape (s, n)
        Every item's word, by its number; the outlier word's is l.
    active : array of bool of shape (s, l)
        Words with an entry above 1e-3, and those of `must_include`.
    enters : array of shape (l,)
        The largest sparsity at which a word is active; nan: at none.
    solutions : tuple of Solution
    """

    sparsities: Array
    lambdas: Array
    assignments: Array
    labels: Indices
    active: NDArray[np.bool_]
    enters: Array
    solutions: tuple[Solution, ...]
    selector: Any = field(repr=False)

    def at(self, sparsity: float) -> Any:
        """Return the fitted selector at a sparsity, solved anew if it is none of these.

        Parameters
        ----------
        sparsity : float
        """
        sparsity = check_number("sparsity", sparsity, low=0.0)
        near = np.flatnonzero(np.isclose(self.sparsities, sparsity, rtol=1e-12, atol=0))
        if near.size:
            return _fitted_at(self.selector, sparsity, self.solutions[int(near[0])])
        return follow_sparsity(self.selector, [sparsity]).at(sparsity)


def follow_sparsity(selector: Any, sparsities: Any) -> SelectionPath:
    """Return the path of a fitted selector."""
    wanted = DEFAULT_SPARSITIES
    if sparsities is not None:
        wanted = np.unique(as_column(sparsities, name="sparsities"))
        if wanted.size == 0:
            raise InvalidInput("sparsities is empty: at least one is needed")
        check_number("sparsities", float(wanted[0]), low=0.0)
    posed: PosedSelection = selector.posed_
    lambdas = wanted * posed.one_word.low
    trail = Trail()
    solutions = tuple(
        posed.solved(
            float(penalty),
            selector.solver,
            float(selector.tol),
            max_iter=selector.max_iter,
            max_time=selector.max_time,
            callback=selector.callback,
            trail=trail,
        )
        for penalty in lambdas
    )
    short = [k for k, one in enumerate(solutions) if not one.converged]
    if short:
        warn_user(
            f"SubsetSelector.path: {len(short)} of {len(solutions)} sparsities are not "
            f"proved to tol; at {wanted[short[0]]:g}: {solutions[short[0]]}",
            ConvergenceWarning,
        )
    words = posed.dissimilarities.shape[1]
    assignments = np.stack(
        [one.x.reshape(len(posed.mass), posed.n_columns) for one in solutions]
    )
    active = np.stack([active_words(one, words) for one in assignments])
    active[:, selector.must_include_] = True
    last = active.shape[0] - 1 - np.argmax(active[::-1], axis=0)
    return SelectionPath(
        wanted,
        lambdas,
        assignments,
        assignments.argmax(axis=2),
        active,
        np.where(active.any(axis=0), wanted[last], np.nan),
        solutions,
        # Another fit of the selector does not change what was found.
        copy.copy(selector),
    )


def _fitted_at(selector: Any, sparsity: float, solution: Solution) -> Any:
    """Return a selector like another, fitted at a sparsity of its path."""
    out = copy.copy(selector)
    out.set_params(sparsity=float(sparsity), penalty=None)
    one = selector.posed_.one_word
    out.lambda_max_, out.lambda_max_bounds_ = one.low, (one.low, one.high)
    out._report(float(sparsity) * one.low, solution)
    return out
