"""The shape of the house: who imports whom, what an import costs and changes."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoise

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "counterpoise"

FAULTS = {
    "up a layer": ("linalg/upward.py", "from counterpoise.optim import solve\n"),
    "up, inside a function": (
        "optim/upward.py",
        "def f():\n    import counterpoise.data\n",
    ),
    "to scikit-learn from the core": ("optim/foreign.py", "import sklearn\n"),
    "to an optional package": ("datasets/foreign.py", "import torch\n"),
    "to scikit-image from another package": ("weights/foreign.py", "import skimage\n"),
    "of a module outside the layers": ("utils.py", "import numpy\n"),
}


def lint_imports(folder):
    command = (
        "from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    return subprocess.run(
        [sys.executable, "-c", command, "--config", "pyproject.toml", "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "src" / "counterpoise")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy):
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_an_import_that_breaks_a_contract_is_found(copy, fault):
    path, text = FAULTS[fault]
    (copy / "src" / "counterpoise" / path).write_text(text)
    result = lint_imports(copy)
    assert result.returncode == 1
    assert "BROKEN" in result.stdout


def run_fresh(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_the_package_itself_imports_nothing_heavy():
    heavy = "sklearn matplotlib pandas polars dask torch numba scipy clarabel cvxpy"
    loaded = run_fresh(
        "import sys, counterpoise\n"
        f"print([m for m in {heavy.split()} if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_the_package_itself_costs_less_than_fifty_milliseconds_of_processor_time():
    cost = run_fresh(
        "import numpy, time\n"
        "before = time.process_time()\n"
        "import counterpoise\n"
        "print(time.process_time() - before)"
    )
    assert float(cost) < 0.05


def test_the_core_imports_neither_frames_nor_plots():
    loaded = run_fresh(
        "import sys, counterpoise.optim, counterpoise.datasets\n"
        "print([m for m in ('sklearn', 'pandas', 'polars', 'matplotlib') "
        "if m in sys.modules])"
    )
    assert loaded.strip() == "[]"


def test_images_load_scikit_image_when_one_is_segmented():
    loaded = run_fresh(
        "import sys, counterpoise.selection, counterpoise.report\n"
        "print('skimage' in sys.modules)"
    )
    assert loaded.strip() == "False"


def test_an_import_changes_no_global_setting():
    unchanged = run_fresh(
        "import warnings, random, os, numpy as np\n"
        "def state():\n"
        "    return (list(warnings.filters), random.getstate(), dict(os.environ),\n"
        "            str(np.random.get_state()), np.geterr(), np.get_printoptions())\n"
        "import numba, scipy, sklearn\n"
        "before = state()\n"
        "import counterpoise.optim, counterpoise.datasets, counterpoise.testing\n"
        "import counterpoise.errors\n"
        "print(before == state())"
    )
    assert unchanged.strip() == "True"


def test_an_import_opens_no_socket():
    silent = run_fresh(
        "import socket\n"
        "def refuse(*a, **k): raise RuntimeError('socket opened')\n"
        "socket.socket.connect = refuse\n"
        "import counterpoise.optim, counterpoise.datasets, counterpoise.errors\n"
        "print('silent')"
    )
    assert silent.strip() == "silent"


def test_no_private_name_of_scikit_learn_is_imported():
    private = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [*node.module.split("."), *(a.name for a in node.names)]
            elif isinstance(node, ast.Import):
                names = [part for a in node.names for part in a.name.split(".")]
            else:
                continue
            if names[0] == "sklearn" and any(n.startswith("_") for n in names):
                private.append(f"{path.name}:{node.lineno}")
    assert private == []


def test_every_public_name_can_be_had_and_is_listed():
    for name in counterpoise.__all__:
        assert getattr(counterpoise, name) is not None
    assert set(counterpoise.__all__) <= set(dir(counterpoise))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = counterpoise.nonsense


def test_every_public_name_of_a_room_has_a_docstring():
    for room in ("optim", "datasets", "testing", "data", "svm", "twin_gp"):
        module = getattr(counterpoise, room)
        for name in module.__all__:
            part = getattr(module, name)
            if callable(part):
                assert part.__doc__, f"{room}.{name}"


def test_no_room_is_called_utils():
    forbidden = {"utils", "helpers", "common", "misc"}
    assert not [p for p in PACKAGE.rglob("*") if p.stem in forbidden]
