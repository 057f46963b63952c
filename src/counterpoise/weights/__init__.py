"""Importance weight estimators."""
