"""The problem of sparse subset selection, for any penalty, and its solutions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.assignment.problem import (
    AssignmentDual,
    OneWordPenalty,
    SparseAssignment,
    SparseMatrix,
    one_word_penalty,
)
from counterpoise.optim.assignment.solvers import ProximalADMM, Trail
from counterpoise.optim.loop import (
    Progress,
    Solution,
    Solver,
    certified,
    placed,
    solve,
)

ONE_WORD = "one word: the penalty is at least the one from which a single word is best"


def twins(R: Array, penalties: Array) -> NDArray[np.intp]:
    """Return for every word the one that stands for it: the cheapest of equal columns.

    Without a graph, moving shares from a word to one of equal dissimilarities and no
    larger penalty never costs anything. The first of equally cheap ones stands.
    """
    _, group = np.unique(R, axis=1, return_inverse=True)
    group = group.ravel()
    order = np.lexsort((np.arange(len(group)), penalties, group))
    first = np.ones(len(order), dtype=bool)
    first[1:] = group[order][1:] != group[order][:-1]
    stands = np.empty(group.max() + 1, dtype=np.intp)
    stands[group[order][first]] = order[first]
    return stands[group]


@dataclass(frozen=True, eq=False)
class SelectionProblem:
    """Items, words and a graph, before the penalty is chosen.

    Attributes
    ----------
    dissimilarities : array of shape (n, l)
    mass : array of shape (n,)
        Shares of the items.
    laplacian : sparse matrix or None
    gamma : float
        What the graph term is multiplied by.
    norm : {"max", "euclidean"}
    factors : array of shape (l,)
        What the penalty is multiplied by, word by word.
    candidates : array of int
        Words that are not excluded.
    outlier_cost : float or None
    """

    dissimilarities: Array
    mass: Array
    laplacian: SparseMatrix
    gamma: float
    norm: Literal["max", "euclidean"]
    factors: Array
    candidates: Indices
    outlier_cost: float | None

    @property
    def n_columns(self) -> int:
        """The number of words, the outlier word among them."""
        return self.dissimilarities.shape[1] + (self.outlier_cost is not None)

    @property
    def is_smoothed(self) -> bool:
        """Whether the graph has a say."""
        return self.laplacian is not None and self.gamma > 0.0

    @property
    def has_equal_penalties(self) -> bool:
        """Whether every candidate has the same penalty, and there is no other word."""
        return self.outlier_cost is None and bool(
            (self.factors[self.candidates] == 1.0).all()
        )

    @cached_property
    def one_word(self) -> OneWordPenalty:
        """From which penalty on a single candidate is best, if all cost the same."""
        return one_word_penalty(self._candidate_costs, self.norm)

    @cached_property
    def one_word_bounds(self) -> OneWordPenalty:
        """The same between bounds, of which none is dear."""
        return one_word_penalty(self._candidate_costs, self.norm, exact=False)

    @property
    def _candidate_costs(self) -> Array:
        return self.mass[:, None] * self.dissimilarities[:, self.candidates]

    @cached_property
    def _columns(self) -> tuple[Array, Array, Indices]:
        """Costs and factors of the words that may be taken, and their numbers."""
        R, factors = self.dissimilarities, self.factors
        numbers = self.candidates
        if self.outlier_cost is not None:
            outlier = np.full((len(R), 1), self.outlier_cost)
            R, factors = np.hstack([R, outlier]), np.append(factors, 0.0)
            numbers = np.append(numbers, R.shape[1] - 1)
        if not self.is_smoothed:
            # A graph makes shares of twins cheaper than one of them, so they stay.
            stand = twins(R[:, numbers], factors[numbers])
            numbers = numbers[np.unique(stand)]
        costs = np.ascontiguousarray(self.mass[:, None] * R[:, numbers])
        return costs, factors[numbers], numbers

    def problem(self, penalty: float) -> SparseAssignment:
        """Return the problem over the words that may be taken."""
        costs, factors, _ = self._columns
        return SparseAssignment(
            costs,
            penalty * factors,
            self.laplacian if self.is_smoothed else None,
            self.gamma if self.is_smoothed else 0.0,
            self.norm,
        )

    def solved(
        self,
        penalty: float,
        solver: Callable[[SparseAssignment], Solver],
        tol: float,
        *,
        max_iter: int = 20_000,
        max_time: float | None = None,
        callback: Callable[[Progress], object] | None = None,
        trail: Trail | None = None,
    ) -> Solution:
        """Return the assignment to all words, as the vector of its rows.

        `solver` returns the solver of a problem without a closed form.

        Closed forms where there are: a single word that may be taken, a single item,
        neither penalties nor a graph, or a penalty from which on one word is best.
        """
        problem = self.problem(penalty)
        found = self._closed_form(problem, penalty, tol)
        if found is None:
            method = solver(problem)
            if isinstance(method, ProximalADMM):
                # A search leaves its end in the trail: not in that of a parameter.
                method = replace(method, trail=trail)
            steps = math.ceil(max_iter / getattr(method, "every", 1))
            found = solve(
                problem,
                method,
                tol=tol,
                max_iter=steps,
                max_time=max_time,
                callback=callback,
            )
        whole = np.zeros((len(self.mass), self.n_columns))
        whole[:, self._columns[2]] = found.x.reshape(problem.shape)
        return placed(found, whole.ravel())

    def _closed_form(
        self, problem: SparseAssignment, penalty: float, tol: float
    ) -> Solution | None:
        n, words = problem.shape
        if n == 1 or words == 1:
            best = int(np.argmin(problem.costs[0] + problem.penalties)) if n == 1 else 0
            G = np.full((n, words), 1.0 if self.norm == "max" else math.sqrt(n))
            G *= problem.penalties / n
            return self._vertex(problem, np.full(n, best), G, tol, "closed form")
        if self.has_equal_penalties:
            is_known = "one_word" in self.__dict__
            one = self.one_word if is_known else self.one_word_bounds
            if penalty >= one.high:
                place = np.searchsorted(self.candidates, self._columns[2])
                G = one.prices(self._candidate_costs, penalty, self.norm)[:, place]
                best = int(np.flatnonzero(place == one.word)[0])
                return self._vertex(problem, np.full(n, best), G, tol, ONE_WORD)
        if not problem.penalties.any() and not problem.is_smoothed:
            nearest = problem.costs.argmin(axis=1)
            G = np.zeros((n, words))
            return self._vertex(problem, nearest, G, tol, "closed form")
        return None

    @staticmethod
    def _vertex(
        problem: SparseAssignment, words: Indices, G: Array, tol: float, ended: str
    ) -> Solution:
        """Return the solution in which every item has one word, proved by prices."""
        U = np.zeros(problem.shape)
        U[np.arange(len(U)), words] = 1.0
        dual = AssignmentDual(G, U)
        return certified(problem, U.ravel(), tol, ended=ended, hint=dual)
