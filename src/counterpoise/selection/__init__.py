"""Few that stand for many: representatives, and what is made of them."""

from counterpoise.selection.classes import ClassSelection, select_classes
from counterpoise.selection.path import SelectionPath
from counterpoise.selection.prototypes import Prototypes, select_prototypes
from counterpoise.selection.representatives import SubsetSelector
from counterpoise.selection.rows import select_rows

__all__ = [
    "ClassSelection",
    "Prototypes",
    "SelectionPath",
    "SubsetSelector",
    "select_classes",
    "select_prototypes",
    "select_rows",
]
