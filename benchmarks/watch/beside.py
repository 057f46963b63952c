"""The same changes beside NannyML and alibi-detect, at the same rate of false alarms.

Their thresholds are set on streams without a change, so that one in twenty has an alarm
in all its chunks: NannyML's largest Jensen-Shannon distance of a column, and CBPE's
estimate. alibi-detect's online MMD takes the expected run to a false alarm, which is
then twenty streams; what it needs for that is reported where it cannot.
"""

import numpy as np
import peers
from delay import NEVER, rows_until_inputs
from reporting import bar, table
from streams import question, rows

ROWS, CHUNKS, REFERENCE, SHARE = 500, 200, 5_000, 0.05


def nannyml(seeds: range, shift: float, chunks: int) -> list[dict]:
    """Return what NannyML measures of every chunk of streams that have changed."""
    questions = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        reference = rows(rng, REFERENCE)
        stream, _ = rows(rng, chunks * ROWS, shift=shift)
        questions.append(question(reference, stream, ROWS))
    return peers.ask_all("nannyml", questions)


def alibi(seeds: range, shift: float, n_rows: int, ert: float) -> list:
    """Return after how many rows online MMD finds a change in each stream."""
    rng = np.random.default_rng(seeds[0])
    X, _ = rows(rng, REFERENCE)
    streams = np.stack([rows(rng, n_rows, shift=shift)[0] for _ in seeds])
    more = {"ert": ert, "window": 50, "n_bootstraps": int(25 * ert)}
    return peers.ask("alibi", X=X, streams=streams, **more)["after"]


def run(quick: bool) -> dict:
    """Return median delays in rows, ours beside theirs."""
    n, calm = (3, 3) if quick else (15, 20)
    told, bars = [], []
    try:
        before = nannyml(range(1_000, 1_000 + calm), 0.0, CHUNKS)
        highest = [max(one["largest"]) for one in before]
        limit = float(np.quantile(highest, 1 - SHARE))
    except peers.MissingPeerError as error:
        print(f"  NannyML is missing: {error}")
        limit = float("nan")
    for shift in (0.5, 0.25):
        ours = [rows_until_inputs(shift, 500 + s, 0) for s in range(n)]
        theirs = []
        for one in nannyml(range(n), shift, 20) if np.isfinite(limit) else ():
            values = np.array(one["largest"])
            above = np.flatnonzero(values > limit)
            theirs.append((above[0] + 1) * ROWS if above.size else NEVER)
        try:
            # A run of 2,000 rows is far below twenty streams: in its favour.
            mmd = [
                NEVER if one is None else one
                for one in alibi(range(n), shift, 5_000, 2_000.0)
            ]
        except peers.MissingPeerError as error:
            print(f"  alibi-detect is missing: {error}")
            mmd = []
        medians = [
            float(np.median(one)) if one else np.nan for one in (ours, theirs, mmd)
        ]
        told.append((f"a column by {shift} sd", *medians))
        if theirs:
            bars.append(
                bar(f"rows, {shift} sd, against NannyML's", medians[0], medians[1])
            )
    header = (
        "change | ours | NannyML's drift | online MMD (one false alarm in 2,000 rows)"
    )
    return {"bars": bars, "table": table("median rows until found", header, told)}
