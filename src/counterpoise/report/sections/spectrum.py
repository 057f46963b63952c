"""What fitted weights leave of the discrepancy, eigenvalue by eigenvalue."""

from typing import Any

import numpy as np

from counterpoise.diagnosis.reweighting import COLUMNS_TOLD, EIGENVALUES_KEPT


def spectrum_section(weighter: Any) -> dict[str, Any] | None:
    """Return the spectra before and after the weights of a `DiscrepancyWeights`.

    None for other weighters, and where the rows of the fit were not kept. Rows of a
    kernel's worst function are no aggregate, so that they are not listed.
    """
    if not hasattr(type(weighter), "spectrum_uniform_") or (
        getattr(weighter, "_samples_", None) is None
    ):
        return None
    before, after = weighter.spectrum_uniform_, weighter.spectrum_
    named = after.ranking[:COLUMNS_TOLD] if after.kernel == "linear" else ()
    return {
        "before": _by_size(before.eigenvalues),
        "after": _by_size(after.eigenvalues),
        "discrepancy": weighter.discrepancy_uniform_,
        "least": weighter.discrepancy_,
        "bound": weighter.lower_bound_,
        "removable": _removed(weighter.discrepancy_uniform_, weighter.discrepancy_),
        "direction": [{"name": str(name), "share": share} for name, share in named],
        "target_varies_more": after.signed[0] >= -after.signed[1],
        "weighter": type(weighter).__name__,
        "kernel": after.kernel,
    }


def _removed(before: float, after: float) -> float | None:
    return None if before == 0.0 else max(1.0 - after / before, 0.0)


def _by_size(values: Any) -> list[float]:
    ends = (
        values
        if values.size <= 2 * EIGENVALUES_KEPT
        else np.r_[values[:EIGENVALUES_KEPT], values[-EIGENVALUES_KEPT:]]
    )
    return ends[np.argsort(-np.abs(ends), kind="stable")].tolist()
