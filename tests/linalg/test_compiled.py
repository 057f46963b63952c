"""What numba keeps on disk may be cut off, foreign or impossible to write."""

import errno
import importlib
import importlib.util
import pkgutil
import sys

import pytest
from numba.core.caching import FunctionCache

import counterpoise.linalg
import counterpoise.optim
from counterpoise.linalg import compiled as module

SOURCE = """
from counterpoise.linalg.compiled import compiled

@compiled
def doubled(x):
    return 2.0 * x
"""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Return what imports a compiled function anew, its cache beside it."""
    path = tmp_path / "of_mine.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(module, "_warned", False)

    def imported():
        spec = importlib.util.spec_from_file_location("of_mine", path)
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        return found.doubled

    return imported


def files_of(tmp_path, ending):
    return list((tmp_path / "__pycache__").glob(f"*.{ending}"))


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80", b"something else"])
def test_a_cache_that_cannot_be_read_is_done_without(fresh, tmp_path, ending, content):
    assert fresh()(2.0) == 4.0
    kept = files_of(tmp_path, ending)
    assert kept
    for path in kept:
        path.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="cache of compiled functions cannot be"):
        assert fresh()(2.0) == 4.0


def test_a_full_disk_is_told_of_once_and_ends_nothing(fresh, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    function = fresh()
    with pytest.warns(RuntimeWarning, match="cannot be written .*no space left"):
        assert function(2.0) == 4.0
    # A second warning would be an error here.
    assert function(3) == 6.0


def test_what_is_whole_is_read_again(fresh):
    assert fresh()(2.0) == 4.0
    again = fresh()
    assert again(2.0) == 4.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_every_compiled_function_can_do_without_its_cache():
    for room in (counterpoise.linalg, counterpoise.optim):
        for one in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(one.name)
    found = [
        (module.__name__, name)
        for module in list(sys.modules.values())
        if (getattr(module, "__name__", "") or "").startswith("counterpoise")
        for name, one in vars(module).items()
        if type(one).__name__ == "CPUDispatcher"
        and getattr(one._cache.save_overload, "__name__", "") != "guarded"
        and type(one._cache).__name__ != "NullCache"
    ]
    assert found == []
