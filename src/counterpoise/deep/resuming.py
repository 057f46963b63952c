"""A training with a file beside it, from which it goes on if it was interrupted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterpoise.deep.checkpoint import (
    check_same_data,
    data_digest,
    read_checkpoint,
    write_checkpoint,
)
from counterpoise.deep.network import DomainNetwork
from counterpoise.deep.rows import TrainingRows
from counterpoise.deep.training import Memory, Recipe, Training
from counterpoise.numerics.arrays import Array


def kept_training(path: Any) -> dict[str, Any] | None:
    """Return what a checkpoint holds, None if there is none yet."""
    if path is None or not Path(path).is_file():
        return None
    return read_checkpoint(path)


def trained(
    network: DomainNetwork,
    rows: TrainingRows,
    recipe: Recipe,
    class_weight: Array,
    *,
    path: Any,
    kept: dict[str, Any] | None,
    facts: dict[str, Any],
    callback: Callable[..., Any] | None,
) -> tuple[Memory, bool]:
    """Train to the end; return what is remembered, and whether the callback ended it.

    Parameters
    ----------
    network, rows, recipe, class_weight : as in `Training`
    path : path or None
        The checkpoint that is written at every update.
    kept : dict or None
        What it held before.
    facts : dict
        What `load_checkpoint` needs beside the weights.
    callback : callable or None
    """
    # The weights before the first step tell one extractor from another.
    digests = {
        "parameters": data_digest(recipe, class_weight),
        "rows": data_digest(rows.source, rows.y, rows.weight, rows.aims),
        "networks": data_digest(*network.state_dict().values()),
    }
    training = Training(network, rows, recipe, class_weight)
    if kept is not None:
        check_same_data(path, kept.get("digests", {}), digests)
        network.load_state_dict(kept["network"])
        training.optimizer.load_state_dict(kept["optimizer"])
        training.memory = Memory.from_dict(kept["memory"])
    stopped = False

    def on_update(training: Training) -> bool:
        nonlocal stopped
        if path is not None:
            write_checkpoint(
                path,
                {
                    **facts,
                    "network": network.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "memory": training.memory.to_dict(),
                    "digests": digests,
                    "seed": recipe.seed,
                },
            )
        if callback is not None and not training.memory.ended:
            stopped = bool(callback(training.memory.history[-1]))
        return stopped

    training.run(on_update)
    return training.memory, stopped
