"""Training of partial adaptation networks, with checkpoints."""

import hashlib
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional

from counterpoise.data.two_samples import canonical_order
from counterpoise.deep.network import (
    DomainNetwork,
    class_entropies,
    mean_entropy,
    mean_of_class_maxima,
)
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# Global settings of torch, restored afterwards.
# -----------------------------------------------------------------------------


@contextmanager
def torch_settings(n_threads: int) -> Iterator[None]:
    """Run with own threads, own random numbers and single precision."""
    threads, kind = torch.get_num_threads(), torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        try:
            torch.set_num_threads(n_threads)
            torch.set_default_dtype(torch.float32)
            yield
        finally:
            torch.set_default_dtype(kind)
            torch.set_num_threads(threads)


def seed_torch(seed: int, step: int) -> None:
    """Give torch the random numbers of one step, whatever was drawn before.

    An interrupted training then goes on as if nothing had happened.
    """
    state = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    torch.manual_seed(int(state[0] >> np.uint64(1)))


# -----------------------------------------------------------------------------
# When each part of a loss begins to count, and how much.
# -----------------------------------------------------------------------------


SCHEDULES = ("late", "published")
# A training has this many updates of the class weights, and those at the ends of the
# warm-up and of the training.
UPDATES = 12
# Steepness of the reversal's rise, and of the rate's fall.
RISE, FALL, FALL_POWER = 10.0, 10.0, 0.75


@dataclass(frozen=True)
class Schedule:
    r"""Rates and weights by the share of the training that is done, :math:`\rho`.

    The rate is :math:`r_0 / (1 + 10 \rho)^{0.75}`. The reversal coefficient is

    .. math:: c(\rho) = a \left(\frac{2}{1 + e^{-10 (\rho - s) / (1 - s)}} - 1\right)

    from :math:`\rho = s` on: "published": :math:`s = 0, a = 1`; "late": s is the end of
    the warm-up and a is `adversary`. Class weights that move, entropy and selection
    count from the end of the warm-up on, in either; the selection's weight rises to
    all of it at half the training.

    Attributes
    ----------
    kind : {"late", "published"}
    warm_up : float
        Share of the training in which the source is learned alone.
    adversary : float
    n_steps : int
        Iterations of the training.
    """

    kind: str
    warm_up: float
    adversary: float
    n_steps: int

    @property
    def warm_steps(self) -> int:
        """Iterations of the warm-up."""
        return math.ceil(self.warm_up * self.n_steps - 1e-9)

    def is_update(self, done: int) -> bool:
        """Return whether class weights are worked out after so many iterations."""
        every = max(1, round(self.n_steps / UPDATES))
        return done % every == 0 or done in (self.warm_steps, self.n_steps)

    def is_warm(self, step: int) -> bool:
        """Return whether the warm-up is over at an iteration."""
        return step >= self.warm_steps

    def has_adversary(self, step: int) -> bool:
        """Return whether the discriminator learns at an iteration."""
        return self.kind == "published" or self.is_warm(step)

    def rate(self, step: int) -> float:
        """Return the share of the first rate at an iteration."""
        return (1.0 + FALL * step / self.n_steps) ** -FALL_POWER

    def reversal(self, step: int) -> float:
        """Return the reversal coefficient at an iteration."""
        start, top = 0.0, 1.0
        if self.kind == "late":
            start, top = self.warm_up, self.adversary
        done = (step / self.n_steps - start) / (1.0 - start)
        return top * (2.0 / (1.0 + math.exp(-RISE * done)) - 1.0)

    def selecting(self, step: int) -> float:
        """Return the share of the selection's weight at an iteration."""
        return min(1.0, 2.0 * step / self.n_steps)


# -----------------------------------------------------------------------------
# A training in a file: written whole, read without running anything in it.
# -----------------------------------------------------------------------------


VERSION = 1
_KIND = "counterpoise.deep checkpoint"


