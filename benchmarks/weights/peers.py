"""The environment of the peers, and how a peer is run in it.

It is out/peers/weights, made when a question needs it. A package that cannot be
installed makes its peer "missing", with the reason; the others go on.
"""

from dataclasses import dataclass
from pathlib import Path

import environments
import numpy as np
from environments import MissingPeerError  # noqa: F401

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """What a peer found: coefficients of its kernels, its centers, its CPU seconds."""

    seconds: float
    weights: np.ndarray
    coef: np.ndarray | None = None
    centers: np.ndarray | None = None


def ask(script: str, **arrays: object) -> Answer:
    """Run a peer's script on arrays, in the peers' environment and one thread."""
    python = environments.environment("weights")
    return environments.ask(python, HERE / script, _read, arrays)


def _read(path: Path) -> Answer:
    with np.load(path) as found:
        return Answer(
            float(found["seconds"]),
            found["weights"],
            found.get("coef"),
            found.get("centers"),
        )
