"""Small tables of mixed columns."""

import numpy as np


def mixed_columns(rng, n, mean, *, label):
    """Numbers, a category, a date and gaps; the label depends on all but the date."""
    age = rng.normal(mean, 1.0, n)
    income = rng.normal(0.5 * age, 1.0)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    day = rng.integers(0, 700, n)
    odds = 1.5 * age - income + 1.0 * (region == "south") + rng.logistic(size=n)
    columns = {
        "age": [f"{value:.6f}" for value in age],
        "income": [
            "" if gap else f"{value:.6f}"
            for gap, value in zip(rng.random(n) < 0.1, income, strict=True)
        ],
        "region": region.tolist(),
        "day": [str(np.datetime64("2022-01-01") + int(k)) for k in day],
    }
    if label:
        columns["bought"] = ["yes" if value > 0 else "no" for value in odds]
    return columns


def write_csv(path, columns, encoding="utf-8"):
    rows = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n", encoding=encoding)
    return path
