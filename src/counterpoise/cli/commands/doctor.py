"""`counterpoise doctor`: what is installed, and whether it works."""

import argparse
import json
import sys
import time
from typing import Any

from counterpoise.cli.exits import FINE, NOT_PROVED
from counterpoise.cli.options import add_command
from counterpoise.cli.terminal import Block, cells, show
from counterpoise.cli.writing import check_json, write_record

CORE = ("numpy", "scipy", "scikit-learn", "numba", "clarabel")
EXTRAS = {
    "cli": ("pandas", "pyarrow", "rich", "skops"),
    "report": ("jinja2", "matplotlib"),
}


def add_doctor(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(
        commands,
        "doctor",
        "say what is installed, and test it",
        ("json", "force"),
        doctor_command,
    )


def doctor_command(options: argparse.Namespace) -> int:
    """Say versions, extras and caches, and prove something small."""
    from counterpoise import __version__

    check_json(options.json, force=options.force)
    extras = {name: versions(packages) for name, packages in EXTRAS.items()}
    test = self_test()
    record = {
        "counterpoise": __version__,
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "core": versions(CORE),
        "extras": extras,
        "numba_cache": numba_cache(),
        "self_test": test,
    }
    holds = all(part["holds"] for part in test)
    if options.json is None:
        show(_blocks(record, holds), sys.stdout)
    else:
        text = json.dumps(record, indent=1) + "\n"
        write_record(options.json, text, force=options.force)
    return FINE if holds else NOT_PROVED


def versions(packages: tuple[str, ...]) -> dict[str, str | None]:
    """Return the installed version of each package, None where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def numba_cache() -> dict[str, Any]:
    """Return where compiled code is kept, and whether it can be written there."""
    import os
    from pathlib import Path

    import counterpoise

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = Path(counterpoise.__file__).parent / "linalg"
    folder = Path(chosen) if chosen else own
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    writable = os.access(folder, os.W_OK)
    return {"writable": writable, "chosen_by_user": chosen is not None}


def self_test() -> list[dict[str, Any]]:
    """Weigh a small sample in three ways, and return what is proved of each."""
    import warnings

    from counterpoise.datasets import make_gaussian_shift
    from counterpoise.weights import KLIEP, KMM, ULSIF

    shift = make_gaussian_shift(2, n=200, m=200, random_state=0)
    found = []
    for weighter in (KLIEP(random_state=0), ULSIF(random_state=0), KMM(random_state=0)):
        since = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = weighter.fit(shift.X, X_target=shift.X_target).solution_
        assert solution is not None
        found.append(
            {
                "weighter": type(weighter).__name__,
                "holds": bool(solution.converged),
                "certificate": str(solution.certificate),
                "seconds": round(time.perf_counter() - since, 3),
            }
        )
    return found


def _blocks(record: dict[str, Any], holds: bool) -> list[Block]:
    rows = [("counterpoise", record["counterpoise"]), ("python", record["python"])]
    rows += list(record["core"].items())
    blocks = [Block("Installed", rows=tuple(cells(*row) for row in rows))]
    for extra, packages in record["extras"].items():
        lacking = [name for name, version in packages.items() if version is None]
        told = (
            f"missing {', '.join(lacking)}: pip install 'counterpoise[{extra}]'"
            if lacking
            else "complete"
        )
        there = tuple(cells(*item) for item in packages.items() if item[1])
        blocks.append(Block(f"Extra {extra}: {told}", rows=there))
    writable = record["numba_cache"]["writable"]
    blocks.append(
        Block(
            "Compiled code",
            (
                "is kept: only the first run compiles."
                if writable
                else "cannot be kept, so that every run compiles for some seconds: set "
                "NUMBA_CACHE_DIR to a folder that can be written to",
            ),
        )
    )
    tests = tuple(
        f"{part['weighter']}: {'proved' if part['holds'] else 'NOT PROVED'}, "
        f"{part['certificate']}, {part['seconds']:.1f} s"
        for part in record["self_test"]
    )
    blocks.append(Block(f"Self-test: {'passed' if holds else 'FAILED'}", tests))
    return blocks
