"""Shifts whose truth is known: drawn ones with their density ratio, and tables."""

from counterpoise.datasets.make import (
    make_articulated_pose,
    make_class_subset,
    make_gaussian_shift,
    make_mixture_shift,
    make_sinc_shift,
    make_uncovered_cluster,
)
from counterpoise.datasets.shift import Shift
from counterpoise.datasets.tables import load_breast_cancer_shift, load_diabetes_shift

__all__ = [
    "Shift",
    "load_breast_cancer_shift",
    "load_diabetes_shift",
    "make_articulated_pose",
    "make_class_subset",
    "make_gaussian_shift",
    "make_mixture_shift",
    "make_sinc_shift",
    "make_uncovered_cluster",
]
