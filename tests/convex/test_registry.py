"""The list of solvers is complete, and everything derived from it is."""

import importlib
import inspect
import pkgutil

from counterpoise import convex
from counterpoise.convex.assignment import solvers as assignment
from counterpoise.convex.registry import SOLVERS, solver_names, solver_settings
from counterpoise.convex.spectral import solvers as spectral


def classes_that_step():
    """Return every class under convex with `begin`, `step` and `accepts`."""
    found = set()
    for module in pkgutil.walk_packages(convex.__path__, "counterpoise.convex."):
        loaded = importlib.import_module(module.name)
        for _, kind in inspect.getmembers(loaded, inspect.isclass):
            own = kind.__module__.startswith("counterpoise.convex.")
            steps = all(hasattr(kind, name) for name in ("begin", "step", "accepts"))
            if own and steps and not getattr(kind, "_is_protocol", False):
                found.add(kind)
    return found


def test_every_solver_is_registered():
    assert {one.kind for one in SOLVERS} == classes_that_step()


def test_public_names_are_those_of_the_registry():
    for name in solver_names("general"):
        assert name in convex.__all__
        assert inspect.isclass(getattr(convex, name))
    assert set(solver_names("assignment")) == set(assignment.__all__) - {"Trail"}
    assert set(solver_names("spectral")) == set(spectral.__all__) - {"best_solver"}
    assert all(hasattr(convex, name) for name in convex.__all__)
    assert len(set(convex.__all__)) == len(convex.__all__)


def test_every_solver_has_a_setting_and_every_setting_a_name_of_its_own():
    assert all(one.settings for one in SOLVERS)
    count = sum(len(one.settings) for one in SOLVERS)
    families = ("general", "spectral", "assignment")
    every = [name for family in families for name in solver_settings(family)]
    assert len(set(every)) == len(every) == count
