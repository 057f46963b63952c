"""The door of networks: what came is checked, merged and named, once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoise.learners.convex_network.asked import (
    constraint_name,
    read_column_signs,
    read_group_intervals,
    read_interval,
)
from counterpoise.learners.convex_network.asked import Asked
from counterpoise.learners.convex_network.training_rows import NO_GROUP, NetworkRows
from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    InvalidInput,
    InvalidType,
    as_classes,
    check_integer,
    column_names,
    estimator_samples,
    row_counts,
    warn_user,
)
from counterpoise.validation.parameters import (
    Choice,
    Integer,
    Number,
    Rule,
    check_parameters,
)

# What parameters may be.
RULES: Mapping[str, Rule] = {
    "alpha": Number(0.0),
    "max_rounds": Integer(1),
    "tol": Number(0.0, closed="neither"),
    "validation_fraction": Number(0.0, 1.0, "left"),
    "infeasible": Choice(("raise", "warn")),
    "max_time": Number(0.0, options=(None,)),
}


class Given(NamedTuple):
    """What came through the door of `fit`."""

    rows: NetworkRows
    target: Array | None
    target_share: Array | None
    asked: Asked


def check(net: Any) -> None:
    """Refuse parameters that make no sense."""
    check_parameters(net, RULES)
    for name in ("standardize", "warm_start", "certify_rounds"):
        if not isinstance(getattr(net, name), bool | np.bool_):
            value = getattr(net, name)
            raise InvalidType(f"{name} must be True or False, got {value!r}")
    if not isinstance(net.hidden, tuple | list):
        raise InvalidType(
            "hidden must be a tuple of numbers of units, such as (6, 6), got "
            f"{net.hidden!r}"
        )
    for k, size in enumerate(net.hidden):
        check_integer(f"hidden[{k}]", size, low=1)
    if net.callback is not None and not callable(net.callback):
        raise InvalidType(f"callback must be callable, got {net.callback!r}")


def read(
    net: Any, X: Any, y: Any, sample_weight: Any, X_target: Any, groups: Any
) -> Given:
    """Return what a network's `fit` was given: checked, merged, by its names."""
    check(net)
    if net.target_mean is not None and X_target is None:
        raise InvalidInput("target_mean is about X_target: pass it to fit")
    if net.group_means is not None and groups is None:
        raise InvalidInput("group_means is about groups: pass them to fit")
    if X_target is not None and net.target_mean is None:
        warn_user("X_target is not used: target_mean is None")
    if groups is not None and net.group_means is None:
        warn_user("groups are not used: group_means is None")
    names = column_names(X)
    matrix, target = estimator_samples(net, X, X_target, reset=True, min_rows=2)
    weights = row_counts(sample_weight, len(matrix))
    labels = net._labels(y, weights)
    counted = weights > 0.0
    codes = np.full(len(matrix), NO_GROUP)
    means: dict[int, Any] = {}
    group_names: list[Any] = []
    if net.group_means is not None:
        all_groups = as_classes(groups, len(matrix), name="groups")
        group_names = list(np.unique(all_groups[counted]))
        means = read_group_intervals(net.group_means, group_names)
        for code in means:
            codes[all_groups == group_names[code]] = code
    asked = _asked(net, matrix.shape[1], names, means, group_names)
    rows = NetworkRows.merged(matrix, labels, weights, codes)
    if net.target_mean is None or target is None:
        return Given(rows, None, None, asked)
    distinct, counts = np.unique(target + 0.0, axis=0, return_counts=True)
    return Given(rows, distinct, counts / counts.sum(), asked)


def _asked(
    net: Any,
    n_columns: int,
    names: Sequence[str] | None,
    means: Mapping[int, Any],
    group_names: Sequence[Any],
) -> Asked:
    signs, rises = (
        read_column_signs(name, getattr(net, name), n_columns, names)
        for name in ("monotonic_cst", "monotonic_on_rows")
    )
    target = None
    if net.target_mean is not None:
        target = read_interval("target_mean", net.target_mean)
    if not net._takes_means:
        for name, some in (
            ("group_means", means),
            ("target_mean", target),
            ("monotonic_cst", signs),
            ("monotonic_on_rows", rises),
        ):
            if some:
                raise InvalidInput(f"{name} of a classifier is for two classes")
    labels: Sequence[Any] = range(n_columns) if names is None else names
    told = {
        **{
            ("group_means", k): constraint_name("group_means", group_names[k])
            for k in means
        },
        **{
            ("monotonic_cst", k): constraint_name("monotonic_cst", labels[k])
            for k in signs
        },
        **{
            ("monotonic_on_rows", k): constraint_name("monotonic_on_rows", labels[k])
            for k in rises
        },
    }
    own = net._own_constraints()
    told |= own.pop("names", {})
    return Asked(
        group_means=means,
        target_mean=target,
        everywhere=signs,
        on_rows=rises,
        names=told,
        **own,
    )