def write_checkpoint(path: str | Path, content: dict[str, Any]) -> None:
    """Write tensors, numbers and words to a file, in the place of an older one."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent or ".", suffix=".partial")
    os.close(handle)
    partial = Path(name)
    try:
        torch.save({"kind": _KIND, "version": VERSION, **content}, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return what `write` wrote; nothing in the file is run (`weights_only`)."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        content: dict[str, Any] = torch.load(
            path, map_location="cpu", weights_only=True
        )
        if content["kind"] != _KIND:
            raise ValueError(f"its kind is {content['kind']!r}")
    except Exception as error:
        raise InvalidInputError(f"{path} is no checkpoint: {error}") from error
    if content["version"] > VERSION:
        raise InvalidInputError(
            f"{path} was written by a newer version of the library (format "
            f"{content['version']}, this one reads up to {VERSION})"
        )
    return content


def data_digest(*parts: object) -> str:
    """Return a digest of arrays, tensors and of what prints itself."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, torch.Tensor):
            part = part.numpy()
        if isinstance(part, np.ndarray):
            digest.update(str((part.shape, part.dtype)).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def plain_labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Return labels as a list and the name of their type."""
    values = classes.tolist()
    if not all(isinstance(one, str | int | float | bool) for one in values):
        raise InvalidTypeError(
            "a checkpoint holds labels that are numbers or strings, got "
            f"{type(values[0]).__name__}"
        )
    return {"values": values, "type": classes.dtype.str}


def labels_from(plain: dict[str, Any]) -> NDArray[Any]:
    """Return what `plain_labels` wrote down."""
    return np.array(plain["values"], dtype=np.dtype(plain["type"]))


# -----------------------------------------------------------------------------
# Records of a training, made without labels of the target.
# -----------------------------------------------------------------------------


# Rows of each sample by which the features are judged, and the least of them.
JUDGED_ROWS, FEWEST_JUDGED = 1_000, 8
# Share of the mean variance that is added to every direction.
ADDED_VARIANCE = 1e-2


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What was known after some iterations.

    Attributes
    ----------
    iteration : int
        Iterations done.
    loss : float
        Mean of the loss since the record before.
    class_weight : array of shape (K,)
        Weights of the classes from here on; the largest is one where they move.
    n_effective : float or None
        Effective number of classes in the target, exp(H(mean p)).
    entropy : float or None
        Mean entropy of the target rows' class probabilities, in nats.
    domain_auc : float or None
        How well a linear discriminant of the features tells target from source; one
        half: not at all. None where a sample has fewer than 8 rows, and, like the two
        above, without a target.
    """

    iteration: int
    loss: float
    class_weight: Array
    n_effective: float | None = None
    entropy: float | None = None
    domain_auc: float | None = None


def effective_classes(prior: Array) -> float:
    """Return exp(H(prior)), the effective number of classes."""
    return float(np.exp(entr(prior).sum()))


def linear_auc(features: Array, features_target: Array) -> float | None:
    """Return how well a linear discriminant tells rows apart that it was not fitted to.

    It is fitted to every other row, at most 1,000 of each sample, and judged on those
    between.
    """
    samples = []
    for part in (features, features_target):
        n_rows = min(len(part), JUDGED_ROWS)
        chosen = np.linspace(0, len(part) - 1, n_rows).astype(int)
        samples.append(part[chosen].astype(float))
    if min(map(len, samples)) < FEWEST_JUDGED:
        return None
    fitted = [part[::2] for part in samples]
    centered = np.vstack([part - part.mean(axis=0) for part in fitted])
    spread = centered.T @ centered / len(centered)
    d = spread.shape[0]
    spread[np.diag_indices(d)] += (
        ADDED_VARIANCE * np.trace(spread) / d + np.finfo(float).tiny
    )
    direction = np.linalg.solve(spread, fitted[1].mean(axis=0) - fitted[0].mean(axis=0))
    judged = [part[1::2] @ direction for part in samples]
    labels = np.repeat([0, 1], [len(part) for part in judged])
    return float(roc_auc_score(labels, np.concatenate(judged)))


# -----------------------------------------------------------------------------
# The rows of a training and their batches.
# -----------------------------------------------------------------------------


# Batches have their own stream of random numbers.
BATCHES = 1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Both samples in an order of their own, so that nothing depends on the user's.

    A row is drawn in proportion to its weight: weight two is the row twice, zero its
    absence, to the bit.

    Attributes
    ----------
    X, y : arrays of shape (n, ...), (n,)
        Source rows that count, and places of their classes.
    weight : array of shape (n,)
    target : array of shape (m, ...) or None
    n_classes : int
    """

    X: Array
    y: Indices
    weight: Array
    target: Array | None
    n_classes: int

    @classmethod
    def of(
        cls,
        X: Array,
        y: Indices,
        weight: Array,
        target: Array | None,
        n_classes: int,
        shape: tuple[int, ...],
    ) -> "TrainingRows":
        """Put flat rows in their order, and give them their shape."""
        order = canonical_order(np.column_stack([X, y]), weight)
        aims = None
        if target is not None:
            aims = target[canonical_order(target, np.ones(len(target)))]
            aims = aims.reshape(-1, *shape)
        return cls(
            X[order].reshape(-1, *shape), y[order], weight[order], aims, n_classes
        )

    @cached_property
    def source(self) -> Tensor:
        """The source rows as a tensor."""
        return torch.as_tensor(self.X, dtype=torch.float32)

    @cached_property
    def labels(self) -> Tensor:
        """The places of the classes as a tensor."""
        return torch.as_tensor(self.y, dtype=torch.int64)

    @cached_property
    def aims(self) -> Tensor | None:
        """The target rows as a tensor; None without a target."""
        if self.target is None:
            return None
        return torch.as_tensor(self.target, dtype=torch.float32)

    def batch(
        self, seed: int, step: int, size: int, balanced: bool
    ) -> tuple[Indices, Indices]:
        """Return source and target rows of one step, drawn with replacement.

        `balanced`: every class as often as any other, whatever its rows weigh together.
        """
        rng = np.random.default_rng([seed, BATCHES, step])
        u = rng.random(size)
        if balanced:
            drawn = rng.integers(0, self.n_classes, size)
            ends = self._class_ends
            low = ends[drawn]
            places = low + u * (ends[drawn + 1] - low)
            rows = self._by_class[_places(self._class_totals, places)]
        else:
            rows = _places(self._totals, u * self._totals[-1])
        aims = np.zeros(0, dtype=np.intp)
        if self.target is not None:
            aims = (rng.random(size) * len(self.target)).astype(np.intp)
        return rows, aims

    @cached_property
    def _totals(self) -> Array:
        return np.cumsum(self.weight)

    @cached_property
    def _by_class(self) -> Indices:
        return np.argsort(self.y, kind="stable")

    @cached_property
    def _class_totals(self) -> Array:
        return np.cumsum(self.weight[self._by_class])

    @cached_property
    def _class_ends(self) -> Array:
        last = np.searchsorted(self.y[self._by_class], np.arange(self.n_classes + 1))
        return np.concatenate([[0.0], self._class_totals])[last]


def _places(totals: Array, at: Array) -> Indices:
    """Return which of the running totals a number falls under."""
    return np.minimum(np.searchsorted(totals, at, side="right"), totals.size - 1)


# -----------------------------------------------------------------------------
# Stochastic gradients: batches, losses, updates of the class weights, the guard.
# -----------------------------------------------------------------------------


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
    """The state of a training between iterations, as plain values.

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

    class_weight: Tensor
    done: int = 0
    history: list[TrainingRecord] = field(default_factory=list)
    warm: dict[str, Tensor] | None = None
    first_effective: float | None = None
    first_entropy: float | None = None
    partial: bool = True
    best: dict[str, Tensor] | None = None
    best_entropy: float = math.inf
    waited: int = 0
    ended: str = ""

    def chosen(self) -> dict[str, Tensor] | None:
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
        losses: list[Tensor] = []
        while memory.done < schedule.n_steps and not memory.ended:
            losses.append(self._step(memory.done))
            memory.done += 1
            if schedule.is_update(memory.done):
                self._update(float(torch.stack(losses).mean()))
                losses = []
                if on_update(self):
                    break
        chosen = memory.chosen()
        if chosen is not None:
            self.network.load_state_dict(chosen)

    def _step(self, step: int) -> Tensor:
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

    def _loss(self, step: int) -> Tensor:
        recipe, network, schedule = self.recipe, self.network, self.recipe.schedule
        places, aims = self.rows.batch(
            recipe.seed, step, recipe.batch_size, recipe.class_balanced
        )
        labels = self.rows.labels[places]
        weight = self._class_weight(step)[labels]
        features = network.features_of(self.rows.source[places])
        logits = network.head(features)
        losses = functional.cross_entropy(logits, labels, reduction="none")
        loss = (weight * losses).mean()
        target = self.rows.aims if recipe.method != "source" else None
        if target is None or not schedule.has_adversary(step):
            return loss
        features_target = network.features_of(target[aims])
        logits_target = network.head(features_target)
        reversal = schedule.reversal(step)
        odds = network.odds_of(features, reversal)
        odds_target = network.odds_of(features_target, reversal)
        # The domain losses, a mean over each half of the batch.
        loss = loss + (weight * functional.softplus(odds)).mean()
        loss = loss + functional.softplus(-odds_target).mean()
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

    def _class_weight(self, step: int) -> Tensor:
        """Return the weights of the classes: those that move wait for the warm-up."""
        if self.recipe.moving and not (
            self.recipe.moves_weights and self.recipe.schedule.is_warm(step)
        ):
            return torch.ones_like(self.memory.class_weight)
        return self.memory.class_weight

    def _update(self, loss: float) -> None:
        """Evaluate the whole target, move the class weights, and check the guard."""
        memory, recipe = self.memory, self.recipe
        finite = math.isfinite(loss) and all(
            bool(torch.isfinite(part).all()) for part in self.network.parameters()
        )
        if not finite:
            if memory.warm is None:
                raise InvalidInputError(
                    f"the training diverged within {memory.done} iterations: choose a "
                    f"learning_rate below {recipe.learning_rate:g}"
                )
            memory.ended = DIVERGED
            return
        if self.rows.aims is None:
            weight = memory.class_weight.double().numpy().copy()
            memory.history.append(TrainingRecord(memory.done, loss, weight))
            return
        features, logits = self.network.evaluate(self.rows.aims)
        prior = torch.softmax(logits, 1).mean(0)
        self.network.class_prior.copy_(prior)
        if recipe.guard > 0.0 and memory.done == recipe.schedule.warm_steps:
            memory.partial = is_partial(logits.argmax(1).numpy(), logits.shape[1])
        if recipe.moves_weights:
            moved = prior / prior.max()
            memory.class_weight = moved if memory.partial else torch.ones_like(moved)
        shares = prior.double().numpy()
        features_source = self.network.evaluate(self.rows.source)[0]
        record = TrainingRecord(
            memory.done,
            loss,
            memory.class_weight.double().numpy().copy(),
            effective_classes(shares / shares.sum()),
            float(class_entropies(logits).mean()),
            linear_auc(features_source.numpy(), features.numpy()),
        )
        memory.history.append(record)
        self._judge(record)

    def _judge(self, record: TrainingRecord) -> None:
        """End the training where the classes collapse or patience is exhausted."""
        memory, recipe = self.memory, self.recipe
        assert record.n_effective is not None
        assert record.entropy is not None
        if memory.done < recipe.schedule.warm_steps:
            return
        if memory.first_effective is None:
            memory.warm = self.network.state_copy()
            memory.first_effective = record.n_effective
            memory.first_entropy = record.entropy
        least = recipe.guard * memory.first_effective
        if recipe.can_collapse and record.n_effective < least:
            memory.ended = COLLAPSED
            return
        if recipe.monitor is None:
            return
        if record.entropy < memory.best_entropy:
            memory.best, memory.waited = self.network.state_copy(), 0
            memory.best_entropy = record.entropy
            return
        memory.waited += 1
        if recipe.patience is not None and memory.waited >= recipe.patience:
            memory.ended = OUT_OF_PATIENCE


def is_partial(predicted: Indices, n_classes: int) -> bool:
    r"""Return whether predicted labels leave classes out.

    With the shares :math:`h` of the labels, where :math:`e^{H(h)} \le 0.75 K`. A class
    of small weight is learned less and predicted less, and weighs still less then:
    where all classes are there, weights that move take them away one by one.
    """
    shares = np.bincount(predicted, minlength=n_classes) / predicted.size
    return effective_classes(shares) <= PARTIAL_UP_TO * n_classes


# -----------------------------------------------------------------------------
# A training with a checkpoint, from which it resumes after an interruption.
# -----------------------------------------------------------------------------


def train(
    network: DomainNetwork,
    rows: TrainingRows,
    recipe: Recipe,
    class_weight: Array,
    *,
    path: str | Path | None,
    checkpoint: dict[str, Any] | None,
    facts: dict[str, Any],
    callback: Callable[[TrainingRecord], object] | None,
) -> tuple[Memory, bool]:
    """Train to the end; return the final state, and whether the callback ended it.

    Parameters
    ----------
    network, rows, recipe, class_weight : as in `Training`
    path : path or None
        The checkpoint that is written at every update.
    checkpoint : dict or None
        Its former content.
    facts : dict
        What `load_checkpoint` needs beside the weights.
    callback : callable or None
    """
    # The weights before the first step distinguish extractors.
    digests = {
        "parameters": data_digest(recipe, class_weight),
        "rows": data_digest(rows.source, rows.y, rows.weight, rows.aims),
        "networks": data_digest(*network.state_dict().values()),
    }
    training = Training(network, rows, recipe, class_weight)
    if checkpoint is not None:
        former = checkpoint.get("digests", {})
        others = [name for name, one in digests.items() if former.get(name) != one]
        if others:
            raise InvalidInputError(
                f"checkpoint {path} is of another training: {' and '.join(others)} "
                "differ; remove the file or name another"
            )
        network.load_state_dict(checkpoint["network"])
        training.optimizer.load_state_dict(checkpoint["optimizer"])
        training.memory = Memory.from_dict(checkpoint["memory"])
    stopped = False

    def on_update(training: Training) -> bool:
        nonlocal stopped
        if path is not None:
            write_checkpoint(
                path,
                {
                    **facts,
                    "network": network.state_dict(),
                    "optimizer": training.optimizer.state_dict(),
                    "memory": training.memory.to_dict(),
                    "digests": digests,
                    "seed": recipe.seed,
                },
            )
        if callback is not None and not training.memory.ended:
            stopped = bool(callback(training.memory.history[-1]))
        return stopped

    training.run(on_update)
    return training.memory, stopped
