"""Faults of the program are told from bad data, and an interruption tells the truth."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils import check_array

from counterpoise.adaptation.routing import fit_weighted
from counterpoise.cli import fit as job
from counterpoise.cli.options import completed
from counterpoise.cli.terminal import CliError, code_of
from counterpoise.data import BlockFailedError, ClusterUnavailableError
from counterpoise.data.arrays import as_matrix
from counterpoise.data.encoder import as_numbers
from counterpoise.data.parameters import check_choice
from counterpoise.errors import (
    InvalidInputError,
    NoOverlapError,
    estimator_errors,
)
from counterpoise.linalg.arrays import finite_array
from counterpoise.models.boosting import QuantileBins
from counterpoise.performance.metrics import Metric


def of_an_operation(*_, **__):
    return np.ones(2) + np.ones(3)


def of_scikit_learn():
    with estimator_errors():
        LinearRegression().fit([[np.nan]], [1.0])


class Faulty(BaseEstimator):
    """An estimator that raises a ValueError."""

    def fit(self, X, y, sample_weight=None):
        return of_an_operation()


def of_an_estimator(estimator):
    return lambda: fit_weighted(estimator, [[1.0], [2.0]], [1.0, 2.0], None)


def of_our_own_code():
    return QuantileBins().fit([["word"]])


def of_a_part_below_the_checks():
    return finite_array("x", [np.nan], 1)


def of_an_operation_in_a_metric():
    metric = Metric("odd", True, False, False, None, of_an_operation)
    return metric.value(None, [[1.0]], [1.0])


BY_CODE = {
    1: {
        "of wrong use": lambda: completed("weights", ("seed",), {"seed": "x"}),
        "of a file": lambda: Path("/nowhere/at all").read_text(),
        "of a cluster without workers": lambda: raised(
            ClusterUnavailableError("no Dask worker has been available for 120 s")
        ),
        "of a missing package": lambda: import_module("no_such_package"),
    },
    2: {
        "of a table": lambda: as_matrix([["word"]]),
        "of a parameter": lambda: check_choice("kind", "c", ("a", "b")),
        "of two tables": lambda: as_numbers(
            pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]})
        ),
        "of a block that cannot be read": lambda: raised(
            BlockFailedError(7, "live.parquet, row group 7", "a page is corrupt")
        ),
        "of scikit-learn": of_scikit_learn,
        "of a label that an estimator cannot take": lambda: fit_weighted(
            LinearRegression(), [[1.0]], [np.nan], None
        ),
        "of a parameter that scikit-learn refuses": of_an_estimator(Ridge(alpha=-1.0)),
        "of an estimator that somebody wrote": of_an_estimator(Faulty()),
        "of an operation in a metric": of_an_operation_in_a_metric,
    },
    4: {"of two samples": lambda: raised(NoOverlapError(0.9, "uncovered_fraction"))},
    70: {
        "of an operation": of_an_operation,
        "of an operation in our own code": of_our_own_code,
        "of numpy": lambda: np.linalg.cholesky(-np.eye(2)),
        "of a part below the checks": of_a_part_below_the_checks,
        "of a wrong call": lambda: LinearRegression(slope=1.0),
    },
}
CASES = [(code, case) for code, cases in BY_CODE.items() for case in cases]


def raised(error):
    raise error


@pytest.mark.parametrize(("code", "case"), CASES)
def test_the_type_of_an_error_decides_the_code(code, case):
    kinds = (CliError, OSError, ImportError, ValueError, TypeError, BlockFailedError)
    with pytest.raises(kinds) as found:
        BY_CODE[code][case]()
    assert code_of(found.value) == code


def test_an_interruption_has_its_own_code():
    assert code_of(KeyboardInterrupt()) == 130


@pytest.mark.parametrize(
    ("error", "table"), [(ValueError, [[np.nan]]), (TypeError, sparse.eye_array(2))]
)
def test_scikit_learn_refuses_in_its_own_words(error, table):
    with pytest.raises(error) as wanted:
        check_array(table)
    with pytest.raises(InvalidInputError) as found, estimator_errors():
        check_array(table)
    assert isinstance(found.value, error)
    assert str(found.value) == str(wanted.value)


def of_the_third_fold():
    try:
        check_array([[np.nan]])
    except ValueError as error:
        error.add_note("in the third fold")
        raise


def test_notes_of_a_refusal_are_kept():
    with pytest.raises(InvalidInputError) as found, estimator_errors():
        of_the_third_fold()
    assert found.value.__notes__ == ["in the third fold"]


def pair_of(tables):
    return ("--source", tables[0], "--target", tables[1], "--label", "bought")


def test_a_fault_of_ours_is_not_put_down_to_the_data(run, tables, monkeypatch):
    monkeypatch.setattr(job, "diagnose", of_an_operation)
    code, _, err = run("diagnose", *pair_of(tables), "--quiet")
    assert code == 70
    assert "a fault of counterpoise, ValueError: operands could not be" in err


def test_what_a_check_refuses_is_bad_data(run, tables, monkeypatch):
    monkeypatch.setattr(job, "diagnose", lambda *_, **__: as_matrix([["word"]]))
    code, _, err = run("diagnose", *pair_of(tables), "--quiet")
    assert code == 2
    assert "fault" not in err


def test_an_interruption_after_the_files_does_not_deny_them(
    run, tables, tmp_path, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "print_findings", interrupted)
    out = tmp_path / "w.csv"
    code, _, err = run(
        *(
            "weights",
            *pair_of(tables),
            "--out",
            out,
            "--weight-estimator",
            "uniform",
            "--quiet",
        )
    )
    assert code == 130
    assert len(pd.read_csv(out)) == 300
    assert err == "counterpoise: interrupted; no file is half written\n"
