"""Stochastic gradients: batches, losses, updates of the class weights, the guard."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from counterpoise.deep.terms import (
    class_entropies,
    class_losses,
    mean_entropy,
    mean_of_class_maxima,
    source_losses,
    target_losses,
)
from counterpoise.deep.isolation import seed_torch
from counterpoise.deep.network import DomainNetwork
from counterpoise.deep.rows import TrainingRows
from counterpoise.deep.schedule import Schedule
from counterpoise.deep.watching import TrainingRecord, effective_classes, linear_auc
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.validation import InvalidInput

METHODS = ("sspda", "pada", "dann", "source")
# Where the labels predicted after the warm-up are worth more than this share of all
# classes, all seem to be there, and class weights do not move.
PARTIAL_UP_TO = 0.75
# What may end a training before its last iteration.
COLLAPSED, OUT_OF_PATIENCE, DIVERGED = "collapsed", "patience", "diverged"


@dataclass(frozen=True)
class Recipe:
    """All numbers that a training goes by."""

    method: str
    schedule: Schedule
    moving: bool
    entropy: float
    selection: float
    batch_size: int
    learning_rate: float
    momentum: float
    weight_decay: float
    class_balanced: bool
    guard: float
    monitor: str | None
    patience: int | None
    seed: int

    @property
    def moves_weights(self) -> bool:
        """Whether class weights follow what is predicted."""
        return self.moving and self.method in ("pada", "sspda")

    @property
    def can_collapse(self) -> bool:
        """Whether a class that is predicted less is learned less, or doubted more."""
        terms_of_target = self.entropy > 0.0 or self.selection > 0.0
        return self.moves_weights or (self.method == "sspda" and terms_of_target)


@dataclass(eq=False)
class Memory:
    """What a training remembers from one iteration to the next, all of it plain.

    Attributes
    ----------
    done : int
        Iterations done.
    class_weight : tensor of shape (K,)
    history : list of TrainingRecord
    warm : dict or None
        Weights of the network at the end of the warm-up.
    first_effective, first_entropy : float or None
        Effective number of classes and mean entropy there.
    partial : bool
        Whether the target then seemed to have some of the classes only.
    best, best_entropy, waited : dict or None, float, int
        Weights of least entropy, and updates since.
    ended : str
        What ended it before its last iteration; empty: nothing did.
    """

    class_weight: Any
    done: int = 0
    history: list[TrainingRecord] = field(default_factory=list)
    warm: dict[str, Any] | None = None
    first_effective: float | None = None
    first_entropy: float | None = None
    partial: bool = True
    best: dict[str, Any] | None = None
    best_entropy: float = math.inf
    waited: int = 0
    ended: str = ""

    def chosen(self) -> dict[str, Any] | None:
        """Return the iterate to be returned where it is not the last."""
        return self.warm if self.ended in (COLLAPSED, DIVERGED) else self.best

    def to_dict(self) -> dict[str, Any]:
        """Return tensors, numbers and words."""
        out = {k: v for k, v in vars(self).items() if k != "history"}
        out["history"] = [
            {**asdict(one), "class_weight": torch.as_tensor(one.class_weight)}
            for one in self.history
        ]
        return out

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> "Memory":
        """Return what `to_dict` wrote down."""
        history = [
            TrainingRecord(**{**one, "class_weight": one["class_weight"].numpy()})
            for one in kept["history"]
        ]
        return cls(**{**kept, "history": history})


class Training:
    """A network that learns from both samples, an iteration at a time.

    Every iteration has random numbers of its own, named by seed and number, so that a
    training that goes on from a checkpoint is the same to the bit.

    Parameters
    ----------
    network : DomainNetwork
    rows : TrainingRows
    recipe : Recipe
    class_weight : array of shape (K,)
        Weights of the classes at the start; where they do not move, throughout.
    """

    def __init__(
        self,
        network: DomainNetwork,
        rows: TrainingRows,
        recipe: Recipe,
        class_weight: Array,
    ) -> None:
        self.network, self.rows, self.recipe = network, rows, recipe
        weight = torch.as_tensor(class_weight, dtype=torch.float32)
        self.memory = Memory(weight)
        self.optimizer = torch.optim.SGD(
            network.groups(),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
        )

    def run(self, on_update: Callable[["Training"], bool]) -> None:
        """Train to the end, or until an update says True."""
        schedule, memory = self.recipe.schedule, self.memory
        self.network.train()
        losses: list[Any] = []
        while memory.done < schedule.n_steps and not memory.ended:
            losses.append(self._step(memory.done))
            memory.done += 1
            if schedule.is_update(memory.done):
                self._update(float(torch.stack(losses).mean()))
                losses = []
                if on_update(self):
                    break
        self._finish()

    def _step(self, step: int) -> Any:
        """Take one step downhill, and return the loss before it."""
        recipe = self.recipe
        seed_torch(recipe.seed, step + 1)
        for group in self.optimizer.param_groups:
            rate = recipe.learning_rate * recipe.schedule.rate(step)
            group["lr"] = rate * group["share"]
        loss = self._loss(step)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _loss(self, step: int) -> Any:
        recipe, network, schedule = self.recipe, self.network, self.recipe.schedule
        places, aims = self.rows.batch(
            recipe.seed, step, recipe.batch_size, recipe.class_balanced
        )
        labels = self.rows.labels[places]
        weight = self._class_weight(step)[labels]
        features = network.features_of(self.rows.source[places])
        logits = network.head(features)
        loss = (weight * class_losses(logits, labels)).mean()
        alone = recipe.method == "source" or self.rows.aims is None
        if alone or not schedule.has_adversary(step):
            return loss
        features_target = network.features_of(self.rows.aims[aims])
        logits_target = network.head(features_target)
        turned = schedule.reversal(step)
        odds = network.odds_of(features, turned)
        odds_target = network.odds_of(features_target, turned)
        # Means over either half of the batch, each by itself.
        loss = loss + (weight * source_losses(odds)).mean()
        loss = loss + target_losses(odds_target).mean()
        if recipe.method != "sspda" or not schedule.is_warm(step):
            return loss
        if recipe.entropy > 0.0:
            unsure = mean_entropy(odds) * class_entropies(logits)
            unsure_target = mean_entropy(odds_target)
            unsure_target = unsure_target * class_entropies(logits_target)
            both = (weight * unsure).mean() + unsure_target.mean()
            loss = loss + recipe.entropy * both
        if recipe.selection > 0.0:
            selected = mean_of_class_maxima(logits_target)
            loss = loss + recipe.selection * schedule.selecting(step) * selected
        return loss

    def _class_weight(self, step: int) -> Any:
        """Return the weights of the classes: those that move wait for the warm-up."""
        if self.recipe.moving and not (
            self.recipe.moves_weights and self.recipe.schedule.is_warm(step)
        ):
            return torch.ones_like(self.memory.class_weight)
        return self.memory.class_weight

    def _update(self, loss: float) -> None:
        """Look at the whole target, move the class weights, and judge."""
        memory, recipe = self.memory, self.recipe
        finite = math.isfinite(loss) and all(
            bool(torch.isfinite(part).all()) for part in self.network.parameters()
        )
        if not finite:
            self._diverge()
            return
        if self.rows.aims is None:
            self._remember(TrainingRecord(memory.done, loss, self._told_weight()))
            return
        features, logits = self.network.asked(self.rows.aims)
        prior = torch.softmax(logits, 1).mean(0)
        self.network.class_prior.copy_(prior)
        entropy = float(class_entropies(logits).mean())
        if recipe.guard > 0.0 and memory.done == recipe.schedule.warm_steps:
            memory.partial = is_partial(logits.argmax(1).numpy(), logits.shape[1])
        if recipe.moves_weights:
            moved = prior / prior.max()
            memory.class_weight = moved if memory.partial else torch.ones_like(moved)
        shares = prior.double().numpy()
        found = TrainingRecord(
            memory.done,
            loss,
            self._told_weight(),
            effective_classes(shares / shares.sum()),
            entropy,
            linear_auc(
                self.network.asked(self.rows.source)[0].numpy(), features.numpy()
            ),
        )
        self._remember(found)
        self._judge(found)

    def _judge(self, found: TrainingRecord) -> None:
        """End the training where the classes collapse or patience is at its end."""
        memory, recipe = self.memory, self.recipe
        assert found.n_effective is not None
        assert found.entropy is not None
        if memory.done < recipe.schedule.warm_steps:
            return
        if memory.first_effective is None:
            memory.warm = self.network.kept_state()
            memory.first_effective = found.n_effective
            memory.first_entropy = found.entropy
        least = recipe.guard * memory.first_effective
        if recipe.can_collapse and found.n_effective < least:
            memory.ended = COLLAPSED
            return
        if recipe.monitor is None:
            return
        if found.entropy < memory.best_entropy:
            memory.best, memory.waited = self.network.kept_state(), 0
            memory.best_entropy = found.entropy
            return
        memory.waited += 1
        if recipe.patience is not None and memory.waited >= recipe.patience:
            memory.ended = OUT_OF_PATIENCE

    def _diverge(self) -> None:
        if self.memory.warm is None:
            raise InvalidInput(
                f"the training diverged within {self.memory.done} iterations: choose a "
                f"learning_rate below {self.recipe.learning_rate:g}"
            )
        self.memory.ended = DIVERGED

    def _remember(self, found: TrainingRecord) -> None:
        self.memory.history.append(found)

    def _told_weight(self) -> Array:
        told: Array = self.memory.class_weight.double().numpy().copy()
        return told

    def _finish(self) -> None:
        """Take the iterate that is returned: the last, unless something says not."""
        chosen = self.memory.chosen()
        if chosen is not None:
            self.network.load_state_dict(chosen)


def is_partial(predicted: Indices, n_classes: int) -> bool:
    r"""Return whether predicted labels leave classes out.

    With the shares :math:`h` of the labels, where :math:`e^{H(h)} \le 0.75 K`. A class
    of small weight is learned less and predicted less, and weighs still less then:
    where all classes are there, weights that move take them away one by one.
    """
    shares = np.bincount(predicted, minlength=n_classes) / predicted.size
    return effective_classes(shares) <= PARTIAL_UP_TO * n_classes


def first_weights(n_classes: int, given: Any) -> Array:
    """Return the weights that a training begins with: ones, or those given over max."""
    if given is None:
        return np.ones(n_classes)
    out: Array = given / given.max()
    return out
