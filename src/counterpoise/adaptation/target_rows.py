"""Target rows that a fitted model keeps, to compare later ones with."""

from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.tables.columns import Table
from counterpoise.validation import n_rows, target_pieces


def reference_rows(samples: SamplesAsRead, most: int, seed: int) -> Any:
    """Return at most so many rows of the target, as plain arrays."""
    target: Any = None
    if samples.tables is not None:
        target = samples.tables[1]
    elif samples.given is not None:
        pieces = list(target_pieces(samples.given[1]).values())
        if any(sparse.issparse(piece) for piece in pieces):
            target = sparse.vstack(pieces, format="csr")
        else:
            target = Table.of(samples.given[1])
    else:
        target = samples.target
    m = n_rows(target)
    some = np.arange(m)
    if m > most:
        some = np.sort(np.random.default_rng(seed).choice(m, most, replace=False))
    # A copy: what the user does to the table later is no business of the model's.
    return target[some] if sparse.issparse(target) else target.take(some)
