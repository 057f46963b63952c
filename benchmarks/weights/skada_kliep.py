"""KLIEP of skada."""

import numpy as np
from peer_clock import answer
from skada import KLIEPReweightAdapter


def fit(question):
    """Return weights, coefficients and centers."""
    source, target = question["source"], question["target"]
    X = np.vstack([source, target])
    domain = np.concatenate([np.ones(len(source)), -np.ones(len(target))])
    kliep = KLIEPReweightAdapter(
        gamma=float(0.5 / question["sigma"] ** 2),
        n_centers=int(question["n_centers"]),
        random_state=0,
    )
    kliep.fit(X, sample_domain=domain)
    weights = kliep.compute_weights(X, sample_domain=domain)
    return weights[: len(source)], kliep.alpha_, kliep.centers_


answer(fit)
