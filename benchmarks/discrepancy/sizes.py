"""How does the cost of a certified gap of 1e-3 grow with the number of rows?

The thesis's artificial domains; posing the problem and the final proof included, each
size in a process of its own.
"""

from math import log

from one_size import measured
from reporting import bar, table

# Source rows, target rows, columns, most CPU seconds.
SIZES = (
    (50, 150, 200, 0.6),
    (100, 300, 200, 0.6),
    (500, 500, 200, None),
    (1000, 1000, 200, None),
    (2000, 2000, 200, 4.0),
    (5000, 5000, 200, None),
    (10_000, 10_000, 200, 60.0),
    (2000, 2000, 50, None),
    (10_000, 10_000, 50, None),
    (50_000, 50_000, 50, 15.0),
)
TOL = 1e-3


def run(quick):
    rows, bars, curves = [], [], {}
    for m, n, N, most in SIZES[:5] if quick else SIZES:
        found = measured("linear", m, n, N, TOL)
        at = found["reached"]
        rows.append(
            [
                f"{m} + {n}",
                N,
                found["uniform"],
                found["objective"],
                at["0.1"],
                at["0.01"],
                found["seconds"],
                found["gap"],
                found["support"],
                found["gigabytes"],
            ]
        )
        curve = curves.setdefault(f"N = {N}", {"rows": [], "seconds": []})
        curve["rows"].append(m + n)
        curve["seconds"].append(found["seconds"])
        bars.append(bar(f"{m} + {n}, N = {N}: certified gap", found["gap"], most=TOL))
        if most is not None:
            seconds = found["seconds"]
            bars.append(bar(f"{m} + {n}, N = {N}: CPU s", seconds, most=most))
        if m == 50_000:
            bars.append(bar("50,000 each: GB", found["gigabytes"], most=1.0))
    header = (
        "rows | N | equal weights | found | s to 1e-1 | s to 1e-2 | s to 1e-3 with "
        "proof | gap | support | GB"
    )
    shown = table("Discrepancy of linear hypotheses, solver auto", header, rows)
    for name, curve in curves.items():
        first, last = (
            (curve["rows"][k], curve["seconds"][k]) for k in (0, len(curve["rows"]) - 1)
        )
        if last[0] > first[0]:
            power = log(last[1] / first[1]) / log(last[0] / first[0])
            print(f"  {name}: CPU s grow as rows^{power:.2f}")
    return {"table": shown, "bars": bars, "curves": curves}
