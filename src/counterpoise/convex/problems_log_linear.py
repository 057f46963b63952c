"""Log-linear models of a density ratio, and what is provable about them.

The statistics of a sample are an array, a sparse matrix, or anything with `shape`,
`S @ v`, `q @ S` and `S[rows]`, so that pairs of columns need not be written out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from counterpoise.convex.certificate import Certificate
from counterpoise.convex.objectives.columns import slices
from counterpoise.numerics.arrays import Array
from counterpoise.numerics.conjugate_gradients import conjugate_gradients

# Up to so many coordinates a Hessian is written out and factored.
DIRECT = 500
# Entries of a block of rows: 64 MiB of float64.
BLOCK = 2**23
