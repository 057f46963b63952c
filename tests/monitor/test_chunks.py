"""How a table is cut by calendar, count or column."""

import numpy as np
import pandas as pd
import pytest

from counterpoise import InvalidInputError
from counterpoise.monitor.chunks import cut
from counterpoise.monitor.state import as_time, is_before


@pytest.mark.parametrize("every", ["hour", "day", "week", "month", "year"])
def test_the_calendar_is_that_of_pandas(every):
    when = pd.date_range("2023-12-28 22:15", periods=400, freq="7h")
    unit = {"hour": "h", "day": "D", "week": "W", "month": "M", "year": "Y"}[every]
    begin = when.to_period(unit).start_time
    chunks, _ = cut(when.to_numpy(), every)
    told = np.empty(400, dtype=object)
    for chunk in chunks:
        told[chunk.rows] = chunk.time
    expected = [
        str(np.datetime64(one, "h" if every == "hour" else "D")) for one in begin
    ]
    length = {"month": 7, "year": 4}.get(every, 13)
    assert [one[:length] for one in expected] == list(told)


def test_rows_are_in_the_order_of_time_and_gaps_are_said():
    chunks, said = cut(
        ["2024-01-20", "2024-01-02T10:00:00+02:00", None, "2024-01-01"], "week"
    )
    assert [chunk.rows.tolist() for chunk in chunks] == [[3, 1], [0]]
    assert said == [
        "1 rows have no time and are in no chunk",
        "1 weeks between the first and the last have no rows",
    ]


def test_a_count_and_a_column():
    chunks, _ = cut([5, 1, 4, 2, 3], 2)
    assert [(c.time, c.rows.tolist()) for c in chunks] == [
        ("1", [1, 3]), ("3", [4, 2]), ("5", [0]),
    ]  # fmt: skip
    chunks, _ = cut(["b", "a", "b"], "value")
    assert [(c.time, c.rows.tolist()) for c in chunks] == [("b", [0, 2]), ("a", [1])]


def test_what_cannot_be_cut_is_refused():
    for every in ("fortnight", 0):
        with pytest.raises(InvalidInputError):
            cut(["2024-01-01"], every)
    with pytest.raises(InvalidInputError, match="row 1"):
        cut(["2024-01-01", "soon"], "day")


def test_times_are_plain_and_ordered():
    assert as_time(pd.Timestamp("2024-01-02"), None) == "2024-01-02T00:00:00"
    assert as_time(np.int64(3), None) == 3
    assert is_before("2024-01-01", "2024-01-02")
    assert not is_before(3, "2024")
