"""A record with every section of a run, made of small tables with mixed columns.

    python tests/report/make_record.py records/complete.json

writes the record of the version at hand; those of earlier versions stay as they are.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoise import KLIEP, Adapted, estimate_performance
from counterpoise.report import Report


def loans(n: int, shift: float, seed: int) -> tuple[pd.DataFrame, Any]:
    """Return applications for loans, and which were paid back late.

    Of one town there are two rows, and some applications came twice.
    """
    random = np.random.default_rng(seed)
    age = np.round(random.normal(40 + 8 * shift, 10, n), 1)
    income = random.lognormal(10 + 0.3 * shift, 0.5, n)
    town = random.choice(
        ["Berlin", "Paris", "Rome"],
        n,
        p=[0.6 - 0.4 * shift, 0.3, 0.1 + 0.4 * shift],
    ).astype(object)
    town[:2] = "Ghosttown"
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        random.integers(0, 300, n) + int(60 * shift), "D"
    )
    table = pd.DataFrame(
        {
            "age": age,
            "income": income,
            "town": town,
            "day": day,
            "owner": random.random(n) < 0.4 + 0.1 * shift,
        }
    )
    table.loc[random.random(n) < 0.05 * (1 + shift), "income"] = np.nan
    curved = ((age - 45) / 10) ** 2 - 1
    late = (curved + random.normal(size=n) > 0).astype(int)
    table.iloc[-7:] = table.iloc[10:17].to_numpy()
    return table, np.where(late == 1, "late", "on time")


def complete() -> Report:
    """Return the record of a fit with calibration and estimates."""
    X, y = loans(700, 0.0, 0)
    target, _ = loans(500, 0.8, 1)
    seen = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["town"]),
    )
    model = Adapted(
        make_pipeline(seen, LogisticRegression()),
        KLIEP(random_state=0),
        guard=True,
        calibration_fraction=0.2,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, X_target=(target,))
        performance = estimate_performance(
            model,
            X,
            y,
            (target,),
            scoring=["neg_log_loss", "accuracy"],
            cv=5,
            random_state=0,
        )
    classes = [
        {"class": str(name), "rows": int(np.sum(y == name))} for name in np.unique(y)
    ]
    files = {
        "source": {"file": "applications.parquet", "sha256": "0123456789abcdef" * 4},
        "target": {"file": "this month.parquet", "sha256": "fedcba9876543210" * 4},
    }
    return Report.from_estimator(
        model,
        performance,
        data={**files, "task": "classification", "classes": classes},
        reproduce={
            "command": "run",
            "command_line": [
                *("counterpoise", "run", "--source", "applications.parquet"),
                *("--label", "paid", "--target", "this month.parquet"),
                *("--out", "again", "--seed", "0"),
            ],
            "options": {"seed": 0},
        },
        notices=["one column was read as dates"],
    )


if __name__ == "__main__":
    complete().save(Path(sys.argv[1]))
