"""One browser for all tests of this folder."""

import os

import pytest
from report.browsing import NoBrowserError, Window, get_browser


@pytest.fixture(scope="session")
def window():
    """A browser; without one the tests are skipped, with CI set they fail."""
    try:
        opened = Window(get_browser())
    except NoBrowserError as error:
        if os.environ.get("CI"):
            pytest.fail(f"no browser: {error}")
        pytest.skip(f"no browser: {error}")
    yield opened
    opened.close()
