"""The environment of the peers, and how a peer is run in it.

`python benchmarks/weights/peers.py` makes it in out/peers; the questions do so when
they need it. A package that cannot be installed makes its peer "missing", with the
reason; the others go on.
"""

import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
HOME = HERE.parents[1] / "out" / "peers"
REQUIREMENTS = HERE / "requirements.txt"
TIMEOUT = 900


@dataclass(frozen=True)
class Answer:
    """What a peer found: coefficients of its kernels, its centres, its CPU seconds."""

    seconds: float
    weights: np.ndarray
    coef: np.ndarray | None = None
    centers: np.ndarray | None = None


class MissingPeerError(Exception):
    """A peer could not be installed or did not run; the message says why."""


def environment() -> Path:
    """Return the interpreter of the peers, making their environment if need be."""
    python = HOME / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = HOME / "installed.txt"
    if done.exists() and done.read_text() == REQUIREMENTS.read_text():
        return python
    print(f"making the environment of the peers in {HOME} ...", flush=True)
    venv.create(HOME, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
    if subprocess.run([*install, "-r", str(REQUIREMENTS)], check=False).returncode:
        for line in REQUIREMENTS.read_text().splitlines():
            if line and not line.startswith("#"):
                subprocess.run([*install, line], check=False)
    done.write_text(REQUIREMENTS.read_text())
    return python


def ask(script: str, **arrays: object) -> Answer:
    """Run a peer's script on arrays, in the peers' environment and one thread."""
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.npz"
        np.savez(question, **arrays)
        command = [environment(), HERE / script, question, answer]
        try:
            ended = subprocess.run(
                [str(part) for part in command],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise MissingPeerError(f"no answer within {TIMEOUT} s") from None
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no message"]
            raise MissingPeerError(lines[-1])
        with np.load(answer) as found:
            return Answer(
                float(found["seconds"]),
                found["weights"],
                found.get("coef"),
                found.get("centers"),
            )


if __name__ == "__main__":
    print(environment())
    sys.exit(0)
