"""Arrays, kernels, factorizations and compiled functions."""
