"""The same changes beside NannyML and alibi-detect, at the same rate of false alarms.

Their thresholds are set on streams without a change, so that one in twenty has an alert
in all its chunks: NannyML's largest Jensen-Shannon distance of a column, and the
statistic of alibi-detect's online MMD. It takes half a millisecond a row, so that its
calm streams are a tenth as long as ours (a twentieth with --quick): its limit is the
lower for it, in its favor. It is asked after every row, and counted from the chunk's
end as ours is.
"""

import numpy as np
import peers
from delay import NEVER, rows_until_inputs
from reporting import bar, left_out, table
from streams import question, rows

ROWS, CHUNKS, REFERENCE, SHARE = 500, 200, 5_000, 0.05
SHIFTS, WINDOW, LONGEST = (0.5, 0.25), 50, 3_000


def nannyml(seeds: range, shift: float, chunks: int) -> list[dict]:
    """Return what NannyML measures of every chunk of streams that have changed."""
    questions = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        reference = rows(rng, REFERENCE)
        stream, _ = rows(rng, chunks * ROWS, shift=shift)
        questions.append(question(reference, stream, ROWS))
    return peers.ask_all("nannyml", questions)


def alibi(seeds: range, calm: int, n_rows: int) -> dict[float, list]:
    """Return by shift after how many rows online MMD finds the change of each stream.

    The window is of 50 rows, which must be chosen before; a larger one finds the
    smaller change sooner, and the larger later.
    """
    rng = np.random.default_rng(seeds[0])
    X, _ = rows(rng, REFERENCE)
    shifts = [shift for shift in SHIFTS for _ in seeds]
    streams = [rows(rng, LONGEST, shift=shift)[0] for shift in shifts]
    quiet = [rows(rng, n_rows)[0] for _ in range(calm)]
    given = {"streams": np.stack(streams), "calm": np.stack(quiet)}
    told = peers.ask("alibi", X=X, window=WINDOW, share=SHARE, **given)
    found: dict[float, list] = {shift: [] for shift in SHIFTS}
    for shift, after in zip(shifts, told["after"], strict=True):
        found[shift].append(NEVER if after is None else ROWS * -(-after // ROWS))
    return found


def run(quick: bool) -> dict:
    """Return median delays in rows, ours beside theirs."""
    n, calm = (3, 3) if quick else (15, 20)
    told, bars = [], []
    try:
        before = nannyml(range(1_000, 1_000 + calm), 0.0, CHUNKS)
        highest = [max(one["largest"]) for one in before]
        limit = float(np.quantile(highest, 1 - SHARE))
    except peers.MissingPeerError as error:
        left_out(f"NannyML is missing: {error}")
        limit = float("nan")
    try:
        online = alibi(range(n), calm, CHUNKS * ROWS // (20 if quick else 10))
    except peers.MissingPeerError as error:
        left_out(f"alibi-detect is missing: {error}")
        online = {}
    for shift in SHIFTS:
        ours = [rows_until_inputs(shift, 500 + s, 0) for s in range(n)]
        theirs = []
        for one in nannyml(range(n), shift, 20) if np.isfinite(limit) else ():
            values = np.array(one["largest"])
            above = np.flatnonzero(values > limit)
            theirs.append((above[0] + 1) * ROWS if above.size else NEVER)
        mmd = online.get(shift, [])
        medians = [
            float(np.median(one)) if one else np.nan for one in (ours, theirs, mmd)
        ]
        told.append((f"a column by {shift} sd", *medians))
        for name, found, median in (
            ("NannyML's", theirs, medians[1]),
            ("online MMD's", mmd, medians[2]),
        ):
            if found:
                bars.append(
                    bar(f"rows, {shift} sd, against {name}", medians[0], median)
                )
    header = "change | ours | NannyML's drift | online MMD"
    return {"bars": bars, "table": table("median rows until found", header, told)}
