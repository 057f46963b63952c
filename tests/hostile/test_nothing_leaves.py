"""No connection is opened, and nothing is written but where it was asked for."""

import os
import socket
import subprocess
import sys

import pytest

WATCHED = """
import os, sys
allowed = [os.path.realpath(path) for path in sys.argv[1].split(os.pathsep)]
words = sys.argv[2:]

def inside(path):
    path = os.path.realpath(os.fsdecode(path))
    return any(path == one or path.startswith(one + os.sep) for one in allowed)

def watch(name, given):
    if name.startswith("socket.") and name not in ("socket.__new__",):
        os.write(2, f"NETWORK {name} {given}\\n".encode())
        os._exit(99)
    wrote = None
    if name == "open" and isinstance(given[0], (str, bytes)):
        mode, flags = given[1], given[2] or 0
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if (mode and set(mode) & set("wax+")) or (mode is None and flags & writing):
            wrote = given[0]
    elif name in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate"):
        wrote = given[0]
    elif name in ("os.rename", "os.link", "os.symlink"):
        wrote = given[1]
    if wrote is not None and wrote != os.devnull and not inside(wrote):
        if "__pycache__" in os.fsdecode(wrote):
            return
        os.write(2, f"WROTE {name} {given}\\n".encode())
        os._exit(98)

sys.addaudithook(watch)
from counterpoise.cli.main import main
sys.exit(main(words) if words else 0)
"""


@pytest.mark.parametrize("words", [(), ("demo", "--out", "{out}", "--quiet")])
def test_import_and_demo_stay_below_out_and_open_no_connection(words, tmp_path):
    out = tmp_path / "out"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "MPLCONFIGDIR": str(temporary),
    }
    allowed = os.pathsep.join(map(str, (out, temporary, tmp_path)))
    command = [word.format(out=out) for word in words]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, allowed, *command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    there = {path.name for path in tmp_path.iterdir()}
    assert there <= {"out", "temporary"}
    if words:
        assert (out / "report.html").exists()


def test_the_suite_itself_reaches_no_other_machine():
    with socket.socket() as one, pytest.raises(PermissionError, match="outside this"):
        one.connect(("192.0.2.1", 80))
