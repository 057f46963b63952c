"""Whether classes may be left out, what a class weighs, and where a graph is noise."""

import numpy as np
import pytest

from counterpoise import PartialWeights, WeakClassifierWarning
from counterpoise.adaptation.partial import TargetProbabilities, judge_selection


def unsure(entropy, m=10):
    """Return probabilities of four classes with a mean entropy, in units of log 4."""
    mixed = round(entropy * m)
    p = np.full((m, 4), 0.25)
    p[mixed:] = np.eye(4)[0]
    return p


def judged(p, shares=(0.5, 0.5, 0.0, 0.0), labels=None, guarded=True):
    shares = np.array(shares)
    labels = p.argmax(axis=1) if labels is None else labels
    return judge_selection(p, labels, shares, shares > 2e-3, guarded)


def test_a_classifier_unsure_by_more_than_nine_tenths_is_not_followed():
    assert judged(unsure(0.9)).chosen == 1
    weak = judged(unsure(1.0))
    assert weak.chosen == 0
    assert "too weak" in weak.reason
    assert weak.n_absent == 0
    assert judged(unsure(1.0), guarded=False).chosen == 1


def test_one_class_with_more_than_nine_tenths_is_a_collapse():
    p = unsure(0.5)
    assert judged(p, (0.9, 0.1, 0.0, 0.0)).chosen == 1
    found = judged(p, (0.901, 0.099, 0.0, 0.0))
    assert found.chosen == 0
    assert "collapsed" in found.reason


def test_more_than_a_tenth_of_other_labels_is_doubtful():
    p = unsure(0.5, m=1000)
    labels = p.argmax(axis=1)
    labels[:100] = 3
    assert not judged(p, labels=labels).doubtful
    labels[:101] = 3
    found = judged(p, labels=labels)
    assert found.doubtful
    assert found.chosen == 1
    assert found.agreement == pytest.approx(0.899)


def sure(counts):
    """Return a classifier's sure answers, some rows a class."""
    p = np.repeat(np.eye(len(counts)), counts, axis=0)
    return TargetProbabilities(np.arange(len(counts)), p, np.zeros((len(p), 1)))


def weights_of(counts, **parameters):
    found = PartialWeights(n_neighbors=0, sparsity=0.0, **parameters)
    labels = np.repeat(np.arange(len(counts)), 10)
    return found._fit_probabilities(sure(counts), labels, np.ones(labels.size))


def test_a_class_of_a_share_of_two_in_a_thousand_is_absent():
    found = weights_of([499, 499, 2])
    assert found.class_prior_[2] == pytest.approx(2e-3)
    assert found.absent_classes_.tolist() == [2]
    assert weights_of([498, 499, 3]).absent_classes_.tolist() == []


def test_classes_that_are_present_weigh_alike_unless_the_exponent_says_otherwise():
    np.testing.assert_allclose(weights_of([300, 100, 0]).class_weight_, [1.5, 1.5, 0.0])
    full = weights_of([300, 100, 0], exponent=1.0)
    np.testing.assert_allclose(full.class_weight_, [2.25, 0.75, 0.0])
    root = weights_of([300, 100, 0], exponent=0.5).class_weight_
    assert root[0] / root[1] == pytest.approx(np.sqrt(3.0))


def test_fewer_than_fifty_rows_have_no_neighbors():
    found = PartialWeights()
    labels = np.repeat(np.arange(2), 10)
    some = sure([25, 25])
    found._fit_probabilities(some, labels, np.ones(20))
    with pytest.warns(UserWarning, match="49 rows, fewer than 50"):
        found._fit_probabilities(sure([25, 24]), labels, np.ones(20))


def test_the_guard_leaves_weights_of_one_and_says_why():
    found = PartialWeights()
    labels = np.repeat(np.arange(4), 10)
    p = np.full((60, 4), 0.25)
    weak = TargetProbabilities(np.arange(4), p, np.zeros((60, 1)))
    with pytest.warns(WeakClassifierWarning, match="rows stay unweighted"):
        found._fit_probabilities(weak, labels, np.ones(40))
    assert (found.weights_ == 1.0).all()
    assert found.absent_classes_.size == 0
    with pytest.warns(WeakClassifierWarning, match="the classes collapsed"):
        found = weights_of([95, 5, 0])
    assert (found.weights_ == 1.0).all()
    assert found.absent_classes_.size == 0
