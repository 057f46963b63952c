"""Saving and loading of fitted models with skops."""

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
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from counterpoise.data.parallel import current_budget
from counterpoise.errors import InvalidInputError, InvalidTypeError
from counterpoise.weights.registry import WEIGHT_ESTIMATORS

# -----------------------------------------------------------------------------
# What a model from a file holds, looked at before it is used.
#
# Compiled code of scikit-learn follows indices of trees and support vectors without a
# look: in a file that somebody made by hand they lead out of the arrays, or in
# circles.
# -----------------------------------------------------------------------------


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
        raise InvalidInputError(f"{name} of the model is not finite")


def _check_sparse(matrix: Any, name: str) -> None:
    try:
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
        else:
            matrix.tocoo().tocsr()
    except ValueError as error:
        raise InvalidInputError(f"{name} is no sparse matrix: {error}") from error


def _check_links(left: Any, right: Any, inner: Any, n_nodes: int) -> None:
    """Refuse inner nodes whose children do not both stand behind them."""
    place = np.flatnonzero(inner)
    for child in (left, right):
        where = np.asarray(child)[place].astype(np.int64)
        if ((where <= place) | (where >= n_nodes)).any():
            raise InvalidInputError("the nodes of a tree do not follow one another")


def _check_features(features: Any, n_columns: int) -> None:
    wanted = np.asarray(features).astype(np.int64)
    if ((wanted < 0) | (wanted >= n_columns)).any():
        raise InvalidInputError(
            f"a tree asks for a column that is not among its {n_columns}"
        )


def _check_tree(tree: Any, n_columns: int | None) -> None:
    n_nodes = int(tree.node_count)
    if not 0 < n_nodes == int(tree.capacity):
        raise InvalidInputError("the nodes of a tree are not as many as it says")
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    _check_links(left, right, inner, n_nodes)
    known = tree.n_features if n_columns is None else min(tree.n_features, n_columns)
    _check_features(tree.feature[inner], known)
    if not np.isfinite(tree.value).all():
        raise InvalidInputError("a leaf of a tree is not finite")


def _check_boosted(tree: Any, n_columns: int | None) -> None:
    nodes = tree.nodes
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.names is None:
        raise InvalidInputError("the nodes of a tree are no table")
    inner = nodes["is_leaf"] == 0
    _check_links(nodes["left"], nodes["right"], inner, nodes.size)
    most = n_columns if n_columns is not None else np.iinfo(np.int32).max
    _check_features(nodes["feature_idx"][inner], most)
    if not np.isfinite(nodes["value"]).all():
        raise InvalidInputError("a leaf of a tree is not finite")
    chosen = inner & (nodes["is_categorical"] != 0)
    sets = tree.raw_left_cat_bitsets
    if sets.ndim != 2 or sets.shape[1] != 8 or sets.dtype != np.uint32:
        raise InvalidInputError("the categories of a tree are no table")
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
        _check_features(nodes["feature_idx"][inner], known.size)
        if not known[nodes["feature_idx"][inner].astype(np.int64)].all():
            raise InvalidInputError("a tree takes a column of numbers for categories")


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
        raise InvalidInputError("the support vectors are not as many as the model says")


def _check_parts_of_columns(ensemble: Any) -> None:
    """Refuse members of an ensemble that take more columns than they are given."""
    for member, columns in zip(
        ensemble.estimators_, ensemble.estimators_features_, strict=True
    ):
        if getattr(member, "n_features_in_", len(columns)) != len(columns):
            raise InvalidInputError(
                "a member of the model takes other columns than it gets"
            )


# -----------------------------------------------------------------------------
# What a model file would take, looked at before anything in it is unpacked.
# -----------------------------------------------------------------------------


SCHEMA = "schema.json"
# No model of ours comes near so many arrays.
MOST_MEMBERS = 100_000
# Deflate makes nothing more than 1032 times smaller: a larger ratio is a lie.
LARGEST_RATIO = 1100
# What one byte of the schema takes, read.
BYTES_OF_SCHEMA = 20
# Outputs of a tree: far more than a model of ours has.
MOST_OUTPUTS = 1_000_000


def check_package(file: ZipFile) -> None:
    """Refuse a model file that is larger than it may be, or other than it says.

    Members, their ratio, their sizes unpacked and the shapes of arrays, which numpy
    would make room for before it reads: all that is refused above the memory budget
    (`counterpoise.data.memory_budget`, `--max-memory`), before it is unpacked.
    """
    _check_sizes(file)
    for name in file.namelist():
        if name.endswith(".npy"):
            _check_array(file.read(name), name)
        elif name.endswith(".npz"):
            with ZipFile(io.BytesIO(file.read(name))) as inner:
                _check_sizes(inner, f"{name}: ")
                for part in inner.namelist():
                    _check_array(inner.read(part), f"{name}: {part}")


