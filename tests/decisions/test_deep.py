"""Which iterate a network is left with, whether weights move, what is told of it."""

import warnings

import numpy as np
import pytest
import torch
from deep.partial_samples import training

from counterpoise import WeakClassifierWarning
from counterpoise.deep import PartialDomainClassifier
from counterpoise.deep.training import Memory, TrainingRecord, is_partial

WARM, LAST, BEST = ({"name": name} for name in ("warm", "last", "best"))


@pytest.fixture(autouse=True)
def own_random_numbers():
    with torch.random.fork_rng(devices=[]):
        yield


def found_record(n_effective, entropy=1.0):
    return TrainingRecord(40, 1.0, np.ones(6), n_effective, entropy, 0.5)


def judged(n_effective, guard=0.35, **changes):
    """Return what ends a training that had ten effective classes, if anything."""
    run = training(guard=guard, **changes)
    run.memory = Memory(torch.ones(6), 40, [], warm={}, first_effective=10.0)
    run._judge(found_record(n_effective))
    return run.memory.ended


def test_the_guard_ends_a_training_below_its_share_of_the_effective_classes():
    assert judged(3.49) == "collapsed"
    assert judged(3.5) == ""
    assert judged(0.1, guard=0.0) == ""
    assert judged(1.0, method="dann") == ""
    assert judged(1.0, method="pada") == "collapsed"
    assert judged(1.0, method="pada", moving=False) == ""
    assert judged(1.0, method="sspda", moving=False) == "collapsed"
    assert judged(1.0, moving=False, entropy=0.0, selection=0.0) == ""


def test_the_guard_measures_from_the_end_of_the_warm_up():
    run = training()
    for done, n_effective in ((19, 30.0), (20, 10.0), (30, 4.0), (40, 3.0)):
        run.memory.done = done
        run._judge(found_record(n_effective))
        assert run.memory.ended == ("collapsed" if done == 40 else "")
    assert run.memory.first_effective == 10.0


def test_a_collapsed_or_diverged_training_returns_the_warm_up_else_the_best():
    def chosen(ended, best=None):
        return Memory(torch.ones(2), warm=WARM, best=best, ended=ended).chosen()

    assert chosen("") is None
    assert chosen("patience", BEST) is BEST
    assert chosen("", BEST) is BEST
    for ended in ("collapsed", "diverged"):
        assert chosen(ended, BEST) is WARM


def test_patience_counts_updates_without_a_smaller_entropy():
    run = training(monitor="entropy", patience=2)
    run.memory = Memory(torch.ones(6), 40, [], warm={}, first_effective=1.0)
    ended = []
    for entropy in (1.0, 0.9, 0.9, 0.8, 0.8, 0.81):
        run._judge(found_record(1.0, entropy))
        ended.append(run.memory.ended)
    assert ended == ["", "", "", "", "", "patience"]
    assert run.memory.best_entropy == 0.8


def test_labels_worth_three_quarters_of_the_classes_leave_some_out():
    # Labels spread alike over k classes are worth k.
    assert is_partial(np.arange(120) % 3, 4)
    assert not is_partial(np.arange(120) % 4, 4)
    assert not is_partial(np.append(np.arange(120) % 3, [3, 3]), 4)
    assert not is_partial(np.arange(120) % 4, 5)


def network_with(prior):
    model = PartialDomainClassifier()
    model.classes_, model.class_prior_ = np.arange(len(prior)), np.array(prior)
    return model


def test_a_class_below_a_tenth_of_an_equal_share_is_absent():
    assert network_with([0.9, 0.05, 0.05])._present().tolist() == [True, True, True]
    least = 0.1 / 3
    model = network_with([1 - 2 * least, least, np.nextafter(least, 0)])
    assert model._present().tolist() == [True, True, False]


def test_a_classifier_that_is_unsure_by_half_is_called_weak():
    def warned(share, method="sspda"):
        model = PartialDomainClassifier(method)
        model.classes_ = np.arange(4)
        record = found_record(3.0)
        memory = Memory(torch.ones(4), 40, [record], first_effective=3.0)
        memory.first_entropy = share * np.log(4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model._warn(memory)
        return [one.category for one in caught]

    assert warned(0.5) == []
    assert warned(0.501) == [WeakClassifierWarning]
    assert warned(0.9, "source") == []
