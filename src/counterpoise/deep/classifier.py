"""A classifier for partial domain adaptation with neural networks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from counterpoise.data.arrays import estimator_matrix, estimator_samples
from counterpoise.data.labels_and_weights import as_classes, as_weights, row_counts
from counterpoise.data.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    as_seed,
    check_choice,
    check_parameters,
)
from counterpoise.data.progress import announce
from counterpoise.deep.network import DomainNetwork, scaled_rows
from counterpoise.deep.training import (
    COLLAPSED,
    DIVERGED,
    METHODS,
    SCHEDULES,
    Memory,
    Recipe,
    Schedule,
    TrainingRecord,
    TrainingRows,
    labels_from,
    plain_labels,
    read_checkpoint,
    seed_torch,
    torch_settings,
    train,
    write_checkpoint,
)
from counterpoise.errors import (
    InvalidInputError,
    InvalidTypeError,
    NoTargetWarning,
    WeakClassifierWarning,
    warn_user,
)
from counterpoise.linalg.arrays import Array
from counterpoise.optim.certificate import Certificate
from counterpoise.optim.loop import attested
from counterpoise.selection.classes import select_classes

# -----------------------------------------------------------------------------
# Validation.
# -----------------------------------------------------------------------------


CLASS_WEIGHTS = ("moving", "selection")


def flat(
    X: object, shape: tuple[int, ...] | None = None
) -> tuple[Any, tuple[int, ...]]:
    """Return rows of more dimensions as vectors, and the shape of a row.

    Parts of a tuple are flattened one by one; all rows must have one shape.
    """
    if isinstance(X, tuple):
        parts = [flat(part, shape) for part in X]
        return tuple(part for part, _ in parts), parts[0][1] if parts else ()
    dimensions = tuple(getattr(X, "shape", ()))
    if len(dimensions) <= 2:
        return X, dimensions[1:]
    if shape is not None and dimensions[1:] != shape:
        raise InvalidInputError(
            f"rows have the shape {dimensions[1:]}, fit had {shape}"
        )
    rows = np.asarray(X)
    return rows.reshape(len(rows), -1), dimensions[1:]


def read_class_weight(value: object, classes: NDArray[Any]) -> Array | str:
    """Return weights of the classes, or the name of a rule.

    None: ones. A mapping names classes; those that it leaves out have weight one.
    """
    if value is None:
        return np.ones(classes.size)
    if isinstance(value, str):
        return check_choice("class_weight", value, CLASS_WEIGHTS)
    if isinstance(value, Mapping):
        unknown = set(value) - set(classes.tolist())
        if unknown:
            raise InvalidInputError(f"class_weight names {sorted(unknown)!r}, not in y")
        value = [value.get(label, 1.0) for label in classes.tolist()]
    return as_weights(value, classes.size, name="class_weight", of="classes_")


# -----------------------------------------------------------------------------
# The classifier.
# -----------------------------------------------------------------------------


# A class whose estimated share of the target is below this share of 1/K is absent.
ABSENT_BELOW = 0.1
# Mean entropy of the target rows, over log K, above which a classifier is weak.
WEAK_ABOVE = 0.5


class PartialDomainClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    r"""Partial domain adaptation network, for a target with some of the classes.

    A network has features f, class probabilities p and a discriminator d, the
    probability of the target. With weights :math:`\gamma` of the classes, :math:`c_i`
    the class of source row i, H entropies in nats, and means over batches of either
    sample, it minimizes

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
        extractor: torch.nn.Module | None = None,
        hidden: int = 128,
        schedule: str = "late",
        class_weight: str | ArrayLike | Mapping[Any, float] | None = "moving",
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
        checkpoint: str | Path | None = None,
        n_threads: int = 1,
        callback: Callable[[TrainingRecord], object] | None = None,
        random_state: int | np.random.RandomState | None = None,
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
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_target: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train the network on both samples.

        Parameters
        ----------
        X : array of shape (n, d); with an extractor of any shape (n, ...)
            The labeled source rows.
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
        shape: tuple[int, ...] = ()
        if self.extractor is not None:
            X, shape = flat(X)
            X_target = None if X_target is None else flat(X_target, shape)[0]
        X, target = estimator_samples(self, X, X_target, reset=True)
        labels, weight = as_classes(y, len(X)), row_counts(sample_weight, len(X))
        used = weight > 0.0
        self.classes_, places = np.unique(labels[used], return_inverse=True)
        if self.classes_.size < 2:
            raise InvalidInputError(
                f"y has 1 class, {self.classes_[0]!r}: a classifier needs two classes "
                "or more"
            )
        class_weight = read_class_weight(self.class_weight, self.classes_)
        if target is None:
            message = "no X_target was given: the network learns from the source alone"
            warn_user(message, NoTargetWarning)
        source, self._row_shape_ = X[used], shape or (X.shape[1],)
        if len(self._row_shape_) == 1:
            source = scaled_rows(source)
            target = None if target is None else scaled_rows(target)
        rows = TrainingRows.of(
            source, places, weight[used], target, self.classes_.size, self._row_shape_
        )
        announce("training the network")
        with torch_settings(self.n_threads):
            network, memory, stopped = self._train(rows, class_weight)
            self._set_fitted(network, memory, stopped or bool(memory.ended))
            self._set_prior(rows)
        self._warn(memory)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, self._rules)
        if self.monitor not in (None, "entropy"):
            raise InvalidInputError(
                f"monitor must be None or 'entropy', got {self.monitor!r}"
            )
        if self.patience is not None and self.monitor is None:
            raise InvalidInputError("patience needs monitor='entropy'")
        if not isinstance(self.class_balanced, bool | np.bool_):
            raise InvalidTypeError(
                f"class_balanced must be True or False, got {self.class_balanced!r}"
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidTypeError(
                f"callback must be callable or None, got {self.callback!r}"
            )
        if not isinstance(self.extractor, torch.nn.Module | None):
            raise InvalidTypeError(
                f"extractor must be a torch module or None, got {self.extractor!r}"
            )

    def _train(
        self, rows: TrainingRows, class_weight: Array | str
    ) -> tuple[DomainNetwork, Memory, bool]:
        """Return the network, the final state, and whether the callback ended it."""
        checkpoint = None
        if self.checkpoint is not None and Path(self.checkpoint).is_file():
            checkpoint = read_checkpoint(self.checkpoint)
        if self.random_state is not None:
            seed = as_seed(self.random_state)
        elif checkpoint is not None:
            seed = checkpoint["seed"]
        else:
            # The global generators are left unchanged.
            seed = int(np.random.default_rng().integers(2**31))
        recipe = Recipe(
            method=self.method,
            schedule=Schedule(
                self.schedule, self.warm_up, self.adversary, self.max_iter
            ),
            moving=isinstance(class_weight, str) and class_weight == "moving",
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
        if not isinstance(class_weight, str):
            first = class_weight / class_weight.max()
        elif class_weight == "selection" and rows.target is not None:
            X = rows.X.reshape(len(rows.X), -1)
            X_target = rows.target.reshape(len(rows.target), -1)
            shares = select_classes(X, rows.y, X_target, random_state=seed).shares
            first = shares / shares.max()
        else:
            first = np.ones(rows.n_classes)
        seed_torch(seed, 0)
        network = DomainNetwork.of(
            self.extractor, self._row_shape_, rows.n_classes, self.hidden
        )
        memory, stopped = train(
            network,
            rows,
            recipe,
            first,
            path=self.checkpoint,
            checkpoint=checkpoint,
            facts={"facts": self._facts()},
            callback=self.callback,
        )
        return network, memory, stopped

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

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the classes of rows."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: ArrayLike, present_only: bool = False) -> Array:
        """Return the probabilities of the classes, in the order of `classes_`.

        Parameters
        ----------
        X : array of shape (k, d)
        present_only : bool
            Whether classes judged absent get none, and the others all.

        Returns
        -------
        array of shape (k, K)
        """
        logits = self._features_and_logits(X)[1]
        if present_only:
            logits = np.where(self._present(), logits, -np.inf)
        return softmax(logits, axis=1)

    def transform(self, X: ArrayLike) -> Array:
        """Return the features of rows, an array of shape (k, n_features)."""
        return self._features_and_logits(X)[0]

    def save_checkpoint(self, path: str | Path) -> None:
        """Write the fitted network to a file, in the place of an older one.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self, "network_")
        memory = Memory(
            torch.as_tensor(self.class_weight_),
            self.n_iter_,
            self.history_,
            partial=self.partial_,
            ended=self.solution_.ended,
        )
        write_checkpoint(
            path,
            {
                "facts": self._facts(),
                "network": self.network_.state_dict(),
                "memory": memory.to_dict(),
                "stopped": self.stopped_early_,
            },
        )

    def load_checkpoint(self, path: str | Path) -> Self:
        """Take a network from a file, of `save_checkpoint` or of `checkpoint=`.

        Nothing in the file is run (`weights_only=True`). An extractor must be given to
        the constructor as it was.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        self
        """
        content = read_checkpoint(path)
        facts, memory = content["facts"], Memory.from_dict(content["memory"])
        self.classes_ = labels_from(facts["classes"])
        self._row_shape_ = tuple(facts["row_shape"])
        self.n_features_in_ = int(np.prod(self._row_shape_))
        if facts["feature_names"] is not None:
            self.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
        state = memory.chosen() or content["network"]
        width = int(state["discriminator.0.bias"].shape[0])
        with torch_settings(self.n_threads):
            network = DomainNetwork.of(
                self.extractor, self._row_shape_, self.classes_.size, width
            )
            try:
                network.load_state_dict(state)
                # Weights that were written in double precision stay as they were.
                self._set_fitted(
                    network, memory, bool(content.get("stopped", memory.ended))
                )
                self.network_.load_state_dict(state)
            except RuntimeError as error:
                raise InvalidInputError(
                    f"{path} holds another network than the estimator: {error}"
                ) from error
        self._take_prior()
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.network_.head.in_features)

    def _facts(self) -> dict[str, Any]:
        """Return the metadata of a checkpoint, as plain values."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": plain_labels(self.classes_),
            "row_shape": list(self._row_shape_),
            "feature_names": None if names is None else list(map(str, names)),
        }

    def _set_fitted(
        self, network: DomainNetwork, memory: Memory, stopped: bool
    ) -> None:
        """Set the fitted attributes, except the prior."""
        # In double precision a row's answer does not depend on its neighbors.
        self.network_ = network.eval() if network.tuned else network.eval().double()
        self.history_ = memory.history
        self.n_iter_ = memory.done
        self.guarded_ = memory.ended == COLLAPSED
        self.partial_ = memory.partial
        self.stopped_early_ = stopped
        self.class_weight_ = memory.class_weight.double().numpy().copy()
        self.solution_ = attested(
            self.class_weight_,
            Certificate("none", objective=memory.history[-1].loss),
            np.inf,
            n_iter=memory.done,
            ended=memory.ended,
        )

    def _set_prior(self, rows: TrainingRows) -> None:
        """Estimate the shares of the classes; those of the source without a target."""
        share = np.bincount(rows.y, weights=rows.weight, minlength=rows.n_classes)
        prior = share / share.sum()
        if rows.target is not None:
            prior = softmax(self._evaluate(rows.target)[1], axis=1).mean(axis=0)
        self.network_.class_prior.copy_(torch.as_tensor(prior))
        self._take_prior()

    def _take_prior(self) -> None:
        prior = self.network_.class_prior.double().numpy()
        self.class_prior_ = prior / prior.sum()
        self.absent_classes_ = self.classes_[~self._present()]

    def _present(self) -> NDArray[np.bool_]:
        """Return which classes are judged present."""
        return self.class_prior_ >= ABSENT_BELOW / self.classes_.size

    def _features_and_logits(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return features and class logits of rows."""
        check_is_fitted(self, "network_")
        if self.extractor is not None:
            X, _ = flat(X, self._row_shape_)
        rows = estimator_matrix(self, X, reset=False)
        if len(self._row_shape_) == 1:
            rows = scaled_rows(rows)
        with torch_settings(self.n_threads):
            return self._evaluate(rows.reshape(-1, *self._row_shape_))

    def _evaluate(self, rows: Array) -> tuple[Array, Array]:
        kind = next(self.network_.head.parameters()).dtype
        parts = self.network_.evaluate(torch.as_tensor(rows, dtype=kind))
        features, logits = (part.double().numpy() for part in parts)
        return features, logits
