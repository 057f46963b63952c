"""What holds for every test: no other machine is reached."""

import socket

import pytest

_LOCAL = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True, scope="session")
def _no_other_machine():
    """Refuse connections to anything but this machine."""
    connect = socket.socket.connect

    def refused(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        if self.family != getattr(socket, "AF_UNIX", None) and not str(host).startswith(
            _LOCAL
        ):
            raise PermissionError(f"a test reaches outside this machine: {address!r}")
        return connect(self, address)

    socket.socket.connect = refused
    yield
    socket.socket.connect = connect
