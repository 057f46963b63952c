"""
What do the weight estimators make of one shift?
================================================

Two normal samples, so that the true ratio is known. Every method draws its own curve;
`AutoWeights` picks the simplest that is as good as the best by a score that holds out
rows of both samples. `RULSIF` estimates another ratio on purpose, one that is bounded.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import (
    KLIEP,
    KMM,
    RULSIF,
    ULSIF,
    AutoWeights,
    DiscriminatorWeights,
    LogLinearKLIEP,
)
from counterpoise.datasets import make_sinc_shift

shift = make_sinc_shift(n=500, m=300, mean=0.3, random_state=0)
truth = shift.ratio / shift.ratio.mean()
order = np.argsort(shift.X[:, 0])

methods = (KLIEP, ULSIF, RULSIF, KMM, LogLinearKLIEP, DiscriminatorWeights, AutoWeights)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(shift.X[order, 0], truth[order], color="black", lw=3, label="true ratio")
for method in methods:
    fitted = method(random_state=0).fit(shift.X, X_target=shift.X_target)
    off = np.mean((fitted.weights_ - truth) ** 2)
    print(
        f"{method.__name__:<21} mean squared error {off:.4f}, "
        f"worth {fitted.effective_sample_size_:.0f} of {len(shift.X)} rows"
    )
    ax.plot(shift.X[order, 0], fitted.weights_[order], label=method.__name__)
print(f"chosen by AutoWeights: {fitted.weight_estimator_}")
ax.set(xlabel="x", ylabel="weight", ylim=(0, 8))
ax.legend()
plt.show()
