"""The weighters by their plain names."""

from typing import Any


def build_weighter(name: str, *, force: bool, seed: int) -> Any:
    """Return the weighter that `--weighter` names.

    Parameters
    ----------
    name : str
        One of those that `--weighter` lists.
    force : bool
        Whether it goes on where the source does not cover the target.
    seed : int
    """
    from counterpoise.weights.registry import of_command

    return of_command(name, force=force, random_state=seed)
