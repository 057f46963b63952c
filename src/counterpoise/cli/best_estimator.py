"""`--estimator auto`: models compared by their estimated score on the target."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from counterpoise.evaluation.performance import MetricPerformance

BY_ESTIMATE, _CONSTANT = "auto", "constant"
# Simpler ones first: at equality the first is kept.
TRIED = ("linear", "boosting")


@dataclass(frozen=True, eq=False)
class Tried:
    """A fitted model and its score on the target."""

    name: str
    model: Any
    performance: Any

    @property
    def found(self) -> MetricPerformance:
        """The metric that is asked for."""
        found: MetricPerformance = next(iter(self.performance.metrics.values()))
        return found


def best_of(fitted: Callable[[str], Tried]) -> tuple[Tried, list[dict[str, Any]]]:
    """Return the model with the best estimate on the target, and all that were tried.

    A linear model and boosting by the estimate that leads; at equality the linear one.
    A constant prediction where the better of them saves nothing of a constant's loss
    (`evaluation.advice.baseline`), by its estimate.

    Parameters
    ----------
    fitted : callable
        Fits the estimator of a name and estimates its score.
    """
    tried = {name: fitted(name) for name in TRIED}
    best = choice_among({name: one.found for name, one in tried.items()})
    chosen = tried.get(best) or fitted(best)
    table = [_line(one, one is chosen) for one in tried.values()]
    baseline = tried[_better(tried)].found.baseline
    if baseline is not None:
        table.append(
            {
                "estimator": _CONSTANT,
                "value": baseline.value,
                "low": None,
                "high": None,
                "skill": 0.0,
                "chosen": best == _CONSTANT,
            }
        )
    return chosen, table


def choice_among(found: Mapping[str, MetricPerformance]) -> str:
    """Return the name of the best, which may be a constant that was not fitted.

    Where no estimate can be made the first is kept.
    """
    name = _best_by_value(found)
    baseline = found[name].baseline
    if baseline is not None and baseline.saved <= 0:
        return _CONSTANT
    return name


def _better(tried: Mapping[str, Tried]) -> str:
    return _best_by_value({name: one.found for name, one in tried.items()})


def _best_by_value(found: Mapping[str, MetricPerformance]) -> str:
    best, *others = found
    for name in others:
        one, kept = found[name].best, found[best].best
        if one is None or kept is None:
            continue
        higher = found[name].higher_is_better
        if one.value > kept.value if higher else one.value < kept.value:
            best = name
    return best


def _line(one: Tried, chosen: bool) -> dict[str, Any]:
    best, baseline = one.found.best, one.found.baseline
    return {
        "estimator": one.name,
        "value": None if best is None else best.value,
        "low": None if best is None else best.low,
        "high": None if best is None else best.high,
        "skill": None if baseline is None else baseline.skill,
        "chosen": chosen,
    }
