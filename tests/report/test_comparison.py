"""Two records side by side."""

import re

from report.records_at_hand import full, hostile

from counterpoise.report import Report, compare


def test_changes_are_the_second_minus_the_first():
    first, second = full(), full()
    second["shift"]["auc"] = first["shift"]["auc"] + 0.1
    found = compare(Report.from_dict(first), Report.from_dict(second))
    line = next(line for line in found.text().splitlines() if "(AUC)" in line)
    assert line.split()[-3:] == ["0.752", "0.852", "+0.100"]
    same = compare(Report.from_dict(first), Report.from_dict(first)).text()
    line = next(line for line in same.splitlines() if "(AUC)" in line)
    assert line.split()[-1] == "0"


def test_columns_are_matched_by_name_and_sorted_by_change():
    first, second = full(), full()
    moved = second["shift"]["features"][7]
    moved["effect"] += 3.0
    second["shift"]["features"].append({**moved, "name": "new column", "effect": 2.0})
    text = compare(Report.from_dict(first), Report.from_dict(second)).text()
    rows = text.partition("Column by column")[2].splitlines()[2:4]
    assert [row.split("  ")[1] for row in rows] == [moved["name"], "new column"]


def test_records_with_nothing_in_common_can_be_compared():
    empty = Report.from_dict({})
    found = compare(empty, Report.from_dict(full()), names=("a", "b"))
    assert found.text().startswith("a: Nothing was compared")
    assert compare(empty, empty).tables == ()


def test_names_do_not_break_the_page():
    nasty = Report.from_dict(hostile())
    html = compare(nasty, nasty, names=("<script>", "\x00")).html
    assert not re.search(r"<script", html)
    assert "\x00" not in html


def test_records_of_the_same_data_are_compared_without_a_word():
    first = Report.from_dict(full())
    assert compare(first, first).warnings == ()


def test_other_labels_metrics_columns_and_tables_are_told():
    first, second = full(), full()
    first["data"]["columns"] = [{"name": "a"}, {"name": "b"}]
    second["data"]["columns"] = [{"name": "a"}, {"name": "<b>"}]
    for record, mark in ((first, "one"), (second, "other")):
        record.setdefault("reproduce", {}).setdefault("options", {})["label"] = mark
        record["headline"]["metric"] = f"metric {mark}"
        for part in ("source", "target"):
            record["data"].setdefault(part, {})["sha256"] = mark
    found = compare(Report.from_dict(first), Report.from_dict(second))
    assert [one.partition(" (")[0].partition(":")[0] for one in found.warnings] == [
        "the labels differ",
        "the metrics differ",
        "only one of the two has the columns '<b>', 'b'.",
        "the training data are not the same table.",
        "the new data are not the same table.",
    ]
    assert "Note: the training data are not the same table." in found.text()
    assert "'&lt;b&gt;'" in found.html or "&#39;&lt;b&gt;&#39;" in found.html


def test_the_scores_are_those_with_which_the_reports_lead():
    record = full()
    metric = record["headline"]["metric"]
    record["headline"]["value"] = 7.0
    found = compare(Report.from_dict(record), Report.from_dict(record))
    scores = next(table for table in found.tables if table.name == "scores")
    words = [row for row in scores.rows if str(row[0]).endswith("new data")]
    assert metric in record["performance"]["metrics"]
    assert str(words[0][1]) == "7.00"
