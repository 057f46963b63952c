"""pymanopt's answers from given starts, asked in an environment of its own.

Run in its environment (out/peers/pymanopt) as
``python pymanopt_peer.py question.npz answer.npz``; imported by the questions, which
call `ask`.
"""

import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# In the environment of the peer the folder above is not on the path.
sys.path.append(str(HERE.parent))

import environments  # noqa: E402
from environments import MissingPeerError  # noqa: E402, F401


def ask(questions: list[dict[str, np.ndarray]]) -> list[tuple[np.ndarray, float]]:
    """Return the frames that pymanopt ends at, and its CPU seconds.

    A question has `start`, and either `M` and `N` (a quadratic and a linear term, by
    trust regions) or `V` (the least squared length of the rows of V in the frame, to be
    made large: softmins by conjugate gradients).
    """
    flat = {
        f"{k}/{name}": array
        for k, one in enumerate(questions)
        for name, array in one.items()
    }
    python = environments.environment("pymanopt")
    found = environments.ask(
        python, Path(__file__), lambda answer: dict(np.load(answer)), flat
    )
    return [
        (found[f"{k}/P"], float(found[f"{k}/seconds"])) for k in range(len(questions))
    ]


def _main(question: str, answer: str) -> None:
    with np.load(question) as given:
        count = 1 + max(int(name.split("/")[0]) for name in given)
        out = {}
        for k in range(count):
            own = {
                name.split("/")[1]: given[name]
                for name in given
                if name.split("/")[0] == str(k)
            }
            began = time.process_time()
            P = _worst(**own) if "V" in own else _smooth(**own)
            out[f"{k}/P"] = P
            out[f"{k}/seconds"] = time.process_time() - began
    np.savez(answer, **out)


def _smooth(M: np.ndarray, N: np.ndarray, start: np.ndarray) -> np.ndarray:
    import pymanopt
    from pymanopt.manifolds import Stiefel
    from pymanopt.optimizers import TrustRegions

    manifold = Stiefel(*start.shape)

    @pymanopt.function.numpy(manifold)
    def cost(P):
        return np.sum(P * (M @ P)) + np.sum(N * P)

    @pymanopt.function.numpy(manifold)
    def gradient(P):
        return 2.0 * M @ P + N

    @pymanopt.function.numpy(manifold)
    def hessian(P, D):
        return 2.0 * M @ D

    problem = pymanopt.Problem(
        manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    optimizer = TrustRegions(verbosity=0, max_iterations=500, min_gradient_norm=1e-8)
    return optimizer.run(problem, initial_point=start).point


def _worst(V: np.ndarray, start: np.ndarray) -> np.ndarray:
    import pymanopt
    from pymanopt.manifolds import Stiefel
    from pymanopt.optimizers import ConjugateGradient

    manifold, P = Stiefel(*start.shape), start
    unit = float(((V @ P) ** 2).sum(axis=1).mean())
    for tau in (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0):
        sharp = tau / unit

        @pymanopt.function.numpy(manifold)
        def cost(P, sharp=sharp):
            z = -sharp * ((V @ P) ** 2).sum(axis=1)
            return (z.max() + np.log(np.exp(z - z.max()).sum())) / sharp

        @pymanopt.function.numpy(manifold)
        def gradient(P, sharp=sharp):
            image = V @ P
            z = -sharp * (image**2).sum(axis=1)
            w = np.exp(z - z.max())
            return -2.0 * (V.T * (w / w.sum())) @ image

        problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
        optimizer = ConjugateGradient(verbosity=0, max_iterations=80)
        P = optimizer.run(problem, initial_point=P).point
    return P


if __name__ == "__main__":
    _main(*sys.argv[1:])
