"""What must hold at every step of a Frank-Wolfe search, each check by its name."""

from itertools import pairwise

import numpy as np

from counterpoise.optim import solve


def lines_of(problem, solver, start=None, max_iter=100):
    """Return the progress of every step, with its point."""
    lines = []

    def keep(progress):
        lines.append(progress)

    solve(problem, solver, start, tol=1e-9, max_iter=max_iter, callback=keep)
    return lines


def every_point_is_a_probability_vector(problem, best, lines):
    for line in lines:
        assert line.x.min() >= 0.0
        assert abs(line.x.sum() - 1.0) <= 1e-12


def every_claim_is_that_of_the_point(problem, best, lines):
    for line in lines:
        value = problem.objective.value(line.x)
        assert abs(line.objective - value) <= 1e-9 * max(1.0, abs(value))


def every_gap_bounds_the_excess(problem, best, lines):
    for line in lines:
        excess = problem.objective.value(line.x) - best
        assert excess <= line.gap + 1e-10 * max(1.0, abs(best))


def the_value_never_rises(problem, best, lines):
    values = np.array([problem.objective.value(line.x) for line in lines])
    assert (np.diff(values) <= 1e-12 * max(1.0, abs(best))).all()


def drops_and_swaps_account_for_the_atoms(problem, best, lines):
    for before, after in pairwise(lines):
        kinds = ("drop", "swap")
        drop, swap = (
            after.counts.get(kind, 0) - before.counts.get(kind, 0) for kind in kinds
        )
        change = np.count_nonzero(after.x) - np.count_nonzero(before.x)
        if drop:
            assert change == -1
        elif swap:
            assert change == 0
        elif after.counts.get("towards", 0) > before.counts.get("towards", 0):
            # A full step towards a vertex leaves that vertex alone.
            assert change in (0, 1) or np.count_nonzero(after.x) == 1
        else:
            assert change in (0, 1)


CHECKS = (
    every_point_is_a_probability_vector,
    every_claim_is_that_of_the_point,
    every_gap_bounds_the_excess,
    the_value_never_rises,
    drops_and_swaps_account_for_the_atoms,
)


def broken(problem, best, lines):
    """Return the names of the checks that fail."""
    names = set()
    for check in CHECKS:
        try:
            check(problem, best, lines)
        except AssertionError:
            names.add(check.__name__)
    return names
