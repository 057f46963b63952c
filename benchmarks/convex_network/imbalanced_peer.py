"""imbalanced-learn's resampling, asked in an environment of its own.

Run in the environment that `environment()` makes (out/peers-imbalanced), as
``python imbalanced_peer.py question.npz answer.npz``; imported by the question, which
calls `ask`.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
HOME = HERE.parents[1] / "out" / "peers-imbalanced"
REQUIREMENTS = HERE / "requirements-imbalanced.txt"
TIMEOUT = 900
SAMPLERS = ("RandomOverSampler", "SMOTE", "RandomUnderSampler")


class MissingPeerError(Exception):
    """imbalanced-learn could not be installed or did not run; the message says why."""


def environment() -> Path:
    """Return the interpreter of the peer, making its environment if need be."""
    python = HOME / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = HOME / "installed.txt"
    if done.exists() and done.read_text() == REQUIREMENTS.read_text():
        return python
    print(f"making the environment of imbalanced-learn in {HOME.name} ...", flush=True)
    venv.create(HOME, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
    ended = subprocess.run(install, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise MissingPeerError(ended.stderr.strip().splitlines()[-1])
    done.write_text(REQUIREMENTS.read_text())
    return python


def ask(samples: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return every sample resampled by every sampler.

    Parameters
    ----------
    samples : dict of name to (X, y)

    Returns
    -------
    dict
        "name/sampler/X" and "name/sampler/y".
    """
    with tempfile.TemporaryDirectory() as place:
        question, answer = Path(place) / "question.npz", Path(place) / "answer.npz"
        arrays = {}
        for name, (X, y) in samples.items():
            arrays |= {f"{name}/X": X, f"{name}/y": y}
        np.savez(question, **arrays)
        command = [environment(), Path(__file__), question, answer]
        ended = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no message"]
            raise MissingPeerError(lines[-1])
        return dict(np.load(answer))


def _main(question: str, answer: str) -> None:
    from imblearn import over_sampling, under_sampling

    given = dict(np.load(question))
    names = sorted({key.rpartition("/")[0] for key in given})
    out = {}
    for name in names:
        X, y = given[f"{name}/X"], given[f"{name}/y"]
        for sampler in SAMPLERS:
            kind = getattr(over_sampling, sampler, None) or getattr(
                under_sampling, sampler
            )
            resampled = kind(random_state=0).fit_resample(X, y)
            out[f"{name}/{sampler}/X"], out[f"{name}/{sampler}/y"] = resampled
    np.savez(answer, **out)


if __name__ == "__main__":
    _main(*sys.argv[1:])
