"""Which alarms a look raises: evidence against the level of each kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.watching.advice import advice
from counterpoise.watching.judging import Judged, telling_columns
from counterpoise.watching.looks import (
    ESTIMATE,
    INPUTS,
    RISK,
    SHARE_OF_ALARM,
    Alarm,
)
from counterpoise.watching.state import SeenChunk, WatchState


def log_evidence(state: WatchState) -> dict[str, float]:
    """Return the logarithm of the evidence so far, by kind of alarm."""
    return {INPUTS: state.inputs.log_e, RISK: state.risk.evidence.log_e}


def new_alarms(state: WatchState, chunk: SeenChunk, found: Judged) -> tuple[Alarm, ...]:
    """Return the alarms that this look raises, and keep them.

    An alarm of the inputs names the columns whose own bets have won, the others those
    that moved in the chunk; where there are none, either names the other's, and then
    those of which something odd was said. None may be left.
    """
    log_e, raised = log_evidence(state), []
    since = {
        INPUTS: _nth([one.time for one in state.chunks], state.inputs.since),
        RISK: _nth(state.batch_times, state.risk.evidence.since),
        ESTIMATE: chunk.time,
    }
    moved, won = found.columns, tuple(telling_columns(state))
    for kind in (INPUTS, RISK, ESTIMATE):
        if state.has_alarm(kind):
            continue
        level = state.alarm * SHARE_OF_ALARM[kind]
        if kind == ESTIMATE:
            if not found.rose:
                continue
            evidence = {"low": found.low_rise, "tolerance": state.tolerance}
        else:
            if log_e[kind] < np.log(1.0 / level):
                continue
            evidence = {
                "e_value": float(np.exp(min(log_e[kind], 700.0))),
                "needed": 1.0 / level,
            }
        told = advice(
            kind,
            inputs_changed=state.has_alarm(INPUTS),
            estimate_rose=found.rose or state.rose,
            covered=found.covered,
        )
        names = ((won or moved) if kind == INPUTS else (moved or won)) or found.odd
        alarm = Alarm(kind, chunk.time, since[kind], evidence, names, told, level)
        state.alarms.append(alarm)
        raised.append(alarm)
    return tuple(raised)


def _nth(times: Sequence[Any], number: int) -> Any:
    return times[number - 1] if 0 < number <= len(times) else None
