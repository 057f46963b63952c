"""
When should I be called?
========================

A deployed model, week after week. Alerts over the inputs, the estimated and the
realized error are false with a probability of at most `false_alarm_rate` over all weeks
together, however often one looks. From week 9 on the inputs drift, and from week 15 on
labels mean something else.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from counterpoise import ModelMonitor
from counterpoise.plot import plot_monitor

rng = np.random.default_rng(0)


def week(n, moved=0.0, slope=1.0):
    X = rng.normal(moved, 1.0, size=(n, 3))
    return X, slope * X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)


X, y = week(1500)
model = Ridge().fit(X[:500], y[:500])
watch = ModelMonitor(model, X=X[500:], y=y[500:], false_alarm_rate=0.05, random_state=0)
for k in range(1, 25):
    moved = 0.1 * max(0, k - 8)
    rows, labels = week(150, moved, slope=2.0 if k >= 15 else 1.0)
    # A fifth of the labels come in.
    labels[rng.random(150) > 0.2] = np.nan
    look = watch.update(rows, y=labels, time=k)
    for alert in look.alerts:
        print(f"week {k}: {alert}")

figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
plot_monitor(watch, ax=ax)
plt.show()
