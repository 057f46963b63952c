"""Target rows that belong to those which no source row stands for."""

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from counterpoise.numerics.arrays import Indices
from counterpoise.samples.scaling import pooled_scale, rows_scaled
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.validation.warning import held_back

# How many of the nearest rows are looked at.
N_NEAREST = 10


def with_neighbours(
    lost: NDArray[np.bool_], samples: TwoSamples, rows: Indices, aims: Indices
) -> NDArray[np.bool_]:
    """Return which target rows are lost, those among them included.

    A target row joins the lost if of the ten rows of both samples that are nearest to
    it none is a source row and at least half are lost: the rim of a cluster that the
    source does not reach, whose rows a classifier may place below an odd source row.
    That is repeated until none joins. `rows` and `aims` are the places of the source
    and target rows that are looked at as neighbours; a row is not its own.
    """
    if lost.all():
        return lost
    # The door has said it, by the names of the columns.
    with held_back(UserWarning, message="hardly varies"):
        scaled = rows_scaled(samples, pooled_scale(samples))
    known = np.vstack([scaled.source[rows], scaled.target[aims]])
    # The place of each neighbour among the target rows; -1 for a source row.
    place = np.concatenate([np.full(rows.size, -1), aims])
    count = min(N_NEAREST, place.size - 1)
    asked = np.flatnonzero(~lost)
    finder = NearestNeighbors(n_neighbors=count + 1).fit(known)
    near = place[finder.kneighbors(scaled.target[asked], return_distance=False)]
    own = near == asked[:, None]
    # Where it is not among its own neighbours, the furthest of them is one too many.
    own[~own.any(axis=1), -1] = True
    near = near[~own].reshape(asked.size, count)
    alone = (near >= 0).all(axis=1)
    lost = lost.copy()
    while True:
        joins = alone & ~lost[asked] & (2 * lost[near].sum(axis=1) >= count)
        if not joins.any():
            return lost
        lost[asked[joins]] = True
