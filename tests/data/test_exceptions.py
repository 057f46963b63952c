import pickle

import pytest

from counterpoise.errors import NoOverlapError, NoTargetWarning


@pytest.mark.parametrize("measure", ["uncovered_fraction", "unsupported_fraction"])
@pytest.mark.parametrize("auc", [None, 0.987])
def test_no_overlap_tells_its_numbers_and_keeps_them(measure, auc):
    error = NoOverlapError(0.914, measure, auc)
    assert (error.share, error.measure, error.auc) == (0.914, measure, auc)
    assert str(error).startswith("91.4% of the target rows ")
    assert ("AUC" in str(error)) == (auc is not None)
    assert ("0.987" in str(error)) == (auc is not None)
    assert "allow_no_overlap=True" in str(error)


def test_the_two_measures_are_told_apart():
    assert str(NoOverlapError(0.9, "uncovered_fraction")) != str(
        NoOverlapError(0.9, "unsupported_fraction")
    )


def test_no_overlap_comes_back_from_a_worker_process():
    error = pickle.loads(pickle.dumps(NoOverlapError(0.9, "uncovered_fraction", 0.99)))
    assert isinstance(error, NoOverlapError)
    assert (error.share, error.measure, error.auc) == (0.9, "uncovered_fraction", 0.99)
    assert str(error) == str(NoOverlapError(0.9, "uncovered_fraction", 0.99))


def test_the_categories_are_those_users_catch():
    assert issubclass(NoOverlapError, ValueError)
    assert issubclass(NoTargetWarning, UserWarning)
