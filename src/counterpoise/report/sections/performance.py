"""The estimate that leads."""

from collections.abc import Mapping
from typing import Any

from counterpoise.evaluation.performance import leading_of


def headline_section(performance: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the first metric's estimate for the target, beside the source score."""
    metrics = performance.get("metrics") or {}
    if not metrics:
        return None
    name, estimates = next(iter(metrics.items()))
    source = estimates.get("source") or {}
    kind = leading_of(estimates)
    found = estimates.get(kind) or {}
    if found.get("value") is None:
        return None
    return {
        "metric": name,
        "higher_is_better": estimates.get("higher_is_better"),
        "estimate": kind,
        "value": found["value"],
        "low": found.get("low"),
        "high": found.get("high"),
        "level": performance.get("level"),
        "source": source.get("value"),
        "label_change_p": (estimates.get("check") or {}).get("p_value"),
        "baseline": estimates.get("baseline"),
    }
