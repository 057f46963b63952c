"""All evidence by one command: `python benchmarks/run.py [name ...] [--quick|--full]`.

Where counterpoise is not installed, it is first (`python3 dev.py test` does the same).
Names are topics (a folder here), questions ("weights.solver_speed"), or parts of
either; none means all. `--list` says what there is. Every question says what it
reproduces, which peers it asks (each in an environment of its own below out/peers,
made at first use) and which data it reads; its answer is kept in out/benchmarks/, and
what is answered is not asked again while nothing has changed (`--again` asks all the
same). A bar that does not hold makes the command fail; what was left out is told.

    python benchmarks/run.py --quick                  small sizes
    python benchmarks/run.py weights --full --data DATA
    python benchmarks/run.py --summarize              write docs/results/*.json

Real data come from --data, or from the folder that COUNTERPOISE_DATA names. One thread
a process; times are CPU seconds. A quick run asks two questions at once, a full one
one after the other, unless --beside says otherwise.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asking import HERE, ROOT, ask_all, questions
from summarizing import summarize


def in_the_environment_of_the_project() -> None:
    """Go on in the project's own environment where this one lacks counterpoise."""
    if importlib.util.find_spec("counterpoise") is None:
        sys.path.insert(0, str(ROOT))
        import dev

        dev.install("test")
        python = str(dev.NEWEST.python)
        os.execv(python, [python, str(Path(__file__).resolve()), *sys.argv[1:]])


@contextmanager
def peers_at_hand(*, of_all: bool, meanwhile: bool) -> Iterator[None]:
    """Make the environments of all peers before questions are asked, or meanwhile."""
    if not of_all:
        yield
        return
    making = subprocess.Popen([sys.executable, str(HERE / "environments.py")])
    if not meanwhile:
        making.wait()
    try:
        yield
    finally:
        making.terminate()
        making.wait()


def main() -> int:
    """Ask the questions that were named, or tell what there is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="topics or questions; all by default")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    size.add_argument("--full", action="store_true", help="all of it (the default)")
    parser.add_argument("--data", metavar="FOLDER", help="where real data sets are")
    parser.add_argument("--again", action="store_true", help="also what is answered")
    parser.add_argument(
        "--beside",
        type=int,
        metavar="N",
        help="questions asked at once (default: one; with --quick two, if it can)",
    )
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument(
        "--summarize", action="store_true", help="write docs/results/ from the answers"
    )
    given = parser.parse_args()
    if given.data:
        os.environ["COUNTERPOISE_DATA"] = given.data
    if given.beside is not None and given.beside < 1:
        parser.error(f"--beside must be at least 1, got {given.beside}")
    every = questions()
    wanted = [
        one
        for one in every
        if not given.names or any(name in one.full_name for name in given.names)
    ]
    unknown = [
        name for name in given.names if not any(name in one.full_name for one in every)
    ]
    if unknown:
        parser.error(f"no such topic or question: {', '.join(unknown)}")
    if given.list:
        for one in wanted:
            print(f"{one.full_name}\n    {one.told.splitlines()[0]}")
        return 0
    if given.summarize:
        return summarize(wanted)
    if "COUNTERPOISE_DATA" not in os.environ:
        print("no --data: questions about real data will be left out, and say so")
    in_the_environment_of_the_project()
    beside = given.beside or (min(os.cpu_count() or 1, 2) if given.quick else 1)
    with peers_at_hand(of_all=not given.names, meanwhile=given.quick):
        return ask_all(wanted, quick=given.quick, again=given.again, beside=beside)


if __name__ == "__main__":
    sys.exit(main())
