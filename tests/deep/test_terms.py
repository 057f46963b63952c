"""Every term is what its formula says, and finite wherever logits are."""

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from scipy.stats import entropy

from counterpoise.deep import network as terms
from counterpoise.deep.network import with_gradient_reversed

SIZES = (1.0, 30.0, 1e4)


def tensor(values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


@pytest.mark.parametrize("coefficient", [0.0, 0.2, 1.0])
def test_what_comes_back_is_minus_the_coefficient_times_the_gradient(coefficient):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 3))
    plain, turned = tensor(rows, grad=True), tensor(rows, grad=True)
    weights = tensor(rng.normal(size=(5, 3)))
    out = with_gradient_reversed(turned, coefficient)
    assert torch.equal(out, turned)
    (weights * plain**2).sum().backward()
    (weights * out**2).sum().backward()
    assert torch.equal(turned.grad, -coefficient * plain.grad)


@pytest.mark.parametrize("size", SIZES)
def test_entropies_of_classes_are_those_of_scipy(size):
    logits = size * np.random.default_rng(0).uniform(-1, 1, size=(50, 7))
    given = tensor(logits, grad=True)
    found = terms.class_entropies(given)
    np.testing.assert_allclose(
        found.detach(), entropy(softmax(logits, axis=1), axis=1), atol=1e-12
    )
    found.sum().backward()
    assert torch.isfinite(given.grad).all()


@pytest.mark.parametrize("size", SIZES)
def test_entropies_of_domains_are_those_of_scipy(size):
    odds = size * np.linspace(-1, 1, 41)
    given = tensor(odds, grad=True)
    found = terms.domain_entropies(given)
    both = np.array([expit(odds), expit(-odds)])
    np.testing.assert_allclose(found.detach(), entropy(both, axis=0), atol=1e-12)
    found.sum().backward()
    assert torch.isfinite(given.grad).all()


def test_rows_of_a_doubtful_domain_weigh_more_and_doubt_has_no_gradient():
    odds = tensor([0.0, 2.0, -1000.0], grad=True)
    found = terms.mean_entropy(odds)
    np.testing.assert_allclose(found[[0, 2]], [1 + np.log(2), 1.0])
    assert found[0] > found[1] > found[2]
    assert not found.requires_grad


def test_the_selection_counts_the_classes_that_some_row_is_sure_of():
    k = 31
    sure = 1e3 * np.eye(k)
    rows = np.arange(400)
    cases = {
        "uniform": (np.zeros((400, k)), 1 / k),
        "one class": (sure[np.zeros(400, dtype=int)], 1 / k),
        "ten classes": (sure[rows % 10], 10 / k),
        "all classes": (sure[rows % k], 1.0),
    }
    for logits, wanted in cases.values():
        assert float(terms.mean_of_class_maxima(tensor(logits))) == pytest.approx(
            wanted
        )
