"""How large can it get? Time and memory of KLIEP on 10^5 and 10^6 rows.

Each case is a process of its own with one thread; memory is the peak above what the
imports and a small fit took. `python large.py CASE` runs one case.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

# A case runs in a process of its own, which begins here.
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from reporting import bar, table  # noqa: E402

# d, n, centers (None: all target rows), tolerance, most seconds, most megabytes.
CASES = {
    "d1-1e5": (1, 100_000, None, 1e-6, 2, 150),
    "d1-1e6": (1, 1_000_000, None, 1e-6, 60, 1500),
    "d10-1e5-2000": (10, 100_000, 2000, 1e-4, 15, 2000),
    # The solution on 2000 rows near k-means centers, certified against all centers (the
    # first gap) and refined within a budget: the gap reached is what is asked for.
    "d10-1e5-all": (10, 100_000, None, 1e-6, None, 2000),
}
REFINE_SECONDS = 600


def run(quick: bool) -> dict:
    """Run every case in a process of its own."""
    names = list(CASES)[:1] if quick else list(CASES)
    rows, bars = [], []
    for name in names:
        d, n, centers, tol, seconds, megabytes = CASES[name]
        command = [sys.executable, __file__, name]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines()
            print(f"  {name} failed: {lines[-1] if lines else 'no message'}")
            continue
        found = json.loads(ended.stdout.strip().splitlines()[-1])
        numbers = [value for key, value in found.items() if key != "refined"]
        rows.append([name, d, n, centers or "all", tol, *numbers])
        if seconds is not None:
            bars.append(bar(f"{name}: CPU s", found["seconds"], seconds))
            bars.append(bar(f"{name}: relative gap", found["gap"], tol))
        else:
            bars.append(bar(f"{name}: wall s of refining", found["refined"], 660))
        bars.append(bar(f"{name}: MB above the imports", found["megabytes"], megabytes))
    shown = table(
        "KLIEP, whole fits (CPU s, wall s, MB above the imports)",
        "case | d | n | centers | tol | s | wall s | MB | first gap/scale | passes | "
        "gap/scale | support | NMSE",
        rows,
    )
    return {"tables": [shown], "bars": bars}


def _one(name: str) -> dict:
    """Fit one case and return what it took."""
    import resource
    import warnings

    import numpy as np
    from problems import SIGMA, gamma_of, gaussian_pair, nmse

    from counterpoise import KLIEP

    warnings.simplefilter("ignore")

    def peak() -> float:
        # Kilobytes, but bytes on a Mac.
        unit = 1e6 if sys.platform == "darwin" else 1e3
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit

    d, n, centers, tol, seconds, _ = CASES[name]

    def fit(n: int, centers: int | None) -> tuple:
        shift = gaussian_pair(d, n, n, seed=0)
        kliep = KLIEP(
            gamma=gamma_of(SIGMA[d]),
            n_centers=centers,
            standardize=False,
            allow_no_overlap=True,
            tol=tol,
            max_time=REFINE_SECONDS if seconds is None else None,
            random_state=0,
        )
        began, wall = time.process_time(), time.perf_counter()
        kliep.fit(shift.X, X_target=shift.X_target)
        spent = time.process_time() - began, time.perf_counter() - wall
        return shift, kliep, spent

    fit(3500 if d == 1 else 500, None if centers is None else 50)
    before = peak()
    shift, kliep, spent = fit(n, centers)
    proof, history = kliep.solution_.certificate, kliep.solution_.history
    return {
        "seconds": spent[0],
        "wall": spent[1],
        "megabytes": peak() - before,
        "first_gap": history[0].gap / proof.scale,
        "passes": history[-1].counts.get("passes"),
        "gap": proof.gap / proof.scale,
        "support": int(np.count_nonzero(kliep.coef_)),
        "nmse": nmse(kliep.weights_, shift.ratio),
        "refined": kliep.solution_.seconds,
    }


if __name__ == "__main__":
    print(json.dumps(_one(sys.argv[1])))
