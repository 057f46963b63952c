"""What do skada's KLIEP and ours make of one shift, and of a line fitted with them?

The rows of `from_adapt`; skada 0.6.0 with the same three widths.
"""

from from_adapt import compared


def run(quick: bool) -> dict:
    return compared("skada", "skada_call.py")
