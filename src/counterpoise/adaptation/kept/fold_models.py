"""Models that were fitted without a fold, kept for who asks about the same fold next.

The guard fits the user's estimator to unweighted rows without each fold, and where it
leaves the rows unweighted the estimate of the target's score needs the very same
models. Inside `kept_folds` they are kept, and nowhere else: models are large.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from counterpoise.numerics.arrays import Array, Indices

_KEPT: ContextVar[dict[tuple[int, bytes], Any] | None] = ContextVar(
    "fold_models", default=None
)


@contextmanager
def kept_folds() -> Iterator[None]:
    """Let what runs inside fit no estimator twice to the same unweighted rows.

    The rows of one `Adapted` must be the same table all along.
    """
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def keep(
    owner: Any, rows: Indices, weights: Sequence[Array | None], models: Sequence[Any]
) -> None:
    """Keep the model that was fitted to unweighted rows, if anybody keeps some.

    Parameters
    ----------
    owner : Adapted
        For whom it was fitted; by identity.
    rows : array of int
        Places of the rows among all of the owner's.
    weights, models : sequences
        What each model was fitted by; None stands for unweighted rows.
    """
    kept = _KEPT.get()
    if kept is None:
        return
    for one, model in zip(weights, models, strict=True):
        if one is None:
            # The owner is kept too, so that no other gets its identity.
            kept[id(owner), rows.tobytes()] = owner, model


def known(owner: Any, rows: Indices) -> Any | None:
    """Return the owner's model of these unweighted rows; None if none was kept."""
    kept = _KEPT.get()
    found = None if kept is None else kept.get((id(owner), rows.tobytes()))
    return None if found is None else found[1]
