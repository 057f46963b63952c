"""How long does every solver take to a certified gap of 1e-1, 1e-2 and 1e-3?

The thesis's artificial domains in 200 columns, m : n = 1 : 3 up to 400 rows and 1 : 1
beyond. Each solver runs in a process of its own with a limit of CPU seconds and of
memory; where it ends before the last gap the cell says how far it came. Clarabel and
SCS are called through cvxpy (its own work included), on two cones of order N, and
judged by the same certificate; SCS with tolerances 1e-2, 1e-3, ... one after the other.
"""

from one_solver import GAPS, in_words, measured
from reporting import bar, table

SIZES = ((12, 38), (25, 75), (50, 150), (100, 300), (500, 500), (1000, 1000))
OURS = ("auto", "interior point", "column generation", "subspace")
PUBLISHED = (
    "smoothing",
    "smoothing, p = 16",
    "mmw best",
    "mmw list",
    "subgradient",
    "polyak",
    "frobenius",
    "sdp",
)
GENERAL = ("Clarabel", "SCS")
SECONDS = {"ours": 30.0, "published": 10.0, "general": 30.0}
GIGABYTES = 3.0


def run(quick):
    """Measure every solver at every size."""
    sizes = SIZES[1:2] if quick else SIZES
    shorter = 0.2 if quick else 1.0
    limits = (
        [(name, SECONDS["ours"]) for name in OURS]
        + [(name, SECONDS["published"]) for name in PUBLISHED]
        + [(name, SECONDS["general"]) for name in GENERAL]
    )
    found = {}
    for m, n in sizes:
        for name, seconds in limits:
            found[name, m, n] = measured(
                name, m, n, seconds=shorter * seconds, gigabytes=GIGABYTES
            )
            print(f"  {m} + {n}, {name}: {in_words(found[name, m, n])}", flush=True)
    rows = [
        [name, *(in_words(found[name, m, n]) for m, n in sizes)] for name, _ in limits
    ]
    header = " | ".join(["solver", *(f"{m} + {n}" for m, n in sizes)])
    title = f"CPU s to a certified gap of {'/'.join(f'{gap:g}' for gap in GAPS)}"
    shown = table(title, header, rows)
    bars = [_fastest(found, m, n, limits) for m, n in sizes if m + n >= 100]
    if not quick:  # a short limit hides the ratio
        slow = found["SCS", 50, 150]["reached"].get(1e-1, shorter * SECONDS["general"])
        ratio = slow / found["auto", 50, 150]["reached"][1e-1]
        bars.append(bar("50 + 150: SCS / auto to 1e-1", ratio, least=100))
    bars.append(_in_order(found, sizes, limits))
    answer = {f"{name}, {m} + {n}": found[name, m, n] for name, m, n in found}
    return {"tables": [shown], "bars": bars, "found": answer}


def _fastest(found, m, n, limits):
    """Say how much slower than the best of the others "auto" is to the last gap."""
    gap = GAPS[-1]
    others = [
        found[name, m, n]["reached"][gap]
        for name, _ in limits
        if name not in OURS and gap in found[name, m, n]["reached"]
    ]
    mine = found["auto", m, n]["reached"].get(gap, float("inf"))
    return bar(
        f"{m} + {n}: auto / the fastest other to {gap:g}",
        mine / min(others, default=float("inf")),
        most=1.0,
    )


def _in_order(found, sizes, limits):
    """Count pairs of solvers whose bounds contradict each other."""
    out = 0
    for m, n in sizes:
        proofs = [found[name, m, n] for name, _ in limits]
        proofs = [proof for proof in proofs if proof["objective"] is not None]
        lowest = min(proof["objective"] for proof in proofs)
        out += sum(proof["bound"] > lowest * (1 + 1e-7) for proof in proofs)
    return bar("bounds above somebody's value", out, most=0)
