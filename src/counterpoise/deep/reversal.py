"""Gradients turned round: a saddle point as one minimisation."""

from typing import Any

import torch


class Reversal(torch.autograd.Function):
    """The identity, whose gradient is multiplied by minus a number."""

    @staticmethod
    def forward(context: Any, features: Any, coefficient: float) -> Any:
        """Return the features as they are."""
        context.coefficient = coefficient
        return features.view_as(features)

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        """Return minus the coefficient times the gradient."""
        return -context.coefficient * gradient, None


def with_gradient_reversed(features: Any, coefficient: float) -> Any:
    """Return the features; what comes back to them is their gradient times -c.

    What is behind them is minimised as it stands; what is before them is moved so that
    it becomes larger, `coefficient` times as fast.
    """
    return Reversal.apply(features, coefficient)
