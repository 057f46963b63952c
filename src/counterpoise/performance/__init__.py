"""Estimated performance on unlabeled target data."""
