"""The problem that a selector poses, for any penalty, and its solutions."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from counterpoise.convex import Solution, Solver, certified, placed, solve
from counterpoise.convex.assignment import (
    AssignmentDual,
    SparseAssignment,
    one_word_penalty,
)
from counterpoise.convex.assignment.one_word import OneWordPenalty
from counterpoise.convex.assignment.solvers import (
    AssignmentConic,
    ProximalADMM,
    SlackADMM,
    Trail,
)
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.selection.reading import twins

# The largest entry of a column from which a word is active.
ACTIVE_ABOVE = 1e-3

ONE_WORD = "one word: the penalty is at least the one from which a single word is best"


@dataclass(frozen=True, eq=False)
class PosedSelection:
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
    laplacian: Any
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
        out: Array = self.mass[:, None] * self.dissimilarities[:, self.candidates]
        return out

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
        solver: str,
        tol: float,
        *,
        max_iter: int = 20_000,
        max_time: float | None = None,
        callback: Callable[..., Any] | None = None,
        trail: Trail | None = None,
    ) -> Solution:
        """Return the assignment to all words, as the vector of its rows.

        Closed forms where there are: a single word that may be taken, a single item,
        neither penalties nor a graph, or a penalty from which on one word is best.
        """
        problem = self.problem(penalty)
        found = self._closed_form(problem, penalty, tol)
        if found is None:
            method = assignment_solver(solver, trail, max_time)
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


def assignment_solver(
    name: str, trail: Trail | None = None, max_time: float | None = None
) -> Solver:
    """Return the solver of a name, beginning where a trail ends."""
    if name in ("auto", "proximal-admm"):
        return ProximalADMM(trail=trail)
    if name == "conic":
        return AssignmentConic(max_seconds=math.inf if max_time is None else max_time)
    return SlackADMM("closed" if name == "slack-admm" else "kkt")


def active_words(assignment: Array, n_words: int) -> Any:
    """Return which of the words proper have an entry above 1e-3."""
    return assignment[:, :n_words].max(axis=0) > ACTIVE_ABOVE