def check_trees(file: ZipFile, schema: Any) -> None:
    """Refuse trees whose compiled constructor would read beyond what it is given."""
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
            or counts.ndim != 1
            or counts.dtype.kind != "i"
            or counts.size != outputs
            or (counts < 1).any()
        ):
            raise InvalidInputError("a tree's outputs and classes do not agree")


def _check_sizes(file: ZipFile, inside: str = "") -> None:
    budget = current_budget()
    members = file.infolist()
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
        weight = BYTES_OF_SCHEMA if one.filename == SCHEMA else 1
        total += weight * one.file_size
    if total > budget:
        raise InvalidInputError(
            f"{inside}it takes {total:,} bytes unpacked, and the memory budget is "
            f"{budget:,}: raise it (--max-memory, counterpoise.data.memory_budget) "
            "if you trust the file"
        )


def _check_array(packed: bytes, name: str) -> None:
    """Refuse an array whose header speaks of more than there is, or of objects."""
    stream = io.BytesIO(packed)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        header = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        header = np.lib.format.read_array_header_2_0(stream)
    else:
        raise InvalidInputError(f"{name!r} is an array of an unknown format {version}")
    shape, _, dtype = header
    if dtype.hasobject:
        raise InvalidInputError(f"{name!r} is an array of objects")
    said, there = prod(shape) * dtype.itemsize, len(packed) - stream.tell()
    if said != there or any(length < 0 for length in shape):
        raise InvalidInputError(
            f"{name!r} says that it is {shape} of {dtype}, {said} bytes, and has "
            f"{there}"
        )


def _states(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a schema."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


# -----------------------------------------------------------------------------
# Model files of earlier versions, whose types have moved to other rooms since.
# -----------------------------------------------------------------------------


def read_model_file(path: Path) -> bytes:
    """Return the bytes of a model file after checking what it would take to read it."""
    size = path.stat().st_size
    if size > current_budget():
        raise InvalidInputError(
            f"it has {size:,} bytes, and the memory budget is {current_budget():,}"
        )
    packed = path.read_bytes()
    with ZipFile(io.BytesIO(packed)) as file:
        check_package(file)
        check_trees(file, json.loads(file.read(SCHEMA)))
    return packed


def is_own_type(found: Any) -> bool:
    """Return whether something is an estimator or a record, which hold data alone."""
    return isinstance(found, type) and (
        is_dataclass(found) or issubclass(found, BaseEstimator)
    )


# -----------------------------------------------------------------------------
# Model files that are the same bytes for the same model.
# -----------------------------------------------------------------------------


# The earliest moment that a zip file can hold.
NO_TIME = (1980, 1, 1, 0, 0, 0)
# What our own records call the time that a search took: no two are alike.
SECONDS = "seconds"


def with_same_bytes(packed: bytes) -> bytes:
    """Return a model file without addresses of memory, moments and durations.

    Objects are numbered in the order in which the schema names them, plain values each
    by itself; members stand in the order of their numbers; the seconds of our searches
    are zero. One model gives one file, whichever process writes it.
    """
    with ZipFile(io.BytesIO(packed)) as file:
        schema = json.loads(file.read(SCHEMA))
        numbers: dict[Any, int] = {}
        files: dict[str, str] = {}
        _renumber(schema, numbers, files)
        out = io.BytesIO()
        with ZipFile(out, "w", ZIP_DEFLATED) as written:
            for name, new in files.items():
                written.writestr(_entry(new), file.read(name))
            written.writestr(_entry(SCHEMA), json.dumps(schema))
    return out.getvalue()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, NO_TIME)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    # Whichever system writes it.
    entry.create_system = 3
    return entry


def _renumber(part: Any, numbers: dict[Any, int], files: dict[str, str]) -> None:
    if isinstance(part, list):
        for one in part:
            _renumber(one, numbers, files)
        return
    if not isinstance(part, dict):
        return
    if "__id__" in part:
        # Whether two equal plain values are one object is chance.
        plain = part.get("__loader__") == "JsonNode"
        key = ("plain", len(numbers)) if plain else part["__id__"]
        part["__id__"] = numbers.setdefault(key, len(numbers) + 1)
    if part.get("__loader__") == "SetNode" and isinstance(part.get("content"), list):
        part["content"].sort(key=_without_numbers)
    if str(part.get("__module__")).startswith("counterpoise."):
        _forget_seconds(part)
    name = part.get("file")
    if isinstance(name, str):
        ending = PurePosixPath(name).suffix
        part["file"] = files.setdefault(name, f"{len(files) + 1}{ending}")
    for key, one in part.items():
        if key not in ("__id__", "file"):
            _renumber(one, numbers, files)


