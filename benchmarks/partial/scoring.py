"""What is measured of a fit: accuracy, time, warnings."""

import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer


def classifier():
    """Return the user's classifier: logistic regression on rows of unit length."""
    return make_pipeline(Normalizer(), LogisticRegression(C=10.0, max_iter=1000))


def measured(fit):
    """Return what a fit gives, its CPU seconds and the names of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        found = fit()
        seconds = time.process_time() - began
    return found, seconds, sorted({one.category.__name__ for one in caught})


def percent(labels, truth) -> float:
    """Return how many labels are right, in per cent."""
    return 100.0 * float(np.mean(labels == truth))


def means(rows: list[list], columns: slice) -> list[float]:
    """Return the means of some columns of a table."""
    return np.mean([row[columns] for row in rows], axis=0).tolist()
