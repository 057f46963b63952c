"""Monitoring of a deployed model."""
