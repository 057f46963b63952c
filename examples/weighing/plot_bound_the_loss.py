"""
How much can a model lose, and how much do weights help?
========================================================

The discrepancy says how far apart two samples are in terms of what a class of models
can see. Weights of least discrepancy come with a proof that no others do much better,
and with the model's alpha the discrepancy bounds how far the model is from one trained
on labels of the target. Here these labels are known, so that the bound can be checked.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise import DiscrepancyWeights, bounds
from counterpoise.models import WeightedKernelRidge
from counterpoise.plot import plot_spectrum
from counterpoise.shift import discrepancy_spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
X_target = rng.normal(size=(250, 2)) * 0.6 + np.array([1.0, 0.0])
gamma, alpha = 0.5, 0.01

# The truth is a function of the class: a sum of kernels, of norm 1.9.
centers = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0]])
coefficients = np.array([1.0, -1.5, 0.7])
norm = np.sqrt(coefficients @ rbf_kernel(centers, gamma=gamma) @ coefficients)


def label(rows):
    return rbf_kernel(rows, centers, gamma=gamma) @ coefficients


kernel = {"kernel": "rbf", "gamma": gamma}
print(discrepancy_spectrum(X, X_target, n_permutations=19, random_state=0, **kernel))
weigher = DiscrepancyWeights(
    **kernel, standardize=False, add_constant=False, spread=0.01, tol=1e-2
)
weigher.fit(X, X_target=X_target)
print(f"proof: {weigher.solution_.certificate}")
removed = 1.0 - weigher.discrepancy_ / weigher.discrepancy_uniform_
print(f"weights remove {removed:.0%} of the discrepancy")
print(f"and are worth {weigher.effective_sample_size_:.0f} of {len(X)} rows")

ideal = WeightedKernelRidge(alpha=alpha, gamma=gamma, fit_intercept=False)
ideal.fit(X_target, label(X_target))
for name, weights, operator_norm in (
    ("unweighted", np.ones(len(X)), weigher.discrepancy_uniform_),
    ("weighted", weigher.weights_, weigher.discrepancy_),
):
    model = WeightedKernelRidge(alpha=alpha, gamma=gamma, fit_intercept=False)
    model.fit(X, label(X), weights)
    error = np.mean((model.predict(X_target) - label(X_target)) ** 2)
    rows = np.vstack([model.X_fit_, ideal.X_fit_])
    apart = np.concatenate([model.dual_coef_, -ideal.dual_coef_])
    distance = np.sqrt(apart @ rbf_kernel(rows, gamma=gamma) @ apart)
    bound = bounds.model_distance(operator_norm, norm_bound=norm, alpha=alpha)
    print(
        f"{name:<10} squared error on the target {error:.4f}; distance to the "
        f"target's own model {distance:.2f}, proved at most {bound.value:.2f}"
    )
print(f"by the form {bound.form!r}, assuming: {'; '.join(bound.assumptions)}")

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
plot_spectrum(weigher, ax=ax)
plt.show()
