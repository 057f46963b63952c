"""The page and the pictures of a monitor."""

import numpy as np
import pytest
from report.watched_at_hand import watched
from sklearn.linear_model import LinearRegression

from counterpoise import InvalidInputError, ModelMonitor, Report
from counterpoise.plot import plot_monitor
from counterpoise.report import render


def test_the_page_of_a_watch_has_no_script_and_escapes_what_it_shows():
    page = render(watched())
    assert "<script" not in page.html
    assert "&lt;script&gt;" in page.html
    assert "Alert: the inputs have changed and the measured risk has risen" in page.html
    assert page.html.count("<svg") == 4
    assert "Alerts" in page.text()


def test_without_an_alarm_the_page_says_so():
    calm = watched()
    calm["monitor"]["alerts"] = []
    assert "No alert" in render(calm).text().splitlines()[0]
    calm["monitor"]["history"] = []
    assert "Nothing has been watched yet" in render(calm).text()


def test_a_watch_has_a_record_and_a_picture():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    model = LinearRegression().fit(X, X[:, 0])
    monitor = ModelMonitor(
        model, X=X, y=X[:, 0] + rng.standard_normal(200), random_state=0
    )
    monitor.update(rng.standard_normal((40, 2)), time="2024-01-01")
    record = Report.from_estimator(monitor)
    assert record.monitor["n_looks"] == 1
    assert Report.from_json(record.to_json()) == record
    assert plot_monitor(monitor).get_ylabel() == "mean squared error"
    with pytest.raises(InvalidInputError, match="metric must be one of"):
        plot_monitor(record, metric="mae")


def test_a_chunk_with_a_report_of_its_own_is_linked():
    known = watched()
    known["monitor"]["history"][-2]["report"] = "chunk-0012.html"
    assert 'href="./chunk-0012.html"' in render(known).html
