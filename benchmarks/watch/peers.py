"""NannyML and alibi-detect over chunks, each asked in an environment of its own.

Run there as ``python peers.py <peer> questions.npz answers.json``; imported by the
questions, which call `ask` and `ask_all`.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# In the environment of a peer the folder above is not on the path.
sys.path.append(str(HERE.parent))

import environments  # noqa: E402
from environments import MissingPeerError  # noqa: E402, F401

TIMEOUT = 3_600


def ask(peer: str, **arrays) -> dict:
    """Return a peer's answer to arrays."""
    return ask_all(peer, [arrays])[0]


def ask_all(peer: str, questions: list[dict]) -> list[dict]:
    """Return a peer's answers to several sets of arrays, from one process."""
    return environments.ask(
        environments.environment(peer),
        Path(__file__),
        lambda answer: json.loads(answer.read_text()),
        environments.as_one(questions),
        words=(peer,),
        timeout=TIMEOUT,
    )


def _nannyml(given: dict) -> dict:
    """Return alerts and estimates of every chunk, by the default thresholds.

    `X`, `y`, `predicted` and, of classifiers, `probability` of the reference; the same
    with "_stream", and `chunk` of every row of the stream.
    """
    import nannyml as nml
    import pandas as pd

    names = [f"x{k}" for k in range(given["X"].shape[1])]

    def table(suffix):
        frame = pd.DataFrame(given[f"X{suffix}"], columns=names)
        frame["predicted"] = given[f"predicted{suffix}"]
        if f"probability{suffix}" in given:
            frame["probability"] = given[f"probability{suffix}"]
        return frame

    reference, stream = table(""), table("_stream")
    reference["label"] = given["y"]
    found = {"drift": [], "largest": [], "estimate": [], "estimate_alert": []}
    sizes = np.bincount(given["chunk"])
    size = int(sizes[0])
    alike = bool((sizes[:-1] == size).all())
    drift = nml.UnivariateDriftCalculator(column_names=names, chunk_size=size)
    if alike:
        frame = drift.fit(reference).calculate(stream).filter(period="analysis").to_df()
        alerts = [column for column in frame.columns if column[-1] == "alert"]
        found["drift"] = [bool(one) for one in frame[alerts].any(axis=1)]
        values = [column for column in frame.columns if column[-1] == "value"]
        found["largest"] = [float(one) for one in frame[values].max(axis=1)]
    common = {"y_true": "label", "y_pred": "predicted"}
    if "probability" in given:
        name = "accuracy"
        common |= {"y_pred_proba": "probability", "metrics": [name]}
        common |= {"problem_type": "classification_binary"}
        kind = nml.CBPE
    else:
        name = "mae"
        common |= {"feature_column_names": names, "metrics": [name]}
        kind = nml.DLE
    fitted = kind(**common, chunk_size=size).fit(reference)
    parts = [stream] if alike else [
        stream[given["chunk"] == k] for k in range(len(sizes))
    ]  # fmt: skip
    for part in parts:
        part = part.reset_index(drop=True)
        if not alike:
            # One chunk each: those of a calendar differ in size.
            fitted = kind(**common, chunk_number=1).fit(reference)
        frame = fitted.estimate(part).filter(period="analysis").to_df()
        found["estimate"] += [float(v) for v in frame[(name, "value")]]
        found["estimate_alert"] += [bool(v) for v in frame[(name, "alert")]]
    return found


def _alibi(given: dict) -> dict:
    """Return the largest online MMD of calm streams, and when others exceed a limit.

    Its own thresholds come from bootstraps that must be many times the expected run to
    a false alarm: millions, for a false alarm in twenty streams. So its statistic is
    taken, and the limit is set by streams without a change, as NannyML's is.
    """
    from alibi_detect.cd import MMDDriftOnline

    detector = MMDDriftOnline(
        given["X"].astype(np.float32),
        ert=float(4 * given["window"]),
        window_size=int(given["window"]),
        backend="pytorch",
        n_bootstraps=400,
        verbose=False,
    )

    def statistics(stream):
        detector.reset_state()
        for x in stream.astype(np.float32):
            yield float(detector.predict(x)["data"]["test_stat"])

    highest = [max(statistics(stream)) for stream in given["calm"]]
    limit = float(np.quantile(highest, 1 - float(given["share"])))
    after = []
    for stream in given["streams"]:
        values = enumerate(statistics(stream), 1)
        after.append(next((row for row, one in values if one > limit), None))
    return {"highest": highest, "limit": limit, "after": after}


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore")
    peer, asked, answers = sys.argv[1:]
    answer = {"nannyml": _nannyml, "alibi": _alibi}[peer]
    told = [answer(given) for given in environments.apart(Path(asked))]
    Path(answers).write_text(json.dumps(told))
