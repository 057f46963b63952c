"""The partial adaptation network: layers, gradient reversal, loss terms."""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array

# -----------------------------------------------------------------------------
# Gradient reversal: a saddle point as one minimization.
# -----------------------------------------------------------------------------


class Reversal(torch.autograd.Function):
    """The identity, whose gradient is multiplied by minus a number."""

    @staticmethod
    def forward(context: Any, features: Tensor, coefficient: float) -> Tensor:
        """Return the features as they are."""
        context.coefficient = coefficient
        return features.view_as(features)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return minus the coefficient times the gradient."""
        return -context.coefficient * gradient, None


def with_gradient_reversed(features: Tensor, coefficient: float) -> Tensor:
    """Return the features, whose gradient is multiplied by minus the coefficient.

    Later layers minimize the loss; earlier layers maximize it, `coefficient` times as
    fast.
    """
    return Reversal.apply(features, coefficient)


# -----------------------------------------------------------------------------
# Terms of the loss, from logits; finite for all logits.
# -----------------------------------------------------------------------------


def class_entropies(logits: Tensor) -> Tensor:
    """Return the entropy of every row's class probabilities, in nats."""
    logs = functional.log_softmax(logits, 1)
    return -(logs.exp() * logs).sum(1)


def domain_entropies(odds: Tensor) -> Tensor:
    r"""Return the entropy of every row's domain, from log odds.

    .. math:: \log(1 + e^{-|s|}) + |s| / (1 + e^{|s|})
    """
    size = odds.abs()
    return functional.softplus(-size) + size * torch.sigmoid(-size)


def mean_entropy(odds: Tensor) -> Tensor:
    """Return 1 + H(d), a constant to the gradient: rows of unclear domain count more.

    It lies between 1 and 1 + log 2. Were it no constant, minimizing over the
    discriminator would pay for confidence, and over the features against alignment.
    """
    return 1.0 + domain_entropies(odds).detach()


def mean_of_class_maxima(logits: Tensor) -> Tensor:
    r"""Return :math:`\frac1K \sum_k \max_i p_{ik}`: few where few classes are used.

    One K-th is the least, of uniform rows and of rows that all go to one class alike;
    rows that are sure of 10 of 31 classes have 10/31.
    """
    return functional.softmax(logits, 1).max(0).values.mean()


# -----------------------------------------------------------------------------
# Features, classes and domains: the three parts of a network.
# -----------------------------------------------------------------------------


# Rows that pass through a network at a time where nothing is learned.
ROWS_THROUGH = 1_024
# An extractor that comes trained moves at this share of the rate.
EXTRACTOR_RATE = 0.1
DROPPED = 0.5


def scaled_rows(X: Array) -> Array:
    r"""Return rows of length :math:`\sqrt d / 2`; a row of zeros stays one.

    Frozen features differ in length from domain to domain, and at this length the
    usual first weights of a layer are in their working range.
    """
    # Squares of large entries overflow.
    size = np.abs(X).max(axis=1, keepdims=True)
    unit = X / np.where(size > 0.0, size, 1.0)
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    out: Array = unit * (0.5 * np.sqrt(X.shape[1]) / np.where(length > 0, length, 1.0))
    return out


class DomainNetwork(nn.Module):
    """Rows to features, features to class logits and to log odds of the target.

    Parameters
    ----------
    features : torch module
        Rows in, features out.
    n_features : int
        How many features come out.
    n_classes : int
    width : int
        Of the discriminator's hidden layer.
    tuned : bool
        Whether the features come trained, and move at a tenth of the rate.

    Attributes
    ----------
    class_prior : tensor of shape (K,)
        Mean class probabilities of the target rows, as they were last looked at.
    """

    def __init__(
        self,
        features: nn.Module,
        n_features: int,
        n_classes: int,
        width: int,
        tuned: bool,
    ) -> None:
        super().__init__()
        self.features = features
        self.head = nn.Linear(n_features, n_classes)
        self.discriminator = nn.Sequential(
            nn.Linear(n_features, width),
            nn.ReLU(),
            nn.Dropout(DROPPED),
            nn.Linear(width, 1),
        )
        # Kept with the weights: every iterate has a prior of its own.
        self.register_buffer("class_prior", torch.full((n_classes,), 1.0 / n_classes))
        self.tuned = tuned

    @classmethod
    def of(
        cls,
        extractor: nn.Module | None,
        shape: tuple[int, ...],
        n_classes: int,
        hidden: int,
    ) -> "DomainNetwork":
        """Return a network for rows of a shape, over an extractor or a hidden layer."""
        if extractor is None:
            layer = nn.Sequential(nn.Linear(int(np.prod(shape)), hidden), nn.ReLU())
            return cls(layer, hidden, n_classes, hidden, False)
        own = deepcopy(extractor).float()
        return cls(own, _features_of(own, shape), n_classes, hidden, True)

    def features_of(self, rows: Tensor) -> Tensor:
        """Return the features, a vector a row."""
        return self.features(rows).flatten(1)

    def odds_of(self, features: Tensor, coefficient: float) -> Tensor:
        """Return log odds of the target; the features learn to hide it."""
        return self.discriminator(with_gradient_reversed(features, coefficient)).ravel()

    def groups(self) -> list[dict[str, Any]]:
        """Return the parameters with the share of the rate at which they move."""
        rest = [*self.head.parameters(), *self.discriminator.parameters()]
        share = EXTRACTOR_RATE if self.tuned else 1.0
        groups = [
            {"params": list(self.features.parameters()), "share": share},
            {"params": rest, "share": 1.0},
        ]
        # An extractor may have nothing to learn.
        return [group for group in groups if group["params"]]

    def state_copy(self) -> dict[str, Tensor]:
        """Return a copy of all weights."""
        return {name: value.clone() for name, value in self.state_dict().items()}

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def evaluate(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return features and class logits of rows; without dropout."""
        was_training = self.training
        self.eval()
        parts = [self.features_of(part) for part in rows.split(ROWS_THROUGH)]
        features = torch.cat(parts)
        logits = self.head(features)
        self.train(was_training)
        return features, logits


def _features_of(extractor: nn.Module, shape: tuple[int, ...]) -> int:
    """Return how many features an extractor gives, or refuse it."""
    was_training = extractor.training
    extractor.eval()
    try:
        with torch.no_grad():
            out = extractor(torch.zeros(2, *shape))
    except Exception as error:
        raise InvalidInputError(
            f"extractor does not take rows of shape {shape}: {error}"
        ) from error
    extractor.train(was_training)
    if not isinstance(out, torch.Tensor) or out.ndim < 2 or len(out) != 2:
        raise InvalidTypeError(
            "extractor must return a tensor with a row of features a row"
        )
    return int(out.flatten(1).shape[1])
