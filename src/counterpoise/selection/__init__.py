"""Few that stand for many: representatives, and what is made of them."""

from counterpoise.selection.classes import ClassSelection, select_classes
from counterpoise.selection.path import SelectionPath
from counterpoise.selection.representatives import SubsetSelector

__all__ = ["ClassSelection", "SelectionPath", "SubsetSelector", "select_classes"]
