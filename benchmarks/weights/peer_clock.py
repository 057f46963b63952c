"""What the scripts of the peers share: reading, timing, writing."""

import sys
import time

import numpy as np


def answer(fit):
    """Time `fit(question)`, which returns weights, coefficients and centers.

    Short fits are timed up to ten times, none beginning after 1.5 s; the least counts.
    """
    with np.load(sys.argv[1]) as stored:
        question = dict(stored)
    seconds = []
    while len(seconds) < 10 and sum(seconds) < 1.5:
        began = time.process_time()
        weights, coef, centers = fit(question)
        seconds.append(time.process_time() - began)
    found = {"seconds": min(seconds), "weights": np.ravel(weights)}
    if coef is not None:
        found.update(coef=np.ravel(coef), centers=centers)
    np.savez(sys.argv[2], **found)
