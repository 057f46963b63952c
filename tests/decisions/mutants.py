"""Mutation testing of the decision rules: `python3 dev.py mutants [words]`.

`mutants.toml` names decision modules, functions that rules are about, and the topics of
the tests. Each function, and each module constant that it uses, is changed in one place
at a time (`mutation_operators.py`). A mutant replaces the code of the function in a
forked process, so that no file is written; the tests that execute the function run
there until one fails. Mutants that no test can notice stand in `equivalent.toml`.

Words are parts of paths, e.g. `guard monitor/`. The exit code is 1 if more than 20 % of
the other mutants survive or a test notices one that is listed as equivalent.

mutmut 3.8 leaves module constants alone, where thresholds stand, and names mutants by
numbers, which a list cannot rely on; cosmic-ray 8.7 needs 3.5 s to start each mutant.
"""

import ast
import importlib
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from decisions.mutation_operators import changes_of  # noqa: E402

SRC = HERE.parents[1] / "src"
MOST_SURVIVORS = 0.2
# Longer expressions around a change are not printed.
LONGEST_TEXT = 100
COUNTED = ("mutants", "killed", "survived", "equivalent", "seconds")
PYTEST = ["-x", "-q", "--no-header", "--assert=plain", "--import-mode=importlib"]
PYTEST += ["--override-ini=addopts=", "-p", "no:cacheprovider", "--timeout=20"]


def names_in(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a node loads or stores."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, context)}


def show(node: ast.AST) -> str:
    """Return a node as source text, an operator by its name."""
    return ast.unparse(node) or type(node).__name__


def find_code(code: CodeType, name: str) -> CodeType | None:
    """Return the code object of a qualified name within another."""
    inner = (find_code(c, name) for c in code.co_consts if isinstance(c, CodeType))
    return code if code.co_qualname == name else next(filter(None, inner), None)


class Mutants:
    """The mutants of one decision module; as a plugin of pytest, what tests execute."""

    def __init__(self, path: str, tests: list[str], functions: list[str]) -> None:
        self.path, self.functions = path, functions
        name = f"counterpoise.{path.removesuffix('.py').replace('/', '.')}"
        self.module = importlib.import_module(name)
        self.file = str(SRC / "counterpoise" / path)
        self.tree = ast.parse(Path(self.file).read_text(encoding="utf-8"))
        self.test_files = [str(HERE / f"test_{topic}.py") for topic in tests]
        self.seconds: dict[str, float] = {}
        self.tests_of: dict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename == self.file:
                self.tests_of[frame.f_code.co_qualname.partition(".<")[0]].add(nodeid)

        self.seconds[nodeid] = -time.perf_counter()
        sys.setprofile(note)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.setprofile(None)
        self.seconds[nodeid] += time.perf_counter()

    def definitions(self) -> Iterator[tuple[str, ast.stmt]]:
        """Yield the functions, "Class.method" for methods, then constants they use."""
        used: set[str] = set()
        for node in self.tree.body:
            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for one in node.body if isinstance(node, ast.ClassDef) else [node]:
                name = f"{prefix}{getattr(one, 'name', '')}"
                if isinstance(one, ast.FunctionDef) and name in self.functions:
                    used |= names_in(one, ast.Load)
                    yield name, one
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and used & names_in(node, ast.Store):
                yield ", ".join(sorted(names_in(node, ast.Store))), node

    def __iter__(self) -> Iterator[tuple[str, str, ast.stmt]]:
        """Yield name, mutation as text, and the definition, changed until the next."""
        for name, definition in self.definitions():
            times: Counter[str] = Counter()
            for node, field, k, new in changes_of(definition):
                holder: Any = vars(node) if k is None else getattr(node, field)
                key: Any = field if k is None else k
                old = holder[key]
                around = node if isinstance(node, ast.expr) else old
                around = old if len(ast.unparse(around)) > LONGEST_TEXT else around
                before, holder[key] = show(around), new
                ast.fix_missing_locations(definition)
                text = f"{before} -> {show(new if around is old else around)}"
                times[text] += 1
                yield name, text + f" ({times[text]})" * (times[text] > 1), definition
                holder[key] = old

    def install(self, name: str, definition: ast.stmt) -> None:
        """Put the tree's present code in the place of a definition's."""
        module: Any = self.module
        if isinstance(definition, ast.FunctionDef):
            for part in name.split("."):
                module = vars(module)[part]
            # Behind a property, a class method or a wrapper there is the function.
            while not isinstance(module, FunctionType) or hasattr(
                module, "__wrapped__"
            ):
                inner = ("__wrapped__", "__func__", "fget", "func")
                module = next(getattr(module, k) for k in inner if hasattr(module, k))
            module.__code__ = find_code(compile(self.tree, self.file, "exec"), name)
            return
        before = dict(vars(module))
        exec(compile(ast.Module([definition], []), self.file, "exec"), vars(module))
        for one in names_in(definition, ast.Store):
            for other in list(sys.modules.values()):
                if vars(other).get(one) is before[one]:
                    setattr(other, one, getattr(module, one))


def run_tests(tests: list[str], mutate: Callable[[], None]) -> bool:
    """Return whether tests pass in a silent process of their own with a mutant."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            mutate()
            code = int(pytest.main([*PYTEST, *tests]))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def try_mutants(mutants: Mutants, equivalent: set[Any]) -> Counter[str]:
    """Try the mutants of a module, print those that survive, and count them."""
    started, count = time.perf_counter(), Counter(dict.fromkeys(COUNTED, 0))
    print(mutants.path, flush=True)
    if pytest.main([*PYTEST, *mutants.test_files], plugins=[mutants]) != 0:
        raise SystemExit("the tests fail without a mutant")
    for name, text, definition in mutants:
        is_function = name in mutants.functions
        tests = mutants.tests_of[name] if is_function else set(mutants.seconds)
        quickest = sorted(tests, key=mutants.seconds.__getitem__)
        mutate = partial(mutants.install, name, definition)
        killed = bool(tests) and not run_tests(quickest, mutate)
        listed = (mutants.path, name, text) in equivalent
        kind = "equivalent" if listed else "killed" if killed else "survived"
        count.update(["mutants", kind, *["stale"] * (listed and killed)])
        if listed == killed:
            print(f"  {kind}{', but killed' * killed} {name}: {text}", flush=True)
    count["seconds"] = round(time.perf_counter() - started)
    print("  " + ", ".join(f"{key} {count[key]}" for key in COUNTED), flush=True)
    return count


def main(words: list[str]) -> int:
    """Try the mutants of the modules that the words choose; return an exit code."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.chdir(SRC.parent)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SRC))
    table = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))
    known = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    keys = ("module", "function", "mutation")
    equivalent = {tuple(one[key] for key in keys) for one in known["mutant"]}
    total: Counter[str] = Counter()
    for entry in table["module"]:
        if not words or any(word in entry["path"] for word in words):
            total += try_mutants(Mutants(**entry), equivalent)
    share = total["survived"] / max(total["mutants"] - total["equivalent"], 1)
    print(f"{share:.1%} of {total['mutants']} mutants survive, at most 20 % may")
    return int(share > MOST_SURVIVORS or total["stale"] > 0 or not total["mutants"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
