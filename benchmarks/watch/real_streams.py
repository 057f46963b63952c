"""Four real streams by month (noaa_weather by year): estimated against realized.

The first 30 % of the rows teach the model, the next 20 % are the reference, the rest is
the stream. Errors are in units of the reference's own value. "inside" is the share of
chunks whose realized value the interval holds: where labels of the chunks before have
come, and where none ever does.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import peers
from reporting import bar, left_out, table
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from counterpoise import ModelMonitor

NAMES = ("electricity", "air_quality", "bike_sharing", "noaa_weather")


def read(name: str):
    """Return rows, labels and the chunk's name of each row, in the order of time."""
    if "COUNTERPOISE_DATA" not in os.environ:
        raise SystemExit("COUNTERPOISE_DATA must name the folder with the data sets")
    folder = Path(os.environ["COUNTERPOISE_DATA"]) / name
    if name == "electricity":
        data = pd.read_csv(folder / "elec2.csv.gz")
        month = np.arange(len(data)) // (48 * 30)
        return data.drop(columns=["date", "nswprice", "up"]), data["up"], month
    if name == "noaa_weather":
        data = pd.read_csv(folder / "noaa_weather.csv.gz")
        return data.drop(columns="rain"), data["rain"], np.arange(len(data)) // 365
    if name == "bike_sharing":
        data = pd.read_csv(folder / "hour.csv.gz")
        kept = ["season", "hr", "holiday", "weekday", "workingday", "weathersit"]
        kept += ["temp", "atemp", "hum", "windspeed"]
        return data[kept], data["cnt"], data["dteday"].str[:7].to_numpy()
    data = pd.read_csv(folder / "air_quality.csv.gz")
    data = data[data["CO_GT"].notna() & data["PT08_S1_CO"].notna()]
    kept = [c for c in data.columns if c.startswith("PT08")] + ["T", "RH", "AH"]
    return data[kept], data["CO_GT"], data["datetime"].str[:7].to_numpy()


def one(name: str) -> dict:
    """Return the errors of both over a stream, and our intervals' coverage."""
    X, y, chunk = read(name)
    X, y = X.reset_index(drop=True), y.to_numpy()
    classes = name in ("electricity", "noaa_weather")
    first, second = int(0.3 * len(X)), int(0.5 * len(X))
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(random_state=0).fit(X[:first], y[:first])
    metric = "accuracy" if classes else "neg_mean_absolute_error"
    reference = {"X": X[first:second], "y": y[first:second], "metrics": metric}
    monitor = ModelMonitor(model, **reference, random_state=0)
    blind = ModelMonitor(model, **reference, random_state=0)
    stream = np.arange(second, len(X))
    sizes = pd.Series(chunk[stream]).value_counts(sort=False)
    whole = [c for c in sizes.index if sizes[c] >= 0.5 * sizes.median()]
    for c in whole:
        rows = stream[chunk[stream] == c]
        part = X.iloc[rows].reset_index(drop=True)
        monitor.update(part, y=y[rows], time=str(c))
        blind.update(part, time=str(c))
    history = pd.DataFrame(monitor.history_)
    truth, ours = history["realized"].to_numpy(), history["estimated"].to_numpy()
    scale = abs(monitor.to_dict()["reference"][metric])
    rows = np.concatenate([stream[chunk[stream] == c] for c in whole])
    number = np.concatenate(
        [np.full((chunk[stream] == c).sum(), k) for k, c in enumerate(whole)]
    )
    more = {}
    if classes:
        more = {
            "probability": model.predict_proba(X[first:second])[:, 1],
            "probability_stream": model.predict_proba(X.iloc[rows])[:, 1],
        }
    try:
        told = peers.ask(
            "nannyml",
            X=X[first:second].to_numpy(float),
            y=y[first:second],
            predicted=model.predict(X[first:second]),
            X_stream=X.iloc[rows].to_numpy(float),
            predicted_stream=model.predict(X.iloc[rows]),
            chunk=number,
            **more,
        )["estimate"]
        theirs = float(np.abs(np.array(told) - truth).mean() / scale)
    except peers.MissingPeerError as error:
        left_out(f"NannyML is missing: {error}")
        theirs = float("nan")
    return {
        "chunks": len(whole),
        "ours": float(np.abs(ours - truth).mean() / scale),
        "nannyml": theirs,
        "reference": float(np.abs(truth - history["reference"]).mean() / scale),
        "inside": _inside(history, truth),
        "inside_blind": _inside(pd.DataFrame(blind.history_), truth),
        "alerts": [f"{a.kind} at {a.time}" for a in monitor.alerts_],
    }


def _inside(history, truth) -> float:
    """Return the share of chunks whose interval holds the truth."""
    held = (history["estimated_low"] <= truth) & (truth <= history["estimated_high"])
    return float(held.mean())


def run(quick: bool) -> dict:
    """Return mean absolute errors by stream."""
    found = {name: one(name) for name in (NAMES[1:2] if quick else NAMES)}
    header = "stream | chunks | ours | NannyML | reference's value"
    header += " | inside | inside, no labels | alerts"
    keys = ("chunks", "ours", "nannyml", "reference", "inside", "inside_blind")
    told = table(
        "mean absolute error of the estimate, in units of the reference's value",
        header,
        [
            (name, *(one[key] for key in keys), "; ".join(one["alerts"]))
            for name, one in found.items()
        ],
    )
    ours = float(np.mean([one["ours"] for one in found.values()]))
    theirs = float(np.mean([one["nannyml"] for one in found.values()]))
    bars = [bar("mean absolute error against NannyML's, in the mean", ours, theirs)]
    return {"bars": bars, "table": told, "streams": found}
