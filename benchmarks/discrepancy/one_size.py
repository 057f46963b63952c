"""One size in a process of its own, so that its memory is its own.

`python one_size.py linear m n N tol` or `python one_size.py gaussian q N tol` prints a
JSON line: CPU seconds to each gap and of the whole with proofs, the peak of memory.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

import json  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

GAPS = (1e-1, 1e-2, 1e-3)
# Up to so many points the upper bound is confirmed by a full eigenvalue computation.
CONFIRMED = 4000


def measured(kind, *sizes):
    """Run a size in a fresh process and return what it found."""
    command = [sys.executable, __file__, kind, *(str(size) for size in sizes)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


def linear(m, n, N, tol):
    """The artificial domains, features as they are."""
    from domains import artificial_domains

    from counterpoise.optim import Discrepancy

    X, T = artificial_domains(int(m), int(n), int(N))
    return _timed(lambda: Discrepancy.of(X, T), tol)


def gaussian(q, N, tol):
    """The same domains through a Gaussian kernel, 1 / gamma the median of squares."""
    import numpy as np
    from domains import artificial_domains

    from counterpoise.linalg.kernels import Kernel, median_distance, store_kernel_matrix
    from counterpoise.optim import KernelDiscrepancy

    m, n = int(q) // 2, int(q) - int(q) // 2
    both = np.vstack(artificial_domains(m, n, int(N)))
    gamma = 1.0 / median_distance(both) ** 2
    share = np.full(n, 1.0 / n)
    return _timed(
        lambda: KernelDiscrepancy(
            store_kernel_matrix(Kernel("rbf", gamma).entries(both)), share
        ),
        tol,
    )


def _timed(pose, tol):
    from counterpoise.optim import solve
    from counterpoise.optim.spectral.choice import best_solver

    began = time.process_time()
    reached = {}
    problem = pose()
    least = 0.01 * problem.uniform_value

    def watch(progress):
        bound = progress.objective - progress.gap
        for gap in GAPS:
            if gap not in reached and progress.gap <= gap * max(bound, least):
                reached[gap] = time.process_time() - began

    solution = solve(problem, best_solver(problem), tol=tol, callback=watch)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    proof = solution.certificate
    found = {
        "reached": {str(gap): reached.get(gap) for gap in GAPS},
        "seconds": spent,
        "gap": proof.gap / proof.scale,
        "objective": proof.objective,
        "bound": proof.bound,
        "uniform": problem.uniform_value,
        "steps": solution.n_iter,
        "support": int((solution.x > 0).sum()),
        "gigabytes": 1.024e-6 * peak,
        "exact": None,
    }
    kernel = getattr(problem, "kernel", None)
    if kernel is not None and kernel.size <= CONFIRMED:
        found["exact"] = problem.exact_norm(problem.inside(solution.x))
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    kind, *sizes = sys.argv[1:]
    run = {"linear": linear, "gaussian": gaussian}[kind]
    print(json.dumps(run(*(float(size) for size in sizes))))
