"""The terms of the losses, each from logits, finite wherever they are."""

from typing import Any

import torch
from torch.nn import functional


def class_losses(logits: Any, labels: Any) -> Any:
    """Return the cross entropy of every row, in nats."""
    return functional.cross_entropy(logits, labels, reduction="none")


def source_losses(odds: Any) -> Any:
    """Return the cross entropy of rows of the source, by log odds of the target."""
    return functional.softplus(odds)


def target_losses(odds: Any) -> Any:
    """Return the cross entropy of rows of the target, by log odds of the target."""
    return functional.softplus(-odds)


def class_entropies(logits: Any) -> Any:
    """Return the entropy of every row's class probabilities, in nats."""
    logs = functional.log_softmax(logits, 1)
    return -(logs.exp() * logs).sum(1)


def domain_entropies(odds: Any) -> Any:
    r"""Return the entropy of every row's domain, from log odds.

    .. math:: \log(1 + e^{-|s|}) + |s| / (1 + e^{|s|})
    """
    size = odds.abs()
    return functional.softplus(-size) + size * torch.sigmoid(-size)


def mean_entropy(odds: Any) -> Any:
    """Return 1 + H(d), a constant to the gradient: rows of either domain weigh more.

    It lies between 1 and 1 + log 2. Were it no constant, minimising over the
    discriminator would pay for confidence, and over the features against alignment.
    """
    return 1.0 + domain_entropies(odds).detach()


def mean_of_class_maxima(logits: Any) -> Any:
    r"""Return :math:`\frac1K \sum_k \max_i p_{ik}`: few where few classes are used.

    One K-th is the least, of uniform rows and of rows that all go to one class alike;
    rows that are sure of 10 of 31 classes have 10/31.
    """
    return functional.softmax(logits, 1).max(0).values.mean()
