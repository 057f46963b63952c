"""The environment of the peers, and how a peer is run in it.

`python benchmarks/weights/peers.py` makes it in out/peers/weights; the questions do so
when they need it. A package that cannot be installed makes its peer "missing", with the
reason; the others go on.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import environments
import numpy as np
from environments import MissingPeerError  # noqa: F401

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"


@dataclass(frozen=True)
class Answer:
    """What a peer found: coefficients of its kernels, its centres, its CPU seconds."""

    seconds: float
    weights: np.ndarray
    coef: np.ndarray | None = None
    centers: np.ndarray | None = None


def environment() -> Path:
    """Return the interpreter of the peers, making their environment if need be."""
    return environments.environment("weights", REQUIREMENTS, alone=True)


def ask(script: str, **arrays: object) -> Answer:
    """Run a peer's script on arrays, in the peers' environment and one thread."""
    return environments.ask(environment(), HERE / script, _read, arrays)


def _read(path: Path) -> Answer:
    with np.load(path) as found:
        return Answer(
            float(found["seconds"]),
            found["weights"],
            found.get("coef"),
            found.get("centers"),
        )


if __name__ == "__main__":
    print(environment())
    sys.exit(0)
