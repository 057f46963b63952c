"""The tape on which a path is written, and how it grows."""

from typing import Any

import numpy as np

from counterpoise.convex.quadratic_path.layout import (
    ENTRIES,
    EVENTS,
    PIECES,
    TAPED_EVENTS,
    THETA,
    Line,
    Place,
    Tape,
    Variables,
)
from counterpoise.convex.quadratic_path.pieces import ParametricPath
from counterpoise.convex.quadratic_path.rows import KernelRows
from counterpoise.numerics.arrays import Indices

ENTRIES_OF_A_PIECE = ("free", "a", "da")


def new_tape(wanted: bool) -> Tape:
    """Return an empty tape with room for some pieces; none if it is not wanted."""
    pieces, entries = (256, 4096) if wanted else (0, 0)
    return Tape(
        wanted=wanted,
        theta=np.empty(pieces),
        bias=np.empty(pieces),
        dbias=np.empty(pieces),
        first=np.zeros(pieces + 1, dtype=np.intp),
        event=np.empty(pieces, dtype=np.intp),
        residual=np.empty(pieces),
        free=np.empty(entries, dtype=np.intp),
        a=np.empty(entries),
        da=np.empty(entries),
        event_theta=np.empty(2 * pieces),
        event_who=np.empty(2 * pieces, dtype=np.intp),
        event_from=np.empty(2 * pieces, dtype=np.intp),
        event_to=np.empty(2 * pieces, dtype=np.intp),
    )


NO_TAPE = new_tape(False)


def longer(tape: Tape, room: int) -> Tape:
    """Return the tape with twice its room, and for a piece of `room` entries."""
    parts: dict[str, Any] = tape._asdict()
    for name, part in parts.items():
        if name != "wanted":
            more = 2 * room if name in ENTRIES_OF_A_PIECE else 0
            parts[name] = np.empty(2 * part.size + more, dtype=part.dtype)
            parts[name][: part.size] = part
    return Tape(**parts)


def write_changes(place: Place, tape: Tape, before: Indices) -> Tape:
    """Put the changes of label of a resolved tie on the tape."""
    counts, status = place.counts, place.status
    changed = np.flatnonzero(before != status)
    counts[EVENTS] += changed.size
    if not tape.wanted or not changed.size:
        return tape
    while counts[TAPED_EVENTS] + changed.size > tape.event_who.size:
        tape = longer(tape, 0)
    some = slice(counts[TAPED_EVENTS], counts[TAPED_EVENTS] + changed.size)
    tape.event_theta[some] = place.numbers[THETA]
    tape.event_who[some] = changed
    tape.event_from[some] = before[changed]
    tape.event_to[some] = status[changed]
    counts[TAPED_EVENTS] += changed.size
    return tape


def read_path(
    tape: Tape,
    rows: KernelRows,
    variables: Variables,
    line: Line,
    labels: Indices,
    place: Place,
    bias: float,
) -> ParametricPath:
    """Return what is on the tape as a path that began with these labels."""
    counts = place.counts
    k, entries, events = (int(counts[c]) for c in (PIECES, ENTRIES, TAPED_EVENTS))
    return ParametricPath(
        rows=rows,
        variables=variables,
        line=line,
        labels=labels,
        starts=tape.theta[:k].copy(),
        biases=tape.bias[:k].copy(),
        bias_rates=tape.dbias[:k].copy(),
        first=tape.first[: k + 1].copy(),
        events_before=tape.event[:k].copy(),
        residuals=tape.residual[:k].copy(),
        free=tape.free[:entries].copy(),
        values=tape.a[:entries].copy(),
        rates=tape.da[:entries].copy(),
        event_thetas=tape.event_theta[:events].copy(),
        event_variables=tape.event_who[:events].copy(),
        event_from=tape.event_from[:events].copy(),
        event_to=tape.event_to[:events].copy(),
        end=place.a.copy(),
        end_bias=bias,
    )
