"""Samples as read, with what their rows belong to."""

from dataclasses import replace
from typing import Any

from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.dependent.row_units import RowUnits
from counterpoise.validation import InvalidInput


def with_units(
    samples: SamplesAsRead,
    groups: Any = None,
    groups_target: Any = None,
    time: Any = None,
    time_target: Any = None,
) -> SamplesAsRead:
    """Return samples with what their rows belong to, if it is said: groups or time."""
    by_group = groups is not None or groups_target is not None
    by_time = time is not None or time_target is not None
    if not (by_group or by_time):
        return samples
    if by_group and by_time:
        raise InvalidInput("rows have groups or a time, not both: give one of them")
    sizes = samples.source_weight.size, samples.target_weight.size
    if by_group:
        units = RowUnits.of_groups(groups, groups_target, *sizes)
    else:
        if time is None:
            raise InvalidInput("time_target was given, and no time of the source")
        units = RowUnits.of_time(time, time_target, samples.source, samples.target)
    found = replace(samples, units=units)
    # What was worked out of the rows holds still.
    for name in ("is_plain", "encoder", "_numbers"):
        if name in samples.__dict__:
            found.__dict__[name] = samples.__dict__[name]
    return found
