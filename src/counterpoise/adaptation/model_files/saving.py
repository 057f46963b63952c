"""Fitted models in files: what is written, and which types are read back."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from counterpoise.adaptation.model_files.contents import check_contents
from counterpoise.adaptation.model_files.moved_types import is_own_type, read_model_file
from counterpoise.adaptation.model_files.same_bytes import with_same_bytes
from counterpoise.validation import InvalidInput, InvalidType
from counterpoise.weights.registry import WEIGHTERS

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


def load(path: str | Path, *, trusted: tuple[str, ...] = ()) -> Any:
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
    >>> from counterpoise import Adapted, load
    >>> model = Adapted(Ridge(), missing_target="ignore")
    >>> model = model.fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> bool((again.predict([[0.5]]) == model.predict([[0.5]])).all())
    True
    """
    path = Path(path)
    sio = _skops()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    for entry in WEIGHTERS:
        # They load when first used, and only what is loaded counts as ours.
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
        raise InvalidInput(f"{path} is no model file: {words}") from error


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
        raise InvalidType(
            f"{path.name} needs types that are not known to be harmless: "
            f"{', '.join(refused)}; load(path, trusted=(...)) allows them by name"
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
