"""KLIEP of adapt: Frank-Wolfe with open steps, always 2000 of them."""

import no_tensorflow
from peer_clock import answer

no_tensorflow.install()

from adapt.instance_based import KLIEP  # noqa: E402


def fit(question):
    """Return weights, coefficients and centers."""
    kliep = KLIEP(
        gamma=float(0.5 / question["sigma"] ** 2),
        max_centers=int(question["n_centers"]),
        verbose=0,
        random_state=0,
    )
    weights = kliep.fit_weights(question["source"], question["target"])
    return weights, kliep.alphas_, kliep.centers_


answer(fit)
