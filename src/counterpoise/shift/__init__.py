"""Diagnosis of distribution shift."""
