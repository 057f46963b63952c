"""Saving and loading of fitted models with skops.

skops makes objects of trusted types only and runs no code of a file. Checked here in
addition: the memory that a file takes, and indices that compiled code of scikit-learn
follows without a check (trees, support vectors, sparse matrices).
"""

import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from counterpoise.data.parallel import current_budget
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.weights.registry import WEIGHT_ESTIMATORS

# Types beside those that skops trusts: compiled parts of scikit-learn's trees, which
# hold numbers alone; the type of an imputer's numbers; and what boosting with
# categories checks its input by. The function inside a `partial` is listed by itself.
TRUSTED = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "numpy.dtype",
    "functools.partial",
    "sklearn.utils.validation.check_array",
    # Up to scikit-learn 1.6 a list of columns that warns of its own end.
    "sklearn.compose._column_transformer._RemainderColsList",
)
# Modules whose classes a model file may contain, beside the weight estimators'.
_MODULES_OF_MODELS = (
    "adaptation.adapted",
    "adaptation.partial",
    "models",
    "networks",
    "selection",
    "subspaces",
    "svm",
    "twin_gp",
)


def save(model: object, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : fitted estimator
    path : str or Path
        A file that does not exist.
    overwrite : bool
        Whether it may exist: it is replaced when the new one is whole.
    """
    path = Path(path)
    if not overwrite:
        _refuse_existing(path)
    sio = _skops()
    handle, name = tempfile.mkstemp(dir=path.parent or ".", suffix=".partial")
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.write_bytes(sio.dumps(model))
        # What this library would refuse to read is not written either.
        _check_types(sio.get_untrusted_types(file=temporary), (), path)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        if not overwrite:
            _refuse_existing(path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_model(path: str | Path, *, trusted: tuple[str, ...] = ()) -> Any:
    """Return a model from a file that `Adapted.save` wrote.

    Nothing in the file is run: types are made that scikit-learn, numpy and this library
    define, and others are refused by name. A file that would take more than the memory
    budget, whose trees lead out of their tables or in circles, or whose coefficients
    are not finite, is refused too.

    Parameters
    ----------
    path : str or Path
    trusted : tuple of str
        Full names of further types to allow, those of an estimator of your own, say.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.linear_model import Ridge
    >>> from counterpoise import Adapted, load_model
    >>> model = Adapted(Ridge(), missing_target="ignore")
    >>> model = model.fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.skops")
    ...     again = load_model(Path(folder) / "model.skops")
    >>> bool((again.predict([[0.5]]) == model.predict([[0.5]])).all())
    True
    """
    path = Path(path)
    sio = _skops()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    # Only classes that are loaded count as ours.
    for module in _MODULES_OF_MODELS:
        import_module(f"counterpoise.{module}")
    for entry in WEIGHT_ESTIMATORS:
        entry.load()
    with _errors_name(path):
        packed = _checked_bytes(path)
        types = sio.get_untrusted_types(data=packed)
    _check_types(types, trusted, path)
    with _errors_name(path):
        model = sio.loads(packed, trusted=types)
        check_contents(model)
    return model


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists: save(path, overwrite=True) replaces it")


def _check_types(types: list[str], trusted: tuple[str, ...], path: Path) -> None:
    refused = [
        name
        for name in types
        if name not in TRUSTED and name not in trusted and not _is_ours(name)
    ]
    if refused:
        raise InvalidTypeError(
            f"{path.name} needs types that are not known to be harmless: "
            f"{', '.join(refused)}; load_model(path, trusted=(...)) allows them by name"
        )


def _is_ours(name: str) -> bool:
    """Return whether a name is an estimator or dataclass of ours, which hold data.

    Nothing is imported because a file names it.
    """
    module, _, kind = name.rpartition(".")
    if not module.startswith("counterpoise.") or module not in sys.modules:
        return False
    found = getattr(sys.modules[module], kind, None)
    return isinstance(found, type) and (
        is_dataclass(found) or issubclass(found, BaseEstimator)
    )


def _skops() -> ModuleType:
    """Return `skops.io`, imported without torch, Dask and CuPy."""
    # skops imports every module of scikit-learn, and these import the packages.
    slow = {
        f"sklearn.externals.array_api_compat.{package}"
        for package in ("torch", "dask", "cupy")
        if package not in sys.modules and "skops.io" not in sys.modules
    } - set(sys.modules)
    sys.modules.update(dict.fromkeys(slow))  # type: ignore[arg-type]
    try:
        return import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            'saving and loading models needs skops: pip install "counterpoise[cli]"'
        ) from error
    finally:
        for module in slow:
            sys.modules.pop(module, None)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Let every error say which file is not a model file."""
    try:
        yield
    except Warning:
        # One that the user has made an error.
        raise
    except Exception as error:
        message = str(error) or type(error).__name__
        raise InvalidInputError(f"{path} is no model file: {message}") from error


# -----------------------------------------------------------------------------
# Checks of a file before it is unpacked: memory, and the arguments of trees.
# -----------------------------------------------------------------------------


SCHEMA = "schema.json"
# No model of ours comes near so many arrays.
MOST_MEMBERS = 100_000
# Deflate makes nothing more than 1032 times smaller: a larger ratio is false.
LARGEST_RATIO = 1100
# Memory that one byte of the schema takes once it is parsed.
BYTES_OF_SCHEMA = 20
# Outputs of a tree: far more than a model of ours has.
MOST_OUTPUTS = 1_000_000


def _checked_bytes(path: Path) -> bytes:
    """Return the bytes of a model file, checked for what it takes to load them."""
    budget = current_budget()
    if path.stat().st_size > budget:
        raise InvalidInputError(
            f"it has {path.stat().st_size:,} bytes, and the memory budget is {budget:,}"
        )
    packed = path.read_bytes()
    with ZipFile(io.BytesIO(packed)) as file:
        _check_arrays(file)
        _check_tree_arguments(file, json.loads(file.read(SCHEMA)))
    return packed


def _check_arrays(file: ZipFile, inside: str = "") -> None:
    """Refuse a file or an array that would take more memory than there are bytes.

    numpy makes room for the shape in an array's header before it reads the array.
    """
    _check_sizes(file, inside)
    for name in file.namelist():
        if name.endswith(".npz"):
            with ZipFile(io.BytesIO(file.read(name))) as inner:
                _check_arrays(inner, f"{name}: ")
        elif name.endswith(".npy"):
            _check_array(file.read(name), f"{inside}{name}")


def _check_sizes(file: ZipFile, inside: str = "") -> None:
    budget, members = current_budget(), file.infolist()
    if len(members) > MOST_MEMBERS:
        raise InvalidInputError(
            f"{inside}{len(members)} members, at most {MOST_MEMBERS} are read"
        )
    total = 0
    for one in members:
        if one.file_size > LARGEST_RATIO * max(one.compress_size, 1):
            raise InvalidInputError(
                f"{inside}{one.filename!r} says that {one.compress_size} bytes are "
                f"{one.file_size} unpacked, which no compression gives"
            )
        total += (BYTES_OF_SCHEMA if one.filename == SCHEMA else 1) * one.file_size
    if total > budget:
        raise InvalidInputError(
            f"{inside}it takes {total:,} bytes unpacked, and the memory budget is "
            f"{budget:,}: raise it (--max-memory, counterpoise.data.memory_budget) "
            "if you trust the file"
        )


def _check_array(packed: bytes, name: str) -> None:
    stream = io.BytesIO(packed)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise InvalidInputError(f"{name!r} is an array of an unknown format {version}")
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject:
        raise InvalidInputError(f"{name!r} is an array of objects")
    size, there = prod(shape) * dtype.itemsize, len(packed) - stream.tell()
    if size != there or any(length < 0 for length in shape):
        raise InvalidInputError(
            f"{name!r} says that it is {shape} of {dtype}, {size} bytes, and has "
            f"{there}"
        )


def _check_tree_arguments(file: ZipFile, schema: object) -> None:
    """Refuse trees whose compiled constructor would read beyond its arguments."""
    for state in _states(schema):
        if state.get("__loader__") != "TreeNode":
            continue
        n_features, n_classes, n_outputs = state["__reduce__"]["args"]["content"]
        outputs = json.loads(n_outputs["content"])
        counts = np.load(io.BytesIO(file.read(n_classes["file"])), allow_pickle=False)
        if (
            type(outputs) is not int
            or type(json.loads(n_features["content"])) is not int
            or not 0 < outputs <= MOST_OUTPUTS
            or counts.shape != (outputs,)
            or counts.dtype.kind != "i"
            or (counts < 1).any()
        ):
            raise InvalidInputError("a tree's outputs and classes do not agree")


def _states(schema: object) -> Iterator[dict[str, Any]]:
    """Yield every object of a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


# -----------------------------------------------------------------------------
# Checks of a loaded model: indices and coefficients.
# -----------------------------------------------------------------------------


# Numbers that a prediction is made of.
COEFFICIENTS = (
    *("coef_", "coefs_", "intercept_", "intercepts_", "support_vectors_"),
    *("weights_", "X_fit_", "y_fit_", "components_", "cluster_centers_", "theta_"),
)
# Ensembles that pass rows to their trees without a check of the number of columns.
_ENSEMBLES = (
    "sklearn.tree.",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting",
)


def check_contents(model: object) -> None:
    """Refuse a model whose indices lead out of its arrays, or that is not finite.

    Every child of a tree's node stands behind it in the table (so that no walk goes in
    circles, and none is longer than the table), every feature is a column of the
    model, every leaf's value is finite. Coefficients are finite. Sparse matrices and
    the tables of support vectors are what their shapes say.
    """
    for one, name, n_columns in _parts(model):
        kind = f"{type(one).__module__}.{type(one).__name__}"
        if name.removeprefix("_").removeprefix("dual_") in COEFFICIENTS:
            _check_finite(one, f"{name} of the model")
        if sparse.issparse(one):
            _check_sparse(one, name)
        elif kind == "sklearn.tree._tree.Tree":
            _check_tree(one, n_columns)
        elif kind.endswith("_hist_gradient_boosting.predictor.TreePredictor"):
            _check_boosted_tree(one, n_columns)
        elif hasattr(one, "_bin_mapper") and hasattr(one, "_predictors"):
            _check_categories(one)
        elif hasattr(one, "_n_support") and hasattr(one, "_dual_coef_"):
            _check_supports(one)
        if hasattr(one, "estimators_features_"):
            for member, columns in zip(
                one.estimators_, one.estimators_features_, strict=True
            ):
                if getattr(member, "n_features_in_", len(columns)) != len(columns):
                    raise InvalidInputError(
                        "a member of the model takes other columns than it gets"
                    )


def _parts(model: object) -> Iterator[tuple[Any, str, int | None]]:
    """Yield all that a model holds: its name, and how many columns its rows have."""
    waiting: list[tuple[Any, str, int | None]] = [(model, "", None)]
    seen: dict[int, object] = {}
    while waiting:
        one, name, n_columns = waiting.pop()
        if one is None or isinstance(one, str | bytes | int | complex):
            continue
        is_numbers = isinstance(one, np.ndarray) and one.dtype != object
        if isinstance(one, float) or is_numbers:
            yield one, name, n_columns
            continue
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one, name, n_columns
        if isinstance(one, dict):
            waiting.extend((part, str(k), n_columns) for k, part in one.items())
        elif isinstance(one, list | tuple | set | frozenset | np.ndarray):
            parts = one.ravel().tolist() if isinstance(one, np.ndarray) else one
            waiting.extend((part, name, n_columns) for part in parts)
        elif isinstance(one, partial):
            waiting.append((one.keywords, name, n_columns))
        else:
            own = _columns_below(one, n_columns)
            held = getattr(one, "__dict__", {})
            waiting.extend((part, str(k), own) for k, part in held.items())


def _columns_below(one: object, above: int | None) -> int | None:
    """Return how many columns rows have where an object passes them on unchecked."""
    own = getattr(one, "n_features_in_", None)
    # Ours derive from scikit-learn's.
    modules = [kind.__module__ for kind in type(one).__mro__]
    if not any(module.startswith(_ENSEMBLES) for module in modules):
        return None if own is not None else above
    if type(own) is not int and not isinstance(own, np.integer):
        return above
    return int(own) if above is None else min(int(own), above)


def _check_finite(values: Any, what: str) -> None:
    """Refuse numbers that are not finite; containers are checked by their parts."""
    values = values.data if sparse.issparse(values) else values
    if isinstance(values, list | tuple | dict | set | frozenset):
        return
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return
    if not np.isfinite(numbers).all():
        raise InvalidInputError(f"{what} is not finite")


def _check_sparse(matrix: Any, name: str) -> None:
    try:
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
        else:
            matrix.tocoo().tocsr()
    except ValueError as error:
        raise InvalidInputError(f"{name} is no sparse matrix: {error}") from error


def _check_nodes(
    inner: NDArray[np.bool_],
    children: tuple[ArrayLike, ArrayLike],
    features: ArrayLike,
    n_columns: int,
    values: ArrayLike,
) -> None:
    """Refuse inner nodes with a child not behind them or a column that is not there."""
    place = np.flatnonzero(inner)
    for child in children:
        where = np.asarray(child)[place].astype(np.int64)
        if ((where <= place) | (where >= inner.size)).any():
            raise InvalidInputError("the nodes of a tree do not follow one another")
    columns = np.asarray(features)[place].astype(np.int64)
    if ((columns < 0) | (columns >= n_columns)).any():
        raise InvalidInputError(
            f"a tree asks for a column that is not among its {n_columns}"
        )
    _check_finite(values, "a leaf of a tree")


def _check_tree(tree: Any, n_columns: int | None) -> None:
    if not 0 < int(tree.node_count) == int(tree.capacity):
        raise InvalidInputError("the nodes of a tree are not as many as it says")
    left, right = tree.children_left, tree.children_right
    known = tree.n_features if n_columns is None else min(tree.n_features, n_columns)
    _check_nodes(left != -1, (left, right), tree.feature, known, tree.value)


def _check_boosted_tree(tree: Any, n_columns: int | None) -> None:
    nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.names is None:
        raise InvalidInputError("the nodes of a tree are no table")
    inner = nodes["is_leaf"] == 0
    known = n_columns if n_columns is not None else np.iinfo(np.int32).max
    children = nodes["left"], nodes["right"]
    _check_nodes(inner, children, nodes["feature_idx"], known, nodes["value"])
    if sets.ndim != 2 or sets.shape[1] != 8 or sets.dtype != np.uint32:
        raise InvalidInputError("the categories of a tree are no table")
    chosen = inner & (nodes["is_categorical"] != 0)
    if (nodes["bitset_idx"][chosen].astype(np.int64) >= len(sets)).any():
        raise InvalidInputError("a tree asks for categories that are not there")


def _check_categories(boosting: Any) -> None:
    """Refuse a tree that takes a column of numbers for one of categories."""
    known = np.asarray(boosting._bin_mapper.is_categorical_).astype(bool)
    if known.shape != (boosting.n_features_in_,):
        raise InvalidInputError("the bins of the model are not those of its columns")
    for tree in (tree for trees in boosting._predictors for tree in trees):
        nodes = tree.nodes
        inner = (nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)
        columns = nodes["feature_idx"][inner].astype(np.int64)
        if not np.isin(columns, np.flatnonzero(known)).all():
            raise InvalidInputError("a tree takes a column of numbers for categories")


def _check_supports(machine: Any) -> None:
    """Refuse support vectors that are not as many as the machine says."""
    counts = np.asarray(machine._n_support)
    rows, dual = machine.support_vectors_, machine._dual_coef_
    n = int(np.asarray(machine.support_).size)
    n_classes = max(counts.size, 2)
    has_rows = rows.shape[0] == n or machine.kernel == "precomputed"
    if not (
        counts.ndim == 1
        and counts.dtype.kind == "i"
        and (counts >= 0).all()
        and int(counts[:2].sum() if counts.size <= 2 else counts.sum()) >= n
        and has_rows
        and dual.shape == (n_classes - 1, n)
        and np.asarray(machine._intercept_).size == n_classes * (n_classes - 1) // 2
        and (rows.shape[0] == 0 or rows.shape[1] == machine.n_features_in_)
    ):
        raise InvalidInputError("the support vectors are not as many as the model says")
