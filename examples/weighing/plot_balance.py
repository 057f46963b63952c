"""
Do the weights make the samples alike?
======================================

The picture that people who match patients look at first: how far each column's means
are apart, before and after weighing. Below 0.1 standard deviations is the usual guide.
"""

import matplotlib.pyplot as plt

from counterpoise import AutoWeights
from counterpoise.datasets import load_diabetes_shift
from counterpoise.plot import plot_balance

shift = load_diabetes_shift()
try:
    import pandas as pd

    X, X_target = (
        pd.DataFrame(rows, columns=shift.feature_names)
        for rows in (shift.X, shift.X_target)
    )
except ImportError:
    X, X_target = shift.X, shift.X_target

fitted = AutoWeights(random_state=0).fit(X, X_target=X_target)
print(f"chosen: {fitted.weight_estimator_}")
print(f"worth {fitted.effective_sample_size_:.0f} of {len(X)} rows")
print(f"proof: {fitted.solution_.certificate}")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_balance(fitted, ax=ax)
plt.show()
