"""Data sets with a known distribution shift."""

from counterpoise.datasets.generators import (
    make_class_subset,
    make_gaussian_shift,
    make_mixture_shift,
    make_sinc_shift,
    make_uncovered_cluster,
)
from counterpoise.datasets.loaders import (
    Shift,
    load_breast_cancer_shift,
    load_diabetes_shift,
)
from counterpoise.datasets.pose import make_articulated_pose

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
