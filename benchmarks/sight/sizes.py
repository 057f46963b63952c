"""How many draws a question takes, and where its seeds begin: SEED and DRAWS."""

import os


def first_and_draws(quick: bool, few: int, many: int) -> tuple[int, int]:
    """Return the first seed and the number of draws, `few` of them with --quick."""
    draws = few if quick else many
    return int(os.environ.get("SEED", "0")), int(os.environ.get("DRAWS", str(draws)))
