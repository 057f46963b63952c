"""The built site, and a browser to look at it."""

import os
from pathlib import Path

import pytest
from report.conftest import window  # noqa: F401

BUILT = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"


@pytest.fixture(scope="session")
def site():
    """The folder of the built site; without it the tests are skipped, in CI they fail.

    `python3 dev.py docs` builds it; COUNTERPOISE_SITE names another folder.
    """
    folder = Path(os.environ.get("COUNTERPOISE_SITE", BUILT))
    if not (folder / "index.html").exists():
        told = f"no site in {folder}: python3 dev.py docs"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return folder
