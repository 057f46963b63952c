"""The list of solvers is complete, and everything derived from it is."""

import importlib
import inspect
import pkgutil

from reference.solver_settings import SETTINGS

from counterpoise import optim
from counterpoise.optim.registry import SOLVERS


def classes_that_step():
    """Return every class under optim with `begin`, `step` and `accepts`."""
    found = set()
    for module in pkgutil.walk_packages(optim.__path__, "counterpoise.optim."):
        loaded = importlib.import_module(module.name)
        for _, kind in inspect.getmembers(loaded, inspect.isclass):
            own = kind.__module__.startswith("counterpoise.optim.")
            steps = all(hasattr(kind, name) for name in ("begin", "step", "accepts"))
            if own and steps and not getattr(kind, "_is_protocol", False):
                found.add(kind)
    return found


def test_every_solver_is_registered():
    assert {kind for kinds in SOLVERS.values() for kind in kinds} == classes_that_step()


def test_registered_solvers_are_public():
    for kinds in SOLVERS.values():
        for kind in kinds:
            assert kind.__name__ in optim.__all__
            assert getattr(optim, kind.__name__) is kind
    assert len(set(optim.__all__)) == len(optim.__all__)


def test_every_solver_has_a_setting_and_every_setting_a_name_of_its_own():
    for family, kinds in SOLVERS.items():
        assert {one.kind for one in SETTINGS if one.family == family} == set(kinds)
    names = [one.name for one in SETTINGS]
    assert len(set(names)) == len(names)
