"""An empty stand-in for tensorflow and scikeras.

adapt imports both when it is imported, and uses neither for weights.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

NAMES = ("tensorflow", "scikeras", "keras")


class _Nothing:
    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        return _part(name)


class _Module(ModuleType):
    def __getattr__(self, name):
        return _part(name)


def _part(name):
    """Return an empty class for a class's name, else something callable."""
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {}) if name[:1].isupper() else _Nothing()


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] in NAMES:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__version__ = "2.20.0"
        module.__path__ = []


def install():
    """Let imports of these packages succeed."""
    sys.meta_path.insert(0, _Finder())
