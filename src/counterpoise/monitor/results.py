"""Results of a chunk, alerts and advice."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from counterpoise.messages import INFO, PROBLEM, WARNING, Finding
from counterpoise.shift.support import NO_OVERLAP_ABOVE, UNCOVERED_ABOVE

# -----------------------------------------------------------------------------
# What one look at a deployed model finds, and what an alert says.
# -----------------------------------------------------------------------------


INPUTS, RISK, ESTIMATE = "inputs", "risk", "estimate"
# How the level of all alerts together is split over their kinds.
SHARE_OF_ALARM = {INPUTS: 0.4, RISK: 0.4, ESTIMATE: 0.2}


@dataclass(frozen=True)
class Alert:
    """Something has changed, by evidence that holds over all looks.

    Attributes
    ----------
    kind : {"inputs", "risk", "estimate"}
        The distribution of the inputs has changed; the risk measured by labels has
        risen by more than the tolerance; the risk estimated without labels has.
    time : str, number or None
        Of the chunk at which it was raised.
    since : str, number or None
        Of the chunk at which the change most likely began.
    evidence : dict
        "e_value" and "needed" (the alert's kinds "inputs" and "risk"), or "low", the
        end of the corrected interval of the rise, and "tolerance".
    columns : tuple of str
        Which columns moved, the most telling first.
    finding : Finding
        What to do; its text, `advice`, begins with "nothing", "adapt again", "label
        rows" or "stop".
    level : float
        The probability of a false alarm of this kind over all looks is at most this.
    """

    kind: str
    time: Any
    since: Any
    evidence: Mapping[str, float]
    columns: tuple[str, ...]
    finding: Finding
    level: float

    @property
    def advice(self) -> str:
        """What to do, in words."""
        return str(self.finding)

    def __str__(self) -> str:
        return self.text()

    def text(self, surface: str = "python") -> str:
        """Return the alert in one line, in the words of a surface."""
        advice = self.finding.text(surface)
        line = f"{self.kind} at {self.time}, since about {self.since}: {advice}"
        return f"{line} ({', '.join(self.columns)})" if self.columns else line

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        return {
            **vars(self),
            "evidence": dict(self.evidence),
            "columns": list(self.columns),
            "advice": self.advice,
            "finding": self.finding.to_dict(),
        }


@dataclass(frozen=True)
class ChunkResult:
    """What is known of one chunk when it has come.

    Attributes
    ----------
    number : int
        Which look it is, counted from 1; 0 where the chunk was not counted.
    time : str, number or None
    n_rows : int
    drift : dict or None
        "auc" with "auc_low" and "auc_high" (how well a classifier tells the chunk from
        the reference), "mmd", "columns" (those that moved, each with its "effect" in
        standard deviations of normal scores); None for chunks too small to judge.
    covered : float or None
        Share of the chunk that lies where the reference has rows.
    effective_rows : float or None
        How many rows the weighted reference is worth at the chunk.
    performance : dict
        Of each metric the estimate without labels: "value", "low", "high" (for this
        chunk), "low_all", "high_all" (for all chunks together), "reference".
    realized : dict
        Of each metric "value", "low", "high" and "n", from labels.
    log_e : dict
        Logarithm of the evidence so far, by kind of alert.
    alerts : tuple of Alert
        Those raised now.
    notes : tuple of str
        What was odd: empty, late, small, new categories, columns without values, units.
    """

    number: int
    time: Any
    n_rows: int
    drift: Mapping[str, Any] | None = None
    covered: float | None = None
    effective_rows: float | None = None
    performance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    realized: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    log_e: Mapping[str, float] = field(default_factory=dict)
    alerts: tuple[Alert, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"chunk {self.number} ({self.time}): {self.n_rows} rows"]
        for metric, one in self.performance.items():
            parts.append(
                f"  {metric}: estimated {one['value']:.4g} ({one['low']:.4g} to "
                f"{one['high']:.4g})"
            )
        for metric, one in self.realized.items():
            parts.append(f"  {metric}: {one['value']:.4g} of {one['n']} labeled rows")
        parts += [f"  alert: {one}" for one in self.alerts]
        parts += [f"  note: {one}" for one in self.notes]
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and words."""
        found = asdict(self)
        found["alerts"] = [one.to_dict() for one in self.alerts]
        found["notes"] = list(self.notes)
        return found


# -----------------------------------------------------------------------------
# What to do about an alert.
# -----------------------------------------------------------------------------


def advice(
    kind: str, *, inputs_changed: bool, estimate_rose: bool, covered: float | None
) -> Finding:
    """Return what to do, in a text that begins with one of four words.

    ==============  ==================================================================
    stop            more than half of the chunk lies where the reference has no rows
    label rows      more than 5 % of it does; or the risk has risen and the inputs have
                    not changed, so that p(y | x) has: weights do not mend that
    adapt again     the inputs have changed, and with them the measured or estimated
                    risk
    nothing         the inputs have changed, and the estimated risk has not
    ==============  ==================================================================

    Parameters
    ----------
    kind : {"inputs", "risk", "estimate"}
    inputs_changed : bool
        Whether an alert about the inputs stands.
    estimate_rose : bool
        Whether the corrected interval of the estimate lies above the tolerance.
    covered : float or None
        Share of the chunk that lies where the reference has rows.
    """
    covered = 1.0 if covered is None else covered
    values = {"uncovered": 1.0 - covered}
    if covered < 1.0 - NO_OVERLAP_ABOVE:
        return Finding("stop_uncovered", PROBLEM, values)
    if covered < 1.0 - UNCOVERED_ABOVE:
        return Finding("label_uncovered", WARNING, values)
    if kind == INPUTS:
        code = "adapt_inputs" if estimate_rose else "nothing_inputs"
    elif kind == ESTIMATE:
        code = "adapt_estimate"
    else:
        code = "adapt_risk" if inputs_changed else "label_risk"
    return Finding(code, INFO if code == "nothing_inputs" else WARNING)