def _forget_seconds(part: dict[str, Any]) -> None:
    held = part.get("content")
    held = held.get("content") if isinstance(held, dict) else None
    found = held.get(SECONDS) if isinstance(held, dict) else None
    if isinstance(found, dict) and found.get("__loader__") == "JsonNode":
        found["content"] = "0.0"


def _without_numbers(state: Any) -> str:
    if isinstance(state, dict):
        state = {k: v for k, v in state.items() if k not in ("__id__", "file")}
    return json.dumps(state, sort_keys=True)


# -----------------------------------------------------------------------------
# Fitted models in files: what is written, and which types are read back.
# -----------------------------------------------------------------------------


# Compiled parts of scikit-learn's trees, which hold numbers alone; the type of an
# imputer's numbers; and what boosting with categories checks its input by. The function
# inside a `partial` is listed by itself, and refused unless it is here too.
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
# Scikit-learn's interfaces to other packages' arrays, by the package.
_ARRAYS_OF = {
    package: f"sklearn.externals.array_api_compat.{package}"
    for package in ("torch", "dask", "cupy")
}


def save(model: Any, path: str | Path, *, overwrite: bool = False) -> None:
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
    partial = Path(name)
    try:
        partial.write_bytes(with_same_bytes(sio.dumps(model)))
        # What this library would refuse to read is not written either.
        _check_types(sio.get_untrusted_types(file=partial), (), path)
        partial.chmod(0o666 & ~_umask())
        if overwrite:
            partial.replace(path)
            return
        try:
            # Unlike a renaming, a link never takes the place of another file.
            os.link(partial, path)
        except FileExistsError:
            _refuse_existing(path)
        except OSError:
            # Not every file system has links.
            _refuse_existing(path)
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


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
    # Only what is loaded counts as ours.
    for module in _MODULES_OF_MODELS:
        import_module(f"counterpoise.{module}")
    for entry in WEIGHT_ESTIMATORS:
        entry.load()
    with _refusals_of(path):
        packed = read_model_file(path)
        found = sio.get_untrusted_types(data=packed)
    _check_types(found, trusted, path)
    with _refusals_of(path):
        model = sio.loads(packed, trusted=found)
        check_contents(model)
    return model


@contextmanager
def _refusals_of(path: Path) -> Iterator[None]:
    """Say of which file it is that something is wrong, whatever raised it."""
    try:
        yield
    except Warning:
        # One that the user has made an error.
        raise
    except Exception as error:
        words = str(error) or type(error).__name__
        raise InvalidInputError(f"{path} is no model file: {words}") from error


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists: save(path, overwrite=True) replaces it")


def _check_types(found: list[str], trusted: tuple[str, ...], path: Path) -> None:
    refused = [
        name
        for name in found
        if name not in TRUSTED and name not in trusted and not _is_ours(name)
    ]
    if refused:
        raise InvalidTypeError(
            f"{path.name} needs types that are not known to be harmless: "
            f"{', '.join(refused)}; load_model(path, trusted=(...)) allows them by name"
        )


def _is_ours(name: str) -> bool:
    """Return whether a name is an estimator or a record of this library.

    Nothing is imported because a file names it: only what this room has loaded counts.
    """
    room, _, kind = name.rpartition(".")
    if not room.startswith("counterpoise.") or room not in sys.modules:
        return False
    return is_own_type(getattr(sys.modules[room], kind, None))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _skops() -> ModuleType:
    """Return skops, without torch and others, which it would load for nothing.

    To list scikit-learn's estimators it walks through all modules, and some of them are
    interfaces to torch's, Dask's and CuPy's arrays: those are passed over, as where the
    package is missing, unless it is loaded already.
    """
    if "skops.io" in sys.modules:
        return _imported()
    passed_over = [
        interface
        for package, interface in _ARRAYS_OF.items()
        if package not in sys.modules and interface not in sys.modules
    ]
    sys.modules.update(dict.fromkeys(passed_over))  # type: ignore[arg-type]
    try:
        return _imported()
    finally:
        for interface in passed_over:
            sys.modules.pop(interface, None)


def _imported() -> ModuleType:
    try:
        return import_module("skops.io")
    except ImportError as error:
        raise ImportError(
            'saving and loading models needs skops: pip install "counterpoise[cli]"'
        ) from error
