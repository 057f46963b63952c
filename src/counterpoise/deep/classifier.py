"""A classifier whose features serve a target that has only some of the classes."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from counterpoise.deep.fitted_network import FittedNetwork
from counterpoise.deep.isolation import own_settings, seed_torch
from counterpoise.deep.network import DomainNetwork, scaled_rows
from counterpoise.deep.reading import read_class_weight, read_rows
from counterpoise.deep.resuming import kept_training, trained
from counterpoise.deep.rows import TrainingRows
from counterpoise.deep.schedule import SCHEDULES, Schedule
from counterpoise.deep.training import (
    COLLAPSED,
    DIVERGED,
    METHODS,
    Memory,
    Recipe,
    first_weights,
)
from counterpoise.engine.progress import announce
from counterpoise.numerics.arrays import Array
from counterpoise.selection import select_classes
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    NoTargetWarning,
    WeakClassifierWarning,
    as_seed,
    warn_user,
)
from counterpoise.validation.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    check_parameters,
)

# Mean entropy of the target rows, over log K, above which a classifier is weak.
WEAK_ABOVE = 0.5


class PartialDomainClassifier(FittedNetwork):
    r"""Classifier with features learned for a target that has some of the classes.

    A network has features f, class probabilities p and a discriminator d, the
    probability of the target. With weights :math:`\gamma` of the classes, :math:`c_i`
    the class of source row i, H entropies in nats, and means over batches of either
    sample, it minimises

    .. math::

        \frac{1}{n_s} \sum_s \gamma_{c_i} L_y
        + \frac{1}{n_s} \sum_s \gamma_{c_i} L_d + \frac{1}{n_t} \sum_t L_d
        + \nu \Big[ \frac{1}{n_s} \sum_s \gamma_{c_i} (1 + H(d_i)) H(p_i)
        + \frac{1}{n_t} \sum_t (1 + H(d_i)) H(p_i) \Big]
        + \frac{\mu}{K} \sum_k \max_t p_{ik}

    where the gradient of the two domain losses is turned round, times -c, on its way
    to the features: they learn to hide the domain. :math:`\gamma` and
    :math:`1 + H(d)` are constants to the gradient. The weights
    :math:`\gamma = \bar p / \max \bar p`, with the mean over all target rows, are
    worked out anew twelve times, and one before the first time. An iteration is a pass
    of two batches, forward and back.

    Parameters
    ----------
    method : {"sspda", "pada", "dann", "source"}
        "sspda": all of it. "pada": without the last two terms. "dann": without them
        and with weights of one. "source": the class loss alone.
    extractor : torch module or None
        Rows in, features out; a copy is tuned at a tenth of the rate. None: one hidden
        layer with ReLU.
    hidden : int
        Width of that layer, and of the discriminator's.
    schedule : {"late", "published"}
        "late": the source is learned alone for `warm_up`, then the other terms
        begin, the reversal rising to c = `adversary`. "published": the adversary
        begins at once and rises to c = 1, so that features are aligned to all classes
        before the weights are known.
    class_weight : "moving", None, array of shape (K,), mapping or "selection"
        "moving": :math:`\gamma` as above, with "sspda" and "pada", after the warm-up.
        None: ones. An array, or a mapping from labels to weights (one where it has
        none), divided by the largest: as it is, throughout, with any method.
        "selection": the shares of the classes by `select_classes`, likewise.
    entropy, selection : float
        :math:`\nu` and :math:`\mu`; the latter rises from zero and is reached at half
        of the training. Keep :math:`\mu \le \nu / 3`: selection alone is content with
        one class.
    adversary : float
        Top of the reversal coefficient c of the schedule "late".
    warm_up : float
        Share of the training before class weights, entropy and selection count.
    max_iter : int
        Iterations.
    batch_size : int
        Rows of each sample in an iteration.
    learning_rate : float
        Rate at the start; it is divided by (1 + 10 t)**0.75 at the share t of the
        training.
    momentum, weight_decay : float
        Of the stochastic gradient.
    class_balanced : bool
        Whether source rows are drawn by class, every class as often as any other.
    guard : float
        Where the effective number of classes, exp(H(mean p)), falls below this share
        of what it was at the end of the warm-up, the training stops and the warm-up's
        network is returned, with a warning. Methods that can collapse: "sspda" and,
        where weights move, "pada". And weights do not move where the labels predicted
        then are worth more than 0.75 K classes: all seem to be there. 0: neither.
    monitor : None or "entropy"
        "entropy": of the networks at the updates since the warm-up that of least mean
        target entropy is returned, not the last. Target labels are never seen.
    patience : int or None
        With `monitor`: stop after so many updates without a smaller entropy.
    checkpoint : path or None
        A file that is written at every update. If it is there, `fit` goes on from it,
        and ends as it would have, to the bit.
    n_threads : int
        Threads of torch.
    callback : callable or None
        Called with the record of `history_` at every update; True ends the training.
    random_state : int, RandomState or None
        Seed of first weights, batches and dropout. None: a new one every time.

    Attributes
    ----------
    classes_ : array of shape (K,)
    class_prior_ : array of shape (K,)
        Estimated shares of the classes in the target: the mean of their probabilities.
    class_weight_ : array of shape (K,)
        The last weights of the classes.
    absent_classes_ : array
        Classes whose estimated share is below 0.1 / K. A class of one or two target
        rows will be among them.
    history_ : list of TrainingRecord
        Iteration, loss, class_weight, n_effective, entropy and domain_auc at every
        update.
    guarded_ : bool
        Whether the classes collapsed.
    partial_ : bool
        Whether some classes seemed to be missing after the warm-up, so that weights
        could move.
    stopped_early_ : bool
        Whether patience, the callback or the guard ended the training.
    n_iter_ : int
    network_ : torch module
    solution_ : Solution
        The class weights; of a certificate of kind "none".

    Notes
    -----
    Nothing is proved about a network. What can be looked at instead: `domain_auc`,
    `entropy` and `n_effective` of the last record. A row of X is scaled to length
    sqrt(d)/2; arrays of more than two dimensions (images, for an extractor) are taken
    as they are. Rows have no order, and one of weight two is the row twice. Where the
    mean entropy of the target rows after the warm-up exceeds half of log K the source
    classifier is weak, its errors are amplified, and a warning says so.

    Target classes that the source does not have are out of scope: each such row goes
    to some class.

    The text that goes with 1 + H(d) in its publication says that rows whose domain is
    sure weigh more; by the formula they weigh less, which is what it is for. Published
    figures of these methods are often the best over the training by the target's
    labels; here it is the last iterate.

    References
    ----------
    Ganin et al. (2016) on gradient reversal; Cao, Ma, Long and Wang (2018) on "pada";
    Zohrizadeh (2019) on "sspda".

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoise.deep import PartialDomainClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 6
    >>> centers = 3.0 * rng.normal(size=(6, 12))
    >>> X = centers[y] + rng.normal(size=(300, 12))
    >>> X_target = X[y < 3] + 0.5
    >>> model = PartialDomainClassifier(learning_rate=0.1, max_iter=200, random_state=0)
    >>> model.fit(X, y, X_target=X_target).absent_classes_.tolist()
    [3, 4, 5]
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "method": Choice(METHODS),
        "hidden": Integer(1),
        "schedule": Choice(SCHEDULES),
        "entropy": Number(0.0),
        "selection": Number(0.0),
        "adversary": Number(0.0),
        "warm_up": Number(0.0, 1.0, closed="left"),
        "max_iter": Integer(1),
        "batch_size": Integer(1),
        "learning_rate": Number(0.0, closed="neither"),
        "momentum": Number(0.0, 1.0, closed="left"),
        "weight_decay": Number(0.0),
        "guard": Number(0.0, 1.0),
        "patience": Integer(1, options=(None,)),
        "n_threads": Integer(1),
    }

    def __init__(
        self,
        method: str = "sspda",
        *,
        extractor: Any = None,
        hidden: int = 128,
        schedule: str = "late",
        class_weight: Any = "moving",
        entropy: float = 0.1,
        selection: float = 0.03,
        adversary: float = 0.2,
        warm_up: float = 1 / 3,
        max_iter: int = 600,
        batch_size: int = 36,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
        class_balanced: bool = False,
        guard: float = 0.35,
        monitor: str | None = None,
        patience: int | None = None,
        checkpoint: Any = None,
        n_threads: int = 1,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.extractor = extractor
        self.hidden = hidden
        self.schedule = schedule
        self.class_weight = class_weight
        self.entropy = entropy
        self.selection = selection
        self.adversary = adversary
        self.warm_up = warm_up
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.class_balanced = class_balanced
        self.guard = guard
        self.monitor = monitor
        self.patience = patience
        self.checkpoint = checkpoint
        self.n_threads = n_threads
        self.callback = callback
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, X_target: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train the network on both samples.

        Parameters
        ----------
        X : array of shape (n, d); with an extractor of any shape (n, ...)
            The labelled source rows.
        y : array of shape (n,)
            Their classes.
        X_target : array of shape (m, d), or a tuple of such
            The target rows; a tuple is stacked and never cut by cross-validation. None:
            as method "source", with a `NoTargetWarning`.
        sample_weight : array of shape (n,), optional
            In proportion to which source rows are drawn.

        Returns
        -------
        self
        """
        self._check_parameters()
        read = read_rows(self, X, y, X_target, sample_weight)
        given = read_class_weight(self.class_weight, read.classes)
        if read.target is None:
            told = "no X_target was given: the network learns from the source alone"
            warn_user(told, NoTargetWarning)
        scaled, aims = read.X, read.target
        self._row_shape_ = read.shape
        if len(read.shape) == 1:
            scaled = scaled_rows(scaled)
            aims = None if aims is None else scaled_rows(aims)
        rows = TrainingRows.of(
            scaled, read.y, read.weight, aims, read.classes.size, read.shape
        )
        self.classes_ = read.classes
        announce("training the network")
        with own_settings(self.n_threads):
            network, memory, stopped = self._train(rows, given)
            self._settle(network, memory, stopped or bool(memory.ended))
            self._set_prior(rows)
        self._warn(memory)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, self._rules)
        if self.monitor not in (None, "entropy"):
            raise InvalidInput(
                f"monitor must be None or 'entropy', got {self.monitor!r}"
            )
        if self.patience is not None and self.monitor is None:
            raise InvalidInput("patience needs monitor='entropy'")
        if not isinstance(self.class_balanced, bool | np.bool_):
            raise InvalidType(
                f"class_balanced must be True or False, got {self.class_balanced!r}"
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidType(
                f"callback must be callable or None, got {self.callback!r}"
            )
        if not isinstance(self.extractor, torch.nn.Module | None):
            raise InvalidType(
                f"extractor must be a torch module or None, got {self.extractor!r}"
            )

    def _train(
        self, rows: TrainingRows, given: Array | str
    ) -> tuple[DomainNetwork, Memory, bool]:
        """Return the network, what the training remembers, and who stopped it."""
        kept = kept_training(self.checkpoint)
        recipe = self._recipe(kept, moving=isinstance(given, str) and given == "moving")
        fixed = self._fixed_weight(rows, given, recipe.seed)
        seed_torch(recipe.seed, 0)
        network = DomainNetwork.of(
            self.extractor, self._row_shape_, rows.n_classes, self.hidden
        )
        memory, stopped = trained(
            network,
            rows,
            recipe,
            first_weights(rows.n_classes, fixed),
            path=self.checkpoint,
            kept=kept,
            facts={"facts": self._facts()},
            callback=self.callback,
        )
        return network, memory, stopped

    def _fixed_weight(
        self, rows: TrainingRows, given: Array | str, seed: int
    ) -> Array | None:
        """Return weights that do not move; None where they do, or nothing is known."""
        if not isinstance(given, str):
            return given
        if given == "moving" or rows.target is None:
            return None
        X, X_target = (part.reshape(len(part), -1) for part in (rows.X, rows.target))
        return select_classes(X, rows.y, X_target, random_state=seed).shares

    def _recipe(self, kept: dict[str, Any] | None, *, moving: bool) -> Recipe:
        if self.random_state is not None:
            seed = as_seed(self.random_state)
        else:
            # The global generators are left as they were found.
            seed = (
                kept["seed"] if kept else int(np.random.default_rng().integers(2**31))
            )
        return Recipe(
            method=self.method,
            schedule=Schedule(
                self.schedule, self.warm_up, self.adversary, self.max_iter
            ),
            moving=moving,
            entropy=self.entropy,
            selection=self.selection,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            class_balanced=bool(self.class_balanced),
            guard=self.guard,
            monitor=self.monitor,
            patience=self.patience,
            seed=seed,
        )

    def _warn(self, memory: Memory) -> None:
        first, last = memory.first_effective, memory.history[-1]
        if memory.ended == COLLAPSED:
            warn_user(
                f"the classes collapsed: {last.n_effective:.1f} effective classes "
                f"after {memory.done} iterations, {first:.1f} at the end of the "
                "warm-up, whose network is returned",
                ConvergenceWarning,
            )
        if memory.ended == DIVERGED:
            warn_user(
                f"the training diverged within {memory.done} iterations: the network "
                "of the warm-up is returned; choose a smaller learning_rate",
                ConvergenceWarning,
            )
        unsure = memory.first_entropy
        most = WEAK_ABOVE * np.log(len(self.classes_))
        if self.method != "source" and unsure is not None and unsure > most:
            warn_user(
                "the source classifier is weak on the target: mean entropy "
                f"{unsure:.2f} of at most {np.log(len(self.classes_)):.2f} nats after "
                "the warm-up; adaptation amplifies its errors",
                WeakClassifierWarning,
            )
