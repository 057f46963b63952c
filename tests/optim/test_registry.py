"""The list of solvers is complete, and everything derived from it is."""

import importlib
import inspect
import pkgutil

from counterpoise import optim
from counterpoise.optim.registry import SOLVERS, solver_names, solver_settings


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
    assert {one.kind for one in SOLVERS} == classes_that_step()


def test_registered_solvers_are_public():
    for family in ("general", "assignment", "spectral", "orthogonal", "network"):
        for name in solver_names(family):
            assert name in optim.__all__
            assert inspect.isclass(getattr(optim, name))
    assert len(set(optim.__all__)) == len(optim.__all__)


def test_every_solver_has_a_setting_and_every_setting_a_name_of_its_own():
    assert all(one.settings for one in SOLVERS)
    count = sum(len(one.settings) for one in SOLVERS)
    families = {one.family for one in SOLVERS}
    every = [name for family in families for name in solver_settings(family)]
    assert len(set(every)) == len(every) == count
