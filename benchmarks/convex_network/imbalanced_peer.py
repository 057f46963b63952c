"""imbalanced-learn's resampling, asked in an environment of its own.

Run in its environment (out/peers/imbalanced) as
``python imbalanced_peer.py question.npz answer.npz``; imported by the question, which
calls `ask`.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# In the environment of the peer the folder above is not on the path.
sys.path.append(str(HERE.parent))

import environments  # noqa: E402
from environments import MissingPeerError  # noqa: E402, F401

SAMPLERS = ("RandomOverSampler", "SMOTE", "RandomUnderSampler")


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
    arrays = {}
    for name, (X, y) in samples.items():
        arrays |= {f"{name}/X": X, f"{name}/y": y}
    python = environments.environment("imbalanced")
    return environments.ask(
        python, Path(__file__), lambda answer: dict(np.load(answer)), arrays
    )


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
