"""What holds for every test: no other machine is reached, and none runs for ever."""

import socket

import pytest

_LOCAL = ("127.", "::1", "localhost")
# Seconds for a test that is marked as slow; pyproject.toml has those of the others.
_LONGEST_SLOW_TEST = 3600


def pytest_collection_modifyitems(items):
    for item in items:
        slow = item.get_closest_marker("slow")
        if slow is not None and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_LONGEST_SLOW_TEST))


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
