"""The rows on which every library is called, and how a peer is asked about them."""

import json
from pathlib import Path

import environments

from counterpoise.datasets import load_diabetes_shift, make_sinc_shift

HERE = Path(__file__).resolve().parent


def curve():
    """Return a curve with a shift whose ratio is known."""
    return make_sinc_shift(n=500, m=300, mean=0.5, random_state=0)


def patients():
    """Return the trial and the clinic of the demo, as numbers."""
    return load_diabetes_shift()


def asked(peer: str, script: str, **arrays) -> dict:
    """Return what a peer's script answers, as a dict."""
    python = environments.environment(peer)
    return environments.ask(
        python, HERE / script, lambda path: json.loads(path.read_text()), arrays
    )
