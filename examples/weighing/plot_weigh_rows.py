"""
How do I weigh my training rows for where the model must work?
==============================================================

Two lines: choose weights, hand them to any learner as `sample_weight`. The truth is
known: a straight line, fitted to rows from the wrong place, is right for none of them;
weighted, it is right where the target is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from counterpoise import AutoWeights
from counterpoise.datasets import make_sinc_shift

shift = make_sinc_shift(mean=0.5, random_state=0)

auto = AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
weighted = LinearRegression().fit(shift.X, shift.y, sample_weight=auto.weights_)
plain = LinearRegression().fit(shift.X, shift.y)

for name, model in (("unweighted", plain), ("weighted", weighted)):
    error = np.mean((model.predict(shift.X_target) - shift.y_target) ** 2)
    print(f"{name:<10} squared error on the target {error:.3f}")
print(f"chosen: {auto.weight_estimator_}")
print(f"proof:  {auto.solution_.certificate}")
print(f"worth {auto.effective_sample_size_:.0f} of {len(shift.X)} rows")

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.scatter(shift.X[:, 0], shift.y, s=12 * auto.weights_, label="source, by weight")
ax.scatter(shift.X_target[:, 0], shift.y_target, s=6, color="0.7", label="target")
ends = np.quantile(shift.X, [0.05, 0.99])[:, None]
ax.plot(ends, plain.predict(ends), color="black", ls=":", label="unweighted")
ax.plot(ends, weighted.predict(ends), color="tab:red", label="weighted")
ax.set(xlabel="x", ylabel="y")
ax.legend()
plt.show()
