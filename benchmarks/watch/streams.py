"""Streams whose change is known: ten normal columns, a label that the first tells."""

import numpy as np


class Sign:
    """A classifier that goes by the sign of the first column."""

    _estimator_type = "classifier"
    classes_ = np.array([0, 1])

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def rows(rng, n, *, shift=0.0, error=0.15, d=10):
    """Return rows and labels: column 3 moved, labels wrong with the probability."""
    X = rng.standard_normal((n, d))
    X[:, 3] += shift
    y = ((X[:, 0] > 0) ^ (rng.random(n) < error)).astype(int)
    return X, y


def question(reference, X_stream, size):
    """Return what NannyML is asked about a stream in chunks of a size."""
    model = Sign()
    X, y = reference
    predicted, predicted_stream = model.predict(X), model.predict(X_stream)
    return {
        "X": X,
        "y": y,
        "predicted": predicted,
        "probability": 0.15 + 0.7 * predicted,
        "X_stream": X_stream,
        "predicted_stream": predicted_stream,
        "probability_stream": 0.15 + 0.7 * predicted_stream,
        "chunk": np.arange(len(X_stream)) // size,
    }
