"""One solver on one problem, in a process of its own with limits.

`python one_solver.py solver m n N seconds gigabytes` writes a JSON line each time a
certified gap is reached, and one at the end; `measured` runs it and reads them. The
limits are the operating system's, so that a solver that does not come back is ended
and one that wants too much memory is told so.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "RAYON"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

import json  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

GAPS = (1e-1, 1e-2, 1e-3)
LEAST_SCALE = 0.01


def measured(solver, m, n, N=200, seconds=20.0, gigabytes=3.0):
    """Return what a solver reached: seconds by gap, its bounds, what ended it."""
    command = [sys.executable, __file__, solver, m, n, N, seconds, gigabytes]
    ended = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    found = {"reached": {}, "objective": None, "bound": None, "gap": None}
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        if "gap_below" in said:
            found["reached"][said["gap_below"]] = said["seconds"]
        found |= {k: said[k] for k in said if k not in ("gap_below", "seconds")}
        found["seconds"] = said["seconds"]
    if "ended" not in found:
        said = ended.stderr.strip()
        if "alloc" in said or "Memory" in said or "memory" in said:
            found["ended"] = f"memory limit of {gigabytes:g} GB"
        elif -ended.returncode in (9, 24):  # SIGKILL, SIGXCPU
            found["ended"] = f"time limit of {seconds:g} s"
        else:
            found["ended"] = (said.splitlines() or [f"code {ended.returncode}"])[-1]
    return found


def in_words(found):
    """Return the seconds to each gap, or what is there instead."""
    if found["gap"] is None:
        return found["ended"].split(":")[0]
    reached = found["reached"]
    told = "/".join(f"{reached[g]:.2g}" if g in reached else "-" for g in GAPS)
    if len(reached) < len(GAPS):
        told += f" (gap {found['gap']:.2g} at {found['seconds']:.2g} s)"
    return told


class Clock:
    """Says when a gap is reached, in CPU seconds since it was started."""

    def __init__(self, uniform_value):
        self.least = LEAST_SCALE * uniform_value
        self.waiting = list(GAPS)
        self.began = time.process_time()

    def seconds(self):
        return time.process_time() - self.began

    def tell(self, objective, bound):
        relative = (objective - bound) / max(bound, self.least)
        told = {"objective": objective, "bound": bound, "gap": relative}
        while self.waiting and relative <= self.waiting[0]:
            gap = self.waiting.pop(0)
            _say(gap_below=gap, seconds=self.seconds(), **told)
        return told


def _say(**what):
    print(json.dumps(what), flush=True)


def ours(name, problem, seconds):
    """Run a solver of the library until the last gap or the end of its time."""
    from counterpoise.optim import solve

    solver, clock = _solver(name, problem), Clock(problem.uniform_value)

    def watch(progress):
        clock.tell(progress.objective, progress.objective - progress.gap)
        return clock.seconds() > seconds

    try:
        found = solve(problem, solver, tol=GAPS[-1], max_iter=10**9, callback=watch)
    except ValueError as refusal:
        _say(ended=f"refused: {refusal}", seconds=clock.seconds())
        return
    spent, proof = clock.seconds(), found.certificate
    told = clock.tell(proof.objective, proof.bound)
    _say(ended=found.ended, seconds=spent, **told)


def _solver(name, problem):
    from counterpoise.optim import spectral as of

    if name == "auto":
        return of.best_solver(problem)
    return {
        "interior point": of.RankOneInteriorPoint,
        "column generation": of.ColumnGeneration,
        "subspace": of.FeatureSubspace,
        "sdp": of.DiscrepancySDP,
        "smoothing": of.Smoothing,
        "smoothing, p = 16": lambda: of.Smoothing(power=16),
        "mmw best": of.MultiplicativeWeights,
        "mmw list": lambda: of.MultiplicativeWeights("list"),
        "subgradient": of.SpectralSubgradient,
        "polyak": lambda: of.SpectralSubgradient("polyak"),
        "frobenius": of.Frobenius,
    }[name]()


def theirs(name, problem, seconds):
    """Run Clarabel once, or SCS with ever smaller tolerances, through cvxpy."""
    import cvxpy as cp
    import numpy as np

    m, N = problem.rows.shape
    unit = problem.uniform_value
    clock = Clock(unit)
    z, t = cp.Variable(m, nonneg=True), cp.Variable()
    outer = np.einsum("ij,ik->jki", problem.rows, problem.rows).reshape(N * N, m)
    M = problem.target_moment / unit - cp.reshape(outer / unit @ z, (N, N), order="C")
    M = 0.5 * (M + M.T)
    limits = [t * np.eye(N) - M >> 0, t * np.eye(N) + M >> 0, cp.sum(z) == 1]
    whole = cp.Problem(cp.Minimize(t), limits)
    tries = [{}] if name == "Clarabel" else [{"eps": 10.0**-k} for k in (2, 3, 4, 5, 6)]
    for options in tries:
        left = max(seconds - clock.seconds(), 1.0)
        if name == "Clarabel":
            whole.solve(solver="CLARABEL", time_limit=left)
        else:
            limit = {"time_limit_secs": left, "max_iters": 10**7}
            whole.solve(solver="SCS", **options, **limit)
        if z.value is None:
            break
        spent = clock.seconds()
        Y = limits[0].dual_value - limits[1].dual_value
        value = problem.norm(problem.inside(z.value))
        bound = max(problem.dual_value(Y), problem.dual_value(-Y), 0.0)
        # Proofs are not the solver's time.
        clock.began += clock.seconds() - spent
        told = clock.tell(value, bound)
        if not clock.waiting or clock.seconds() > seconds:
            break
    told = told if z.value is not None else {}
    _say(ended=str(whole.status), seconds=clock.seconds(), **told)


def main(name, m, n, N, seconds, gigabytes):
    from domains import artificial_domains

    from counterpoise.optim import Discrepancy, solve

    most = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    problem = Discrepancy.of(*artificial_domains(m, n, N))
    if name in ("Clarabel", "SCS"):
        run = theirs
    else:
        run = ours
        small = Discrepancy.of(*artificial_domains(9, 9, 5))
        solve(small, _solver(name, small), tol=1e-9, max_iter=3)  # compiled parts
    used = int(time.process_time()) + 1
    # A step that does not come back is ended from outside.
    resource.setrlimit(resource.RLIMIT_CPU, (used + int(1.5 * seconds),) * 2)
    run(name, problem, seconds)


if __name__ == "__main__":
    said = sys.argv[1:]
    main(said[0], *(int(part) for part in said[1:4]), *(float(s) for s in said[4:6]))
