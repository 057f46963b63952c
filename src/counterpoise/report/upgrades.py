"""Records of earlier versions as records of this one."""

from collections.abc import Callable, Mapping
from typing import Any

from counterpoise.evaluation.performance import is_surprise

# What makes a record of the next version of one of this version.
_STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def upgraded(sections: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the sections of a record as the newest version has them."""
    found = dict(sections)
    while version in _STEPS:
        found = _STEPS[version](found)
        version += 1
    return _with_contradictions(found)


def _with_contradictions(sections: dict[str, Any]) -> dict[str, Any]:
    """Return the sections with what labelled rows say, where only a p-value is told."""
    performance = sections.get("performance")
    if not isinstance(performance, Mapping):
        return sections
    metrics = performance.get("metrics")
    if not isinstance(metrics, Mapping):
        return sections
    told = {name: _with_contradiction(one) for name, one in metrics.items()}
    return {**sections, "performance": {**performance, "metrics": told}}


def _with_contradiction(metric: Any) -> Any:
    check = metric.get("check") if isinstance(metric, Mapping) else None
    if not isinstance(check, Mapping) or "contradicts" in check:
        return metric
    p_value = check.get("p_value")
    contradicts = p_value is not None and is_surprise(p_value)
    return {**metric, "check": {**check, "contradicts": contradicts}}
