"""What a trained network does: predict, transform, live in a file."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from counterpoise.convex import Certificate, Solution, attested
from counterpoise.deep.checkpoint import (
    labels_from,
    plain_labels,
    read_checkpoint,
    write_checkpoint,
)
from counterpoise.deep.isolation import own_settings
from counterpoise.deep.network import DomainNetwork, scaled_rows
from counterpoise.deep.reading import flat
from counterpoise.deep.rows import TrainingRows
from counterpoise.deep.training import COLLAPSED, Memory
from counterpoise.deep.watching import TrainingRecord
from counterpoise.numerics.arrays import Array
from counterpoise.validation import InvalidInput, estimator_matrix

# A class whose estimated share of the target is below this share of 1/K is absent.
ABSENT_BELOW = 0.1


class FittedNetwork(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """A network with its classes; `fit` of a subclass trains it."""

    extractor: Any
    n_threads: int
    classes_: Any
    network_: DomainNetwork
    history_: list[TrainingRecord]
    n_iter_: int
    guarded_: bool
    partial_: bool
    stopped_early_: bool
    solution_: Solution
    _row_shape_: tuple[int, ...]

    def predict(self, X: Any) -> Any:
        """Return the classes of rows."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any, present_only: bool = False) -> Array:
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
        logits = self._asked(X)[1]
        if present_only:
            logits = np.where(self._present(), logits, -np.inf)
        out: Array = softmax(logits, axis=1)
        return out

    def transform(self, X: Any) -> Array:
        """Return the features of rows, an array of shape (k, n_features)."""
        return self._asked(X)[0]

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
        kept = read_checkpoint(path)
        facts, memory = kept["facts"], Memory.from_dict(kept["memory"])
        self.classes_ = labels_from(facts["classes"])
        self._row_shape_ = tuple(facts["row_shape"])
        self.n_features_in_ = int(np.prod(self._row_shape_))
        if facts["feature_names"] is not None:
            self.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
        state = memory.chosen() or kept["network"]
        width = int(state["discriminator.0.bias"].shape[0])
        with own_settings(self.n_threads):
            network = DomainNetwork.of(
                self.extractor, self._row_shape_, self.classes_.size, width
            )
            try:
                network.load_state_dict(state)
                # Weights that were written in double precision stay as they were.
                self._settle(network, memory, bool(kept.get("stopped", memory.ended)))
                self.network_.load_state_dict(state)
            except RuntimeError as error:
                raise InvalidInput(
                    f"{path} holds another network than the estimator: {error}"
                ) from error
        self._take_prior()
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.network_.head.in_features)

    def _facts(self) -> dict[str, Any]:
        """Return what a file needs beside the weights, all of it plain."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": plain_labels(self.classes_),
            "row_shape": list(self._row_shape_),
            "feature_names": None if names is None else list(map(str, names)),
        }

    def _settle(self, network: DomainNetwork, memory: Memory, stopped: bool) -> None:
        """Set what a user sees of a training, but for the prior."""
        # In double precision a row's answer does not depend on its neighbours.
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
            prior = softmax(self._through(rows.target)[1], axis=1).mean(axis=0)
        self.network_.class_prior.copy_(torch.as_tensor(prior))
        self._take_prior()

    def _take_prior(self) -> None:
        prior = self.network_.class_prior.double().numpy()
        self.class_prior_ = prior / prior.sum()
        self.absent_classes_ = self.classes_[~self._present()]

    def _present(self) -> Any:
        """Return which classes are judged present."""
        return self.class_prior_ >= ABSENT_BELOW / self.classes_.size

    def _asked(self, X: Any) -> tuple[Array, Array]:
        """Return features and class logits of a user's rows."""
        check_is_fitted(self, "network_")
        if self.extractor is not None:
            X, _ = flat(X, self._row_shape_)
        rows = estimator_matrix(self, X, reset=False)
        if len(self._row_shape_) == 1:
            rows = scaled_rows(rows)
        with own_settings(self.n_threads):
            return self._through(rows.reshape(-1, *self._row_shape_))

    def _through(self, rows: Array) -> tuple[Array, Array]:
        kind = next(self.network_.head.parameters()).dtype
        found = self.network_.asked(torch.as_tensor(rows, dtype=kind))
        features, logits = (part.double().numpy() for part in found)
        return features, logits
