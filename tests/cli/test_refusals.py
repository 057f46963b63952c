"""Faults of the program are told from bad data, and an interruption tells the truth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import counterpoise.diagnosis
from counterpoise.cli import ending
from counterpoise.cli.refusals import is_refusal
from counterpoise.learners.bins import QuantileBins
from counterpoise.numerics.arrays import finite_array
from counterpoise.tables.encoding import as_numbers
from counterpoise.validation import as_matrix, check_choice


def of_an_operation(*_, **__):
    return np.ones(2) + np.ones(3)


REFUSALS = {
    "of a table": lambda: as_matrix([["word"]]),
    "of a parameter": lambda: check_choice("kind", "c", ("a", "b")),
    "of two tables": lambda: as_numbers(
        pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})
    ),
    "of scikit-learn": lambda: LinearRegression().fit([[np.nan]], [1.0]),
}
FAULTS = {
    "of an operation": of_an_operation,
    "of an operation in our own code": lambda: QuantileBins().fit([["word"]]),
    "of numpy": lambda: np.linalg.cholesky(-np.eye(2)),
    "of a part below the checks": lambda: finite_array("x", [np.nan], 1),
    "of a wrong call": lambda: LinearRegression(slope=1.0),
}


def caught(act):
    with pytest.raises((ValueError, TypeError)) as found:
        act()
    return found.value


@pytest.mark.parametrize("case", REFUSALS)
def test_a_check_refuses(case):
    assert is_refusal(caught(REFUSALS[case]))


@pytest.mark.parametrize("case", FAULTS)
def test_what_no_check_raised_is_a_fault(case):
    assert not is_refusal(caught(FAULTS[case]))


def test_an_error_that_was_never_raised_is_no_refusal():
    assert not is_refusal(ValueError("x"))


def pair_of(tables):
    return ("--source", tables[0], "--target", tables[1], "--label", "bought")


def test_a_fault_of_ours_is_not_put_down_to_the_data(run, tables, monkeypatch):
    monkeypatch.setattr(counterpoise.diagnosis, "diagnose", of_an_operation)
    code, _, err = run("diagnose", *pair_of(tables), "--quiet")
    assert code == 70
    assert "a fault of counterpoise, ValueError: operands could not be" in err


def test_what_a_check_refuses_is_bad_data(run, tables, monkeypatch):
    monkeypatch.setattr(
        counterpoise.diagnosis, "diagnose", lambda *_, **__: as_matrix([["word"]])
    )
    code, _, err = run("diagnose", *pair_of(tables), "--quiet")
    assert code == 2
    assert "fault" not in err


def test_an_interruption_after_the_files_does_not_deny_them(
    run, tables, tmp_path, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ending, "say", interrupted)
    out = tmp_path / "w.csv"
    code, _, err = run(
        *("weigh", *pair_of(tables), "--out", out, "--weighter", "uniform", "--quiet")
    )
    assert code == 130
    assert len(pd.read_csv(out)) == 300
    assert err == "counterpoise: interrupted; no file is half written\n"
