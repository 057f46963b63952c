"""KLIEP of densratio: projected gradient with fixed lengths."""

import numpy as np
from densratio import densratio
from peer_clock import answer


def fit(question):
    """Return weights, coefficients and centers."""
    np.random.seed(0)  # noqa: NPY002 - the package draws from the global generator
    found = densratio(
        question["target"],
        question["source"],
        method="KLIEP",
        sigma=float(question["sigma"]),
        kernel_num=int(question["n_centers"]),
        verbose=False,
    )
    weights = found.compute_density_ratio(question["source"])
    return weights, found.theta, found.kernel_info.centers


answer(fit)
