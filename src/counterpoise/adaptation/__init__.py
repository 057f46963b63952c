"""Adaptation of a model to the target distribution."""
