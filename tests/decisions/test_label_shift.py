"""When a shift is called one of labels, and which explanation is taken."""

from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise.adaptation import label_shift as recognizing
from counterpoise.adaptation import label_shift as within_classes
from counterpoise.adaptation.label_shift import (
    ClassShares,
    judged,
    recognize_label_shift,
)
from counterpoise.adaptation.partial import PriorByEM

N = 400
LABELS = np.repeat([0, 1], N // 2)


def shares(em, black_box, error=0.02, n=N):
    em, black_box = (np.array([1 - one, one]) for one in (em, black_box))
    p = np.full((n, 2), 0.5)
    rows = np.arange(n)
    return ClassShares(
        np.arange(2),
        np.array([0.5, 0.5]),
        PriorByEM(em, p, None),
        black_box,
        np.full(2, error),
        p,
        p,
        rows,
        rows,
        None,
        None,
        None,
    )


@pytest.fixture
def told(monkeypatch):
    def recognize(found, auc=0.5, low=0.45, n=N, p_value=0.5):
        samples = SimpleNamespace(source=np.zeros((n, 1)), target=np.zeros((n, 1)))
        seen = SimpleNamespace(auc=auc, auc_low=low, auc_high=0.6)
        monkeypatch.setattr(within_classes, "score_domains", lambda *_: seen)
        monkeypatch.setattr(recognizing, "rest_p_value", lambda *_: p_value)
        return recognize_label_shift(found, samples, np.repeat([0, 1], n // 2), 0)

    return recognize


@pytest.mark.parametrize(("share", "moved"), [(0.441, False), (0.439, True)])
def test_shares_have_moved_from_three_errors_on(told, share, moved):
    found = told(shares(share, share))
    assert found.moved is moved
    assert found.is_label_shift is moved


@pytest.mark.parametrize(("apart", "agree"), [(0.069, True), (0.071, False)])
def test_two_estimates_agree_within_two_errors_and_three_hundredths(told, apart, agree):
    found = told(shares(0.2 + apart, 0.2))
    assert found.agree is agree
    assert found.is_label_shift is agree


@pytest.mark.parametrize(
    ("auc", "low", "flat"),
    [(0.54, 0.499, True), (0.54, 0.501, False), (0.56, 0.49, False)],
)
def test_what_is_left_is_flat_where_the_samples_are_not_told_apart(
    told, auc, low, flat
):
    found = told(shares(0.2, 0.2), auc, low)
    assert found.flat is flat
    assert found.is_label_shift is flat
    assert found.preferred == ("labels" if flat else "inputs")


@pytest.mark.parametrize(("p_value", "flat"), [(0.051, True), (0.049, False)])
def test_what_is_left_is_flat_where_no_mean_within_classes_has_moved(
    told, p_value, flat
):
    assert told(shares(0.2, 0.2), p_value=p_value).is_label_shift is flat


def test_fewer_than_a_hundred_rows_in_the_estimated_shares_tell_nothing(told):
    # Of 100 and 100 rows about 100 and 25 are kept, of 40 and 40 about 40 and 10.
    assert told(shares(0.2, 0.2, n=200), n=200).is_label_shift
    few = told(shares(0.2, 0.2, n=80), n=80)
    assert not few.is_label_shift
    assert "too few rows" in few.words


@pytest.mark.parametrize(("ahead", "preferred"), [(0.99, "labels"), (1.01, "inputs")])
def test_labels_are_taken_within_one_error_of_the_inputs(told, ahead, preferred):
    found = shares(0.2, 0.2)
    source = np.column_stack([np.linspace(0.1, 0.9, N), np.linspace(0.9, 0.1, N)])
    found.source[:], found.target[:] = source, source[::-1]
    first = told(found)
    assert first.score_error > 0
    second = judged(first, first.score + ahead * first.score_error)
    assert second.preferred == preferred
    # What is no label shift is not taken for one, however it scores.
    other = told(found, auc=0.7, low=0.6)
    assert judged(other, -9.0).preferred == "inputs"
