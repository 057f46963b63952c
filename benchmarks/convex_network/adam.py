"""Adam on a network's mean squares, as published: rate 0.005, 1500 whole passes."""

import numpy as np

from counterpoise.optim.dc_network.network import Network, NetworkObjective, Sigmoid


def trained(X, y, weights, rng, hidden=(6, 6), rate=0.005, passes=1500):
    """Return a function of rows: the outputs of a network from He's start."""
    mean, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
    network = Network((X.shape[1], *hidden, 1), Sigmoid())
    share = weights / weights.sum()
    scaled = (X - mean) / spread
    f = NetworkObjective(network, scaled, y[:, None].astype(float), share, 0.0)
    sizes = zip(network.sizes[:-1], network.sizes[1:], strict=True)
    x = network.pack(
        [(rng.normal(size=(a, b)) * np.sqrt(2 / a), np.zeros(b)) for a, b in sizes]
    )
    first, second = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, passes + 1):
        g = f.gradient(x)
        first = 0.9 * first + 0.1 * g
        second = 0.999 * second + 0.001 * g * g
        size = np.sqrt(second / (1 - 0.999**t)) + 1e-8
        x = x - rate * first / (1 - 0.9**t) / size
    return lambda rows: network.outputs(x, (rows - mean) / spread)[:, 0]
