"""The picture of a report, and its caption, are of what the program prints now."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "python docs/make_pictures.py makes the picture and prints its caption"


@pytest.fixture(scope="module")
def pictures():
    before = list(sys.path)
    sys.path.append(str(ROOT / "docs"))
    import make_pictures

    sys.path[:] = before
    return make_pictures


@pytest.fixture(scope="module")
def ran(pictures, tmp_path_factory):
    """Return a folder with the demo's run, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, pictures.run_demo(folder)


def captions():
    found = []
    for path, picture in (
        ("README.md", "docs/report.png"),
        ("docs/index.md", "report.png"),
    ):
        text = (ROOT / path).read_text(encoding="utf-8")
        (told,) = re.findall(rf"!\[([^\]]*)\]\({picture}\)", text)
        found.append(" ".join(told.split()))
    return found


def test_every_number_of_the_captions_is_printed(pictures, ran):
    _, printed = ran
    for told in captions():
        numbers = re.findall(r"\d[\d,.]*\d|\d", told)
        assert len(numbers) >= 4, REMEDY
        assert [one for one in numbers if one not in printed] == [], REMEDY
        assert told == pictures.caption(printed), REMEDY


def test_the_picture_is_of_what_is_printed(pictures, ran):
    _, printed = ran
    assert pictures.pictured() == pictures.first_screen(printed), REMEDY
    assert pictures.PICTURE.stat().st_size < 300_000


def test_the_words_of_the_first_screen_have_the_verdict_and_the_score(pictures, ran):
    words = pictures.first_screen(ran[1])
    assert words.startswith("Use your model as it is")
    assert "Expected mean squared error on the new data: " in words
    assert "What to do next" not in words


def test_without_a_browser_the_picture_stays_and_it_is_said(
    pictures, monkeypatch, capsys
):
    def no_browser():
        raise pictures.browsing.NoBrowserError("none here")

    monkeypatch.setattr(pictures.browsing, "get_browser", no_browser)
    monkeypatch.setattr(pictures, "run_demo", lambda folder: "Other words.\n")
    before = pictures.PICTURE.read_bytes()
    pictures.make_pictures()
    assert "no browser, so report.png stays as it is" in capsys.readouterr().out
    assert pictures.PICTURE.read_bytes() == before


def test_a_picture_that_is_true_is_not_made_again(pictures, ran, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "run_demo", lambda folder: ran[1])
    monkeypatch.setattr(pictures, "take_picture", None)
    pictures.make_pictures()
    assert "shows what the program prints" in capsys.readouterr().out


def test_a_picture_has_the_whole_first_screen(pictures, ran, tmp_path):
    from PIL import Image

    try:
        pictures.browsing.get_browser()
    except pictures.browsing.NoBrowserError as error:
        pytest.skip(f"no browser: {error}")
    folder, printed = ran
    made = tmp_path / "report.png"
    pictures.take_picture(folder / "out" / "report.html", printed, made)
    assert pictures.pictured(made) == pictures.first_screen(printed)
    with Image.open(made) as image:
        width, height = image.size
    assert width == pictures.WIDTH
    # Only the first screen is shown, and all of it.
    assert 700 < height < pictures.MOST_HEIGHT
