"""How much of what a linear model sees of a shift weights of the source can remove."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.convex import solve
from counterpoise.convex.spectral.solvers import best_solver
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.discrepancy_problem import pose_discrepancy
from counterpoise.samples.moment_pair import CONSTANT, DiscrepancySpectrum, MomentPair
from counterpoise.samples.scaling import pooled_scale, scale_columns
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.quantiles import column_limits
from counterpoise.validation.warning import held_back

# Columns up to which the spectrum is computed, and the least discrepancy looked for.
COLUMNS_LOOKED_AT, COLUMNS_WEIGHED = 1_000, 100
# The gap that is enough for a sentence, and steps after which the search ends.
REWEIGHTING_TOL, REWEIGHTING_STEPS = 0.02, 60
# Eigenvalues that are kept of each end, and columns that a direction is told by.
EIGENVALUES_KEPT, COLUMNS_TOLD = 50, 5


@dataclass(frozen=True)
class Reweighting:
    """The discrepancy of two samples, and what is left of it at the best weights.

    Attributes
    ----------
    before, after : float
        The discrepancy (`counterpoise.discrepancy` of standardised columns with a
        constant) of the source as it is, and at the best weights found; the second None
        where it was not looked for.
    bound : float or None
        What no weights go below.
    removable : float or None
        The share of `before` that the weights found remove.
    direction : tuple of (name, share)
        The columns that make up the worst direction at the best weights, or of the
        source as it is where these are not known.
    target_varies_more : bool
        Whether the target varies more than the source along it.
    spectrum_before, spectrum_after : tuple of float
        The signed eigenvalues, by size; at most 100.
    n_source, n_target : int
        Rows that were looked at.
    """

    before: float
    after: float | None
    bound: float | None
    direction: tuple[tuple[str, float], ...]
    target_varies_more: bool
    spectrum_before: tuple[float, ...] = field(repr=False)
    spectrum_after: tuple[float, ...] = field(repr=False)
    n_source: int
    n_target: int

    @property
    def removable(self) -> float | None:
        """The share of the discrepancy that weights can remove."""
        if self.after is None or self.before == 0.0:
            return None
        return max(1.0 - self.after / self.before, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dictionaries."""
        return {
            "before": list(self.spectrum_before),
            "after": list(self.spectrum_after),
            "discrepancy": self.before,
            "least": self.after,
            "bound": self.bound,
            "removable": self.removable,
            "direction": [
                {"name": name, "share": share} for name, share in self.direction
            ],
            "target_varies_more": self.target_varies_more,
            "n_source": self.n_source,
            "n_target": self.n_target,
        }


def reweighting_of(samples: TwoSamples, names: Sequence[str]) -> Reweighting | None:
    r"""Return how much of the discrepancy weights of the source rows can remove.

    Columns are centred and divided by their pooled scale, and numbers far outside the
    bulk count as if they lay at its ends. None where there are more than 1,000 columns;
    the best weights are looked for up to 100 columns. Time
    :math:`O((n + m) d^2)` and that of a few dozen Newton steps.

    Parameters
    ----------
    samples : TwoSamples
        Rows in their canonical order.
    names : sequence of str
        The column of the table that each column comes from.
    """
    n_columns = samples.source.shape[1]
    if n_columns > COLUMNS_LOOKED_AT:
        return None
    samples = _standardized(samples)
    hypotheses = Kernel("linear", constant=1.0)
    pair = MomentPair.of(hypotheses, samples.source, samples.target, tuple(names))

    def spectrum(ratio: Array) -> DiscrepancySpectrum:
        share = samples.source_share * ratio
        return pair.spectrum(
            np.concatenate([-share / share.sum(), samples.target_share])
        )

    first = last = spectrum(np.ones(samples.source_share.size))
    after = bound = None
    if n_columns <= COLUMNS_WEIGHED and first.value > 0.0:
        posed = pose_discrepancy(samples, hypotheses)
        solver = best_solver(posed.problem)
        found = solve(
            posed.problem, solver, tol=REWEIGHTING_TOL, max_iter=REWEIGHTING_STEPS
        )
        last = spectrum(posed.ratio(posed.problem.inside(found.x)))
        after, bound = last.value, found.certificate.bound
    return Reweighting(
        before=first.value,
        after=after,
        bound=bound,
        direction=_told(last),
        target_varies_more=last.signed[0] >= -last.signed[1],
        spectrum_before=_by_size(first.eigenvalues),
        spectrum_after=() if after is None else _by_size(last.eigenvalues),
        n_source=samples.source_share.size,
        n_target=samples.target_share.size,
    )


def _standardized(samples: TwoSamples) -> TwoSamples:
    """Return columns around zero, of scale one."""
    both = [
        (samples.source, samples.source_share),
        (samples.target, samples.target_share),
    ]
    # The features say what varies in one sample alone.
    with held_back(UserWarning, message="hardly varies"):
        scale = pooled_scale(samples)
    low, high = column_limits(both)
    cut = [np.clip(rows, low, high) for rows, _ in both]
    middle = 0.5 * sum(share @ part for part, (_, share) in zip(cut, both, strict=True))
    return samples.with_rows(*(scale_columns(part - middle, scale) for part in cut))


def _told(spectrum: DiscrepancySpectrum) -> tuple[tuple[str, float], ...]:
    """Return the columns of a direction, without the constant that may be in it."""
    named = [(str(name), x) for name, x in spectrum.ranking if name != CONSTANT]
    total = sum(share for _, share in named)
    if total <= 0.0:
        return ()
    return tuple((name, share / total) for name, share in named[:COLUMNS_TOLD])


def _by_size(values: Array) -> tuple[float, ...]:
    kept = (
        values
        if values.size <= 2 * EIGENVALUES_KEPT
        else np.r_[values[:EIGENVALUES_KEPT], values[-EIGENVALUES_KEPT:]]
    )
    order = np.argsort(-np.abs(kept), kind="stable")
    return tuple(kept[order].tolist())
