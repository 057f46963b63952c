"""
How good will my model be on rows without labels?
=================================================

The score that everybody reports is the source's. Four other estimates speak of the
target, each right under an assumption of its own and with an interval; one leads. Here
the truth is known, and drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from counterpoise import estimate_performance
from counterpoise.datasets import make_sinc_shift
from counterpoise.plot import plot_performance

shift = make_sinc_shift(n=800, m=500, mean=0.5, random_state=0)
model = LinearRegression().fit(shift.X[:400], shift.y[:400])

told = estimate_performance(
    model, shift.X[400:], shift.y[400:], shift.X_target, random_state=0
)
truth = float(np.mean((model.predict(shift.X_target) - shift.y_target) ** 2))
print(told)
print(f"truth, from labels that were not used: {truth:.3f}")

figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
plot_performance(told, ax=ax)
ax.axvline(truth, color="tab:red", linestyle=":")
ax.set_title("the dotted line is the truth")
plt.show()
