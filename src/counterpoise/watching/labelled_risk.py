"""Labelled rows of the stream, as bounded losses for the evidence of a higher risk."""

from dataclasses import dataclass

import numpy as np

from counterpoise.evaluation.metrics import ERROR_RATE, Metric
from counterpoise.numerics.arrays import Array
from counterpoise.watching.risk_evidence import RiskEvidence

# Losses without a bound are cut at this quantile of some of the reference's, which
# take no other part.
_BOUND_QUANTILE, _SHARE_FOR_BOUND = 0.99, 0.2


@dataclass
class LabelledRisk:
    r"""The evidence that a metric has become worse, in the metric's own units.

    Attributes
    ----------
    name : str
        Of the metric.
    bound : float
        Losses are cut there and divided by it. Error rates and accuracies need no cut;
        of all others it is the 99 % quantile of a fifth of the reference's losses,
        drawn by chance, which the evidence does not count otherwise: what is watched is
        then the mean of :math:`\min(L, \text{bound})`.
    higher_is_better : bool
        Whether one minus the metric is the loss (accuracy).
    evidence : RiskEvidence
    """

    name: str
    bound: float
    higher_is_better: bool
    evidence: RiskEvidence

    @classmethod
    def of(
        cls, metric: Metric, values: Array, tolerance: float, seed: int
    ) -> "LabelledRisk":
        """Return the evidence before the stream.

        Parameters
        ----------
        metric : Metric
            With a value a row.
        values : array of shape (n,)
            At the reference's rows.
        tolerance : float
            How much worse it may become, in the units of the metric.
        seed : int
            Of the order of the rows.
        """
        losses = 1.0 - values if metric.higher_is_better else values
        losses = losses[np.random.default_rng(seed).permutation(losses.size)]
        bound = 1.0
        if metric.name not in (ERROR_RATE, "accuracy"):
            k = max(int(_SHARE_FOR_BOUND * losses.size), 1)
            bound = float(np.quantile(losses[:k], _BOUND_QUANTILE))
            bound = bound if bound > 0 else max(float(losses.max()), 1.0)
            losses = losses[k:]
        losses = np.clip(losses / bound, 0.0, 1.0)

        def allowed(mean: Array) -> Array:
            if metric.root:
                return (np.sqrt(mean * bound) + tolerance) ** 2 / bound
            return mean + tolerance / bound

        evidence = RiskEvidence.against(losses, allowed)
        return cls(metric.name, bound, metric.higher_is_better, evidence)

    def add(self, values: Array) -> None:
        """Take the metric's values at the labelled rows of a batch."""
        losses = 1.0 - values if self.higher_is_better else values
        self.evidence.add(np.clip(losses / self.bound, 0.0, 1.0))
