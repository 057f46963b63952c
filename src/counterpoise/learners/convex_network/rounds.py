"""Rounds of a network: which way, and what is told of them."""

from typing import Any

from counterpoise.convex import Solution, attested, solve
from counterpoise.convex.network import (
    PROVED_ROUND,
    ConstrainedTraining,
    DirectRounds,
    ExactLayer,
    NetworkTraining,
    ProxLinear,
    Round,
)


def trained(
    training: ConstrainedTraining,
    rounds: list[Round],
    *,
    constrained: bool,
    proved: bool,
    max_rounds: int,
    numbers: dict[str, Any],
) -> Solution:
    """Return what the one loop finds, and put a line a round into `rounds`.

    Without hidden layers one exact programme; with constraints prox-linear rounds;
    else direct ones, proved or not.

    Parameters
    ----------
    training : ConstrainedTraining
    rounds : list
    constrained, proved : bool
    max_rounds : int
    numbers : dict
        tol, max_time and callback of the loop.
    """
    objective = training.objective
    if objective.network.depth == 1:
        return _one_layer(training, rounds, numbers)
    if constrained:
        solver = ProxLinear(rounds.append)
        return solve(training, solver, max_iter=max_rounds, **numbers)
    return solve(
        NetworkTraining(objective, training.first, proved),
        DirectRounds(proved, rounds.append),
        max_iter=max_rounds,
        **numbers,
    )


def _one_layer(
    training: ConstrainedTraining, rounds: list[Round], numbers: dict[str, Any]
) -> Solution:
    layer = training.output_layer(training.first)
    solution = solve(layer, ExactLayer(), training.start(), max_iter=1, **numbers)
    if not solution.n_iter:
        return solution
    if layer.violation(solution.x) > 0.0:
        # No layer keeps the limits: the one that exceeds them least.
        loose = layer.solved(training.price)
        if loose is not None:
            x, ended = loose[0], solution.ended
            proof = layer.certify(x)
            solution = attested(x, proof, solution.tol, n_iter=1, ended=ended)
    proof = solution.certificate
    merit = training.merit(solution.x)
    rounds.append(
        Round(merit, exactness=0.0, gap=proof.gap, violation=proof.infeasibility)
    )
    return solution


def not_converged(solution: Solution) -> str:
    """Return what is told of rounds that ended before `tol` was reached."""
    proof, name = solution.certificate, solution.ended.replace("max_iter", "max_rounds")
    if proof.kind == "duality gap":
        return str(solution)
    left = proof.gap if proof.kind == PROVED_ROUND else proof.residual
    about = "at most" if proof.kind == PROVED_ROUND else "about"
    return (
        f"not converged ({name}): one more round may lower the objective "
        f"{proof.objective:.6g} by {about} {left:.2g}, where tol = {solution.tol:g} "
        f"asks for {solution.tol * proof.scale:.2g}; raise max_rounds or tol"
    )
