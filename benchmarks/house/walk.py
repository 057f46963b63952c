"""Follow calls through the package: `walk.py [case ...]`, `walk.py cpu --src TREE ...`.

A station is a call that enters a function of the package from another of its files;
comprehensions and lambdas are not counted, and what lies between two files of the
package is looked through. Every case is called twice and the second call is counted.

`cpu` gives seconds of processor time of Adapted(Ridge()).fit on 2,000 x 10 rows,
for source trees by turns, each time in a process of its own.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "BLIS", "VECLIB_MAXIMUM"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

import argparse  # noqa: E402
import collections  # noqa: E402
import contextlib  # noqa: E402
import io  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

# What is counted, by the function's name; a file's ending narrows it down.
COUNTED = {
    "as_matrix": ("as_matrix", ""),
    "canonical_order": ("canonical_order", ""),
    "read_table": ("read_table", "tables/columns.py"),
    "files read": ("read_file", "cli/reading/files.py"),
    "encoders made": ("_fit", "tables/encoding.py"),
}
# The loops: whatever they call is inside. Steps are the `n_iter` of what they return.
LOOPS = (("solve", "convex/loop.py"), ("follow", "convex/path.py"))
STEPS = "n_iter"
# Fits of objects of a class below this one are public fits of weighters.
WEIGHTER = "WeightEstimator"

_SKIPPED = {
    "<module>",
    "<genexpr>",
    "<listcomp>",
    "<dictcomp>",
    "<setcomp>",
    "<lambda>",
}


class Walk:
    """Counts of one call; `trace` is for `sys.setprofile`."""

    def __init__(self, package: str = "counterpoise") -> None:
        self.mark = os.sep + package + os.sep
        self.stations = self.inside = self.steps = 0
        self.files: set[str] = set()
        self.calls: collections.Counter[str] = collections.Counter()
        self.fits: collections.Counter[str] = collections.Counter()
        self._loops: list = []
        self._places: dict[str, str | None] = {}

    def trace(self, frame, event, argument) -> None:
        """Take note of a call or of a loop's end."""
        if event == "return" and self._loops and frame is self._loops[-1]:
            self._loops.pop()
            self.steps += getattr(argument, STEPS, 0)
        if event != "call":
            return
        here = self._place(frame)
        name = frame.f_code.co_name
        if here is None or name in _SKIPPED:
            return
        self._count(frame, name, here)
        # A compiled function's frame is made up, without the caller that it has.
        caller = frame.f_back or sys._getframe(1)
        while caller is not None and self._place(caller) is None:
            caller = caller.f_back
        if caller is None or self._place(caller) != here:
            self.stations += 1
            self.inside += bool(self._loops)
            self.files.add(here)
        if (name, here) in LOOPS:
            self._loops.append(frame)

    def _count(self, frame, name: str, here: str) -> None:
        for told, (wanted, file) in COUNTED.items():
            if name == wanted and here.endswith(file):
                self.calls[told] += 1
        if name == "fit":
            one = frame.f_locals.get("self")
            above = type(one).__mro__
            # A fit that hands over to the fit of the class above is one fit.
            again = frame.f_back is not None and (
                frame.f_back.f_code.co_name == "fit"
                and frame.f_back.f_locals.get("self") is one
            )
            if any(kind.__name__ == WEIGHTER for kind in above) and not again:
                self.fits[type(one).__name__] += 1

    def _place(self, frame) -> str | None:
        path = frame.f_code.co_filename
        if path not in self._places:
            found = path.rsplit(self.mark, 1)[1] if self.mark in path else None
            self._places[path] = found
        return self._places[path]

    def told(self) -> str:
        """Return the counts as lines of text."""
        outside = self.stations - self.inside
        per_step = self.inside / self.steps if self.steps else 0.0
        fits = ", ".join(f"{name} {count}" for name, count in self.fits.most_common())
        lines = [
            f"  stations {self.stations} over {len(self.files)} files",
            f"  changes of file outside the loops {outside}",
            f"  inside {self.inside}, steps {self.steps}, {per_step:.1f} a step",
            *(f"  {told} {self.calls[told]}" for told in COUNTED),
            f"  public fits of weighters {self.fits.total()} ({fits})",
        ]
        return "\n".join(lines)


