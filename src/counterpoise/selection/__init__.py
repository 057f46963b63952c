"""Few that stand for many: representatives, and what is made of them."""

from counterpoise.selection.path import SelectionPath
from counterpoise.selection.representatives import SubsetSelector

__all__ = ["SelectionPath", "SubsetSelector"]
