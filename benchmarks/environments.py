"""Environments of peers: one each, made at first use, asked by files, reported.

A peer is asked by a script that runs in its environment as ``python script.py
question.npz answer``: arrays go in, an answer file comes out. What pip installs stands
in requirements/<peer>.txt. `python benchmarks/environments.py` makes all at once.
"""

import fcntl
import os
import resource
import subprocess
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
HOME = HERE.parent / "out" / "peers"
# In the order in which a whole run needs them; alibi-detect takes the longest.
PEERS = ("nannyml", "weights", "evidently", "alibi", "mlflow", "imbalanced", "pymanopt")
# Those whose lists are complete: nothing that they do not name is installed, and what
# fails is left out.
COMPLETE = ("weights",)
TIMEOUT = 900
# Peer -> the versions of its environment, of those that were asked.
ASKED: dict[str, list[str]] = {}
# Peer -> CPU seconds that making its environment took, of those that were made here.
MADE: dict[str, float] = {}


class MissingPeerError(Exception):
    """A peer could not be installed or did not run; the message says why."""


def environment(peer: str) -> Path:
    """Return the interpreter of a peer, making its environment if need be.

    The environment is out/peers/<peer>; another text of its requirements makes it anew.
    """
    with _one_at_a_time(peer):
        python = _made(peer)
    if peer not in ASKED:
        ASKED[peer] = _run([str(python), "-m", "pip", "freeze"]).stdout.splitlines()
    return python


@contextmanager
def _one_at_a_time(peer: str) -> Iterator[None]:
    """Let no other question make the same environment meanwhile."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{peer}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _made(peer: str) -> Path:
    """Return the interpreter of a peer, made anew where its requirements changed."""
    requirements, alone = HERE / "requirements" / f"{peer}.txt", peer in COMPLETE
    home, wanted = HOME / peer, requirements.read_text()
    python = home / "bin" / "python"
    done = home / "installed.txt"
    if not (done.exists() and done.read_text() == wanted):
        print(f"making the environment of {peer} ...", flush=True)
        before = _children()
        venv.create(home, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        install += ["--no-deps"] if alone else []
        ended = _run([*install, "-r", str(requirements)])
        if ended.returncode and not alone:
            raise MissingPeerError(_last_line(ended))
        if ended.returncode:
            for line in wanted.splitlines():
                if line and not line.startswith("#"):
                    _run([*install, line])
        done.write_text(wanted)
        MADE[peer] = _children() - before
    return python


def ask(
    python: Path,
    script: Path,
    read: Callable[[Path], Any],
    arrays: dict[str, Any],
    *,
    words: tuple[str, ...] = (),
    timeout: float = TIMEOUT,
    settings: dict[str, str] | None = None,
) -> Any:
    """Return what a script answers to arrays, read from its file.

    Parameters
    ----------
    python, script : Path
    read : callable
        Gets the answer file.
    arrays : dict
        What the question file holds.
    words : strings
        Arguments before the two files.
    timeout : float
        Seconds after which the peer counts as missing.
    settings : dict
        Variables of its environment.
    """
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.npz"
        np.savez(question, **arrays)
        command = [python, script, *words, question, answer]
        try:
            ended = _run(
                [str(part) for part in command],
                timeout=timeout,
                cwd=folder,
                env=settings or {},
            )
        except subprocess.TimeoutExpired:
            raise MissingPeerError(f"no answer within {timeout:g} s") from None
        if ended.returncode:
            raise MissingPeerError(_last_line(ended))
        return read(answer)


def as_one(questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return several sets of arrays as one, so that one process answers them all."""
    return {
        f"{k}.{name}": array
        for k, arrays in enumerate(questions)
        for name, array in arrays.items()
    }


def apart(question: Path) -> list[dict[str, Any]]:
    """Return the sets of arrays that `as_one` put into a question file."""
    found: dict[str, dict[str, Any]] = {}
    for key, array in np.load(question).items():
        number, name = key.split(".", 1)
        found.setdefault(number, {})[name] = array
    return list(found.values())


def _children() -> float:
    """Return the CPU seconds of the processes that this one has waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    # Some report to their makers that they were used.
    silent = {"DO_NOT_TRACK": "1", "NML_DISABLE_USAGE_LOGGING": "1"}
    environment = {**os.environ, **silent, **how.pop("env", {})}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, **how
    )


def _last_line(ended: subprocess.CompletedProcess[str]) -> str:
    lines = ended.stderr.strip().splitlines() or ["no message"]
    return lines[-1]


if __name__ == "__main__":
    for _peer in PEERS:
        try:
            environment(_peer)
        except MissingPeerError as error:
            print(f"{_peer} is missing: {error}", flush=True)