def walked(call) -> Walk:
    """Return the walk of the second of two calls."""
    walk = Walk()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        sys.setprofile(walk.trace)
        try:
            call()
        finally:
            sys.setprofile(None)
    return walk


def cases(n: int, m: int, d: int) -> dict:
    """Return what is walked, by name; everything is built before the first call."""
    sys.path.insert(0, str(Path(__file__).parent))
    from samples_at_hand import classes, mixed, numbers, of_mixed
    from sklearn.linear_model import LogisticRegression, Ridge

    from counterpoise import KLIEP, Adapted, DiscrepancyWeights
    from counterpoise.cli.main import main

    plain, frames, response = classes(n, m, d), mixed(n, m), numbers(n, m, d)
    large = numbers(2000, 2000, 10)
    kept = tempfile.TemporaryDirectory()
    folder = Path(kept.name)
    frames.X.assign(bought=frames.y).to_csv(folder / "train.csv", index=False)
    frames.X_target.to_csv(folder / "live.csv", index=False)

    def adapted(estimator, pair):
        model = Adapted(estimator, random_state=0)
        return lambda: model.fit(pair.X, pair.y, X_target=pair.X_target)

    def run():
        files = [f"{kept.name}/{name}" for name in ("train.csv", "live.csv", "out")]
        given = zip(("--source", "--target", "--out"), files, strict=True)
        more = [one for pair in given for one in pair]
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            main(["run", *more, "--label", "bought", "--force"])

    def weighed(weighter):
        return lambda: weighter.fit(response.X, X_target=response.X_target)

    return {
        "array": adapted(LogisticRegression(), plain),
        "mixed": adapted(of_mixed(LogisticRegression()), frames),
        "run": run,
        "KLIEP": weighed(KLIEP(gamma=0.5)),
        "discrepancy": weighed(DiscrepancyWeights()),
        "ridge": adapted(Ridge(), large),
    }


_TIMED = """
import sys, time, warnings
import counterpoise
import numpy as np
from sklearn.linear_model import Ridge
from counterpoise import Adapted

if not counterpoise.__file__.startswith(sys.argv[1]):
    sys.exit(f"{counterpoise.__file__} was imported")
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 10))
X_target = rng.standard_normal((2000, 10))
X_target[:, 0] += 0.7
y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.standard_normal(2000)
model = Adapted(Ridge(), random_state=0)
for _ in range(2):
    began = time.process_time()
    model.fit(X, y, X_target=X_target)
print(time.process_time() - began)
"""


def cpu(trees: list[Path], rounds: int) -> None:
    """Print the median processor time of trees, asked by turns after a warm-up."""
    seconds: dict[Path, list[float]] = {tree: [] for tree in trees}
    for _ in range(rounds):
        for tree in trees:
            environment = os.environ | {"PYTHONPATH": str(tree.resolve())}
            done = subprocess.run(
                [sys.executable, "-c", _TIMED, str(tree.resolve())],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            seconds[tree].append(float(done.stdout))
    for tree, found in seconds.items():
        told = " ".join(f"{one:.2f}" for one in found)
        print(f"{tree}: median {statistics.median(found):.2f} s of {told}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases, or cpu; default: all cases")
    parser.add_argument("--src", nargs="+", type=Path, default=[_HERE_SRC])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=400, help="rows of the source")
    parser.add_argument("--target-rows", type=int, default=300)
    parser.add_argument("--columns", type=int, default=8)
    given = parser.parse_args()
    if given.names == ["cpu"]:
        cpu(given.src, given.rounds)
        return
    found = cases(given.rows, given.target_rows, given.columns)
    for name in given.names or found:
        began = time.process_time()
        walk = walked(found[name])
        print(
            f"{name} ({time.process_time() - began:.0f} s)\n{walk.told()}", flush=True
        )


_HERE_SRC = Path(__file__).parents[2] / "src"

if __name__ == "__main__":
    main()
