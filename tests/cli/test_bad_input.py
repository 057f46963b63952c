"""Bad input: the right code, and one line that names file, line or column."""

import pandas as pd
import pytest


def changed(path, change, **options):
    """Rewrite a table and return its path."""
    frame = change(pd.read_csv(path, dtype=str, keep_default_na=False))
    frame.to_csv(path, index=False, **options)
    return path


def without(name):
    return lambda frame: frame.drop(columns=name)


def with_column(name, values):
    return lambda frame: frame.assign(**{name: values})


def with_cell(name, row, value):
    def change(frame):
        frame.loc[row, name] = value
        return frame

    return change


def job(run, tables, tmp_path, *more):
    source, target = tables
    out = tmp_path / "out"
    code, stdout, err = run(
        *("run", "--source", source, "--target", target, "--label", "bought"),
        *("--out", out, "--quiet", *more),
    )
    assert stdout == ""
    return code, err, out


CASES = {
    "missing label column": (
        "train",
        without("bought"),
        "no column 'bought' (--label)",
    ),
    "target without a source column": (
        "live",
        without("income"),
        "lacks the column 'income' of",
    ),
    "column of the source without a value": (
        "train",
        with_column("income", ""),
        "column 'income' has no value in any row: --drop income",
    ),
    "column of the target without a value": (
        "live",
        with_column("income", ""),
        "column 'income' has no value in any row: --drop income",
    ),
    "label without a value": (
        "train",
        with_column("bought", ""),
        "column 'bought' (the label) has no value",
    ),
    "one-class label": (
        "train",
        with_column("bought", "yes"),
        "column 'bought' (the label) has one value only, yes, in all 300 rows",
    ),
    "one row": ("live", lambda frame: frame[:1], "has 1 row: a target needs"),
    "no rows": ("live", lambda frame: frame[:0], "has no rows"),
    "a word among numbers": (
        "live",
        with_cell("age", 15, "unknown"),
        "'unknown' in line 17 is no number",
    ),
    "infinite": (
        "train",
        with_cell("age", 3, "-inf"),
        "line 5, column 'age' is infinite",
    ),
    "dates against strings": (
        "live",
        with_column("day", "soon"),
        "column 'day' holds dates in",
    ),
    "dates as label": (
        "train",
        lambda frame: frame.assign(bought=frame["day"]),
        "(the label) holds dates",
    ),
    "all names of rows": (
        "live",
        lambda frame: frame.rename(columns={"income": "age2"}),
        "lacks the column 'income'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_has_code_two_and_one_line_that_names_the_fault(
    run, tables, tmp_path, case
):
    which, change, message = CASES[case]
    path = changed(tables[which == "live"], change)
    code, err, out = job(run, tables, tmp_path)
    assert code == 2
    assert message in err
    assert path.name in err
    assert err.count("\n") == 1
    assert not out.exists()


FILES = {
    "missing": (lambda path: path.unlink(), "no such file"),
    "wrong encoding": (
        lambda path: path.write_bytes(path.read_bytes() + b"1,2,\xe9,2020-01-01,yes\n"),
        "line 302, column 3 ('region'): byte 0xe9 is not UTF-8",
    ),
    "duplicate headers": (
        lambda path: path.write_text(path.read_text().replace("income", "age", 1)),
        "line 1: columns 1 and 2 are both called 'age'",
    ),
    "ragged": (
        lambda path: path.write_text(path.read_text() + "1,2\n"),
        "line 302: 2 columns, the header has 5",
    ),
    "empty": (lambda path: path.write_text(""), "is empty"),
    "unreadable": (
        lambda path: (path.unlink(), path.mkdir()),
        "no Parquet file is there",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_has_code_two_and_is_named(run, tables, tmp_path, case):
    spoil, message = FILES[case]
    spoil(tables[0])
    code, err, out = job(run, tables, tmp_path)
    assert code == 2
    assert f"{tables[0]}" in err
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


USES = {
    "unknown column to drop": (("--drop", "color"), 2, "no column 'color' (--drop)"),
    "unknown name of rows": (("--id", "color"), 2, "no column 'color' (--id)"),
    "unknown time": (("--time", "color"), 2, "no column 'color' (--time)"),
    "time of strings": (("--time", "region"), 2, "'region' (--time) holds categories"),
    "unknown groups": (("--groups", "color"), 2, "no column 'color' (--groups)"),
    "groups and time": (("--groups", "region", "--time", "day"), 1, "--groups and --t"),
    "no target labels": (("--target-labels",), 2, "no column 'bought' (--target-lab"),
    "numbers that are none": (("--numeric", "region"), 2, "line 2, column 'region'"),
    "no column left": (("--drop", "age,income,region,day"), 2, "no column left"),
    "strings as numbers to predict": (("--task", "regression"), 2, "holds strings"),
    "unknown metric": (("--metric", "magic"), 1, "--metric must be the name"),
    "unknown estimator": (("--estimator", "magic"), 1, "must be one of boosting"),
    "estimator of numbers": (("--estimator", "ridge"), 1, "ridge predicts numbers"),
    "unknown number": (("--fail-if", "size<1"), 1, "knows no 'size'"),
    "both kinds": (
        ("--numeric", "age", "--categorical", "age"),
        1,
        "in --categorical and in --numeric",
    ),
}


@pytest.mark.parametrize("case", USES)
def test_wrong_use_is_told_from_bad_data(run, tables, tmp_path, case):
    more, wanted, message = USES[case]
    code, err, out = job(run, tables, tmp_path, *more)
    assert (code, err.count("\n")) == (wanted, 1)
    assert message in err
    assert not out.exists()


def test_what_is_there_is_refused_before_anything_is_read(run, tmp_path):
    (tmp_path / "report.json").write_text("mine")
    code, _, err = run(
        *("run", "--source", "none", "--target", "none", "--label", "y"),
        *("--out", tmp_path),
    )
    assert code == 1
    assert "already has 'report.json': --overwrite overwrites" in err
