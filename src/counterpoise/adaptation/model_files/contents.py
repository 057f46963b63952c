"""What a model from a file holds, looked at before it is used.

Compiled code of scikit-learn follows indices of trees and support vectors without a
look: in a file that somebody made by hand they lead out of the arrays, or in circles.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from counterpoise.validation import InvalidInput

# Numbers that a prediction is made of: not finite, they make no other.
COEFFICIENTS = frozenset(
    {
        "coef_",
        "coefs_",
        "intercept_",
        "intercepts_",
        "dual_coef_",
        "_dual_coef_",
        "_intercept_",
        "support_vectors_",
        "weights_",
        "X_fit_",
        "y_fit_",
        "components_",
        "cluster_centers_",
        "theta_",
    }
)
# Ensembles that hand rows to their trees without a look at the number of columns.
_ENSEMBLES = (
    "sklearn.tree.",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting",
)


def check_contents(model: Any) -> None:
    """Refuse a model whose trees, supports, sparse rows or coefficients are no such.

    Every child of a tree's node stands behind it in the table (so that no walk goes in
    circles, and none is longer than the table), every feature is a column of the
    model, every leaf's value is finite. Coefficients are finite. Sparse matrices and
    the tables of support vectors are what their shapes say.
    """
    for one, name, n_columns in _parts(model):
        kind = f"{type(one).__module__}.{type(one).__name__}"
        if name in COEFFICIENTS:
            _check_finite(one, name)
        if sparse.issparse(one):
            _check_sparse(one, name)
        elif kind == "sklearn.tree._tree.Tree":
            _check_tree(one, n_columns)
        elif kind.endswith("_hist_gradient_boosting.predictor.TreePredictor"):
            _check_boosted(one, n_columns)
        elif hasattr(one, "_bin_mapper") and hasattr(one, "_predictors"):
            _check_categories(one)
        elif hasattr(one, "_n_support") and hasattr(one, "_dual_coef_"):
            _check_supports(one)
        if hasattr(one, "estimators_features_"):
            _check_parts_of_columns(one)


def _parts(model: Any) -> Iterator[tuple[Any, str, int | None]]:
    """Yield what a model is made of: its name, and how many columns its rows have."""
    waiting: list[tuple[Any, str, int | None]] = [(model, "", None)]
    seen: dict[int, Any] = {}
    while waiting:
        one, name, n_columns = waiting.pop()
        if isinstance(one, np.ndarray) and one.dtype != object:
            yield one, name, n_columns
            continue
        if one is None or isinstance(one, str | bytes | int | complex):
            continue
        if isinstance(one, float):
            yield one, name, n_columns
            continue
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one, name, n_columns
        if isinstance(one, dict):
            waiting.extend((part, str(k), n_columns) for k, part in one.items())
        elif isinstance(one, list | tuple | set | frozenset):
            waiting.extend((part, name, n_columns) for part in one)
        elif isinstance(one, np.ndarray):
            waiting.extend((part, name, n_columns) for part in one.ravel().tolist())
        elif isinstance(one, partial):
            waiting.append((one.keywords, name, n_columns))
        else:
            own = _columns_below(one, n_columns)
            held = getattr(one, "__dict__", {})
            waiting.extend((part, str(k), own) for k, part in held.items())


def _columns_below(one: Any, above: int | None) -> int | None:
    """Return how many columns rows have where an object hands them on unlooked at."""
    own = getattr(one, "n_features_in_", None)
    # Ours are kinds of scikit-learn's.
    rooms = [kind.__module__ for kind in type(one).__mro__]
    if not any(room.startswith(_ENSEMBLES) for room in rooms):
        return None if own is not None else above
    if type(own) is not int and not isinstance(own, np.integer):
        return above
    return int(own) if above is None else min(int(own), above)


def _check_finite(found: Any, name: str) -> None:
    array = found.data if sparse.issparse(found) else found
    if isinstance(array, list | tuple | dict | set | frozenset):
        return
    try:
        numbers = np.asarray(array, dtype=float)
    except (TypeError, ValueError):
        return
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} of the model is not finite")


def _check_sparse(matrix: Any, name: str) -> None:
    try:
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
        else:
            matrix.tocoo().tocsr()
    except ValueError as error:
        raise InvalidInput(f"{name} is no sparse matrix: {error}") from error


def _check_links(left: Any, right: Any, inner: Any, n_nodes: int) -> None:
    """Refuse inner nodes whose children do not both stand behind them."""
    place = np.flatnonzero(inner)
    for child in (left, right):
        where = np.asarray(child)[place].astype(np.int64)
        if ((where <= place) | (where >= n_nodes)).any():
            raise InvalidInput("the nodes of a tree do not follow one another")


def _check_features(features: Any, n_columns: int) -> None:
    wanted = np.asarray(features).astype(np.int64)
    if ((wanted < 0) | (wanted >= n_columns)).any():
        raise InvalidInput(
            f"a tree asks for a column that is not among its {n_columns}"
        )


def _check_tree(tree: Any, n_columns: int | None) -> None:
    n_nodes = int(tree.node_count)
    if not 0 < n_nodes == int(tree.capacity):
        raise InvalidInput("the nodes of a tree are not as many as it says")
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    _check_links(left, right, inner, n_nodes)
    known = tree.n_features if n_columns is None else min(tree.n_features, n_columns)
    _check_features(tree.feature[inner], known)
    if not np.isfinite(tree.value).all():
        raise InvalidInput("a leaf of a tree is not finite")


def _check_boosted(tree: Any, n_columns: int | None) -> None:
    nodes = tree.nodes
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.names is None:
        raise InvalidInput("the nodes of a tree are no table")
    inner = nodes["is_leaf"] == 0
    _check_links(nodes["left"], nodes["right"], inner, nodes.size)
    most = n_columns if n_columns is not None else np.iinfo(np.int32).max
    _check_features(nodes["feature_idx"][inner], most)
    if not np.isfinite(nodes["value"]).all():
        raise InvalidInput("a leaf of a tree is not finite")
    chosen = inner & (nodes["is_categorical"] != 0)
    sets = tree.raw_left_cat_bitsets
    if sets.ndim != 2 or sets.shape[1] != 8 or sets.dtype != np.uint32:
        raise InvalidInput("the categories of a tree are no table")
    if (nodes["bitset_idx"][chosen].astype(np.int64) >= len(sets)).any():
        raise InvalidInput("a tree asks for categories that are not there")


def _check_categories(boosting: Any) -> None:
    """Refuse a tree that takes a column of numbers for one of categories."""
    known = np.asarray(boosting._bin_mapper.is_categorical_).astype(bool)
    if known.shape != (boosting.n_features_in_,):
        raise InvalidInput("the bins of the model are not those of its columns")
    for tree in (tree for trees in boosting._predictors for tree in trees):
        nodes = tree.nodes
        inner = (nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)
        _check_features(nodes["feature_idx"][inner], known.size)
        if not known[nodes["feature_idx"][inner].astype(np.int64)].all():
            raise InvalidInput("a tree takes a column of numbers for categories")


def _check_supports(machine: Any) -> None:
    """Refuse support vectors that are not as many as the machine says."""
    counts = np.asarray(machine._n_support)
    rows, dual = machine.support_vectors_, machine._dual_coef_
    n = int(np.asarray(machine.support_).size)
    n_classes = max(counts.size, 2)
    has_rows = rows.shape[0] == n or machine.kernel == "precomputed"
    pairs = n_classes * (n_classes - 1) // 2
    if not (
        counts.ndim == 1
        and counts.dtype.kind == "i"
        and (counts >= 0).all()
        and int(counts[:2].sum() if counts.size <= 2 else counts.sum()) >= n
        and has_rows
        and dual.shape == (n_classes - 1, n)
        and np.asarray(machine._intercept_).size == pairs
        and (rows.shape[0] == 0 or rows.shape[1] == machine.n_features_in_)
    ):
        raise InvalidInput("the support vectors are not as many as the model says")


def _check_parts_of_columns(ensemble: Any) -> None:
    """Refuse members of an ensemble that take more columns than they are given."""
    for member, columns in zip(
        ensemble.estimators_, ensemble.estimators_features_, strict=True
    ):
        if getattr(member, "n_features_in_", len(columns)) != len(columns):
            raise InvalidInput("a member of the model takes other columns than it gets")
