"""Shifts drawn from known distributions, so that the density ratio is known."""

from counterpoise.datasets.make.articulated_pose import make_articulated_pose
from counterpoise.datasets.make.class_subset import make_class_subset
from counterpoise.datasets.make.gaussian import make_gaussian_shift
from counterpoise.datasets.make.mixture import make_mixture_shift
from counterpoise.datasets.make.sinc import make_sinc_shift
from counterpoise.datasets.make.uncovered_cluster import make_uncovered_cluster

__all__ = [
    "make_articulated_pose",
    "make_class_subset",
    "make_gaussian_shift",
    "make_mixture_shift",
    "make_sinc_shift",
    "make_uncovered_cluster",
]
