"""Make docs/report.png: the first screen of the report on the demo's tables.

    .venv/bin/python docs/make_pictures.py      (needs the extras `cli` and `report`)

The picture is of the run that "Start in five minutes" shows. It carries what that run
printed, so that a test, and every build of the site, can tell whether it is still true.
A Chromium takes it; where there is none the committed picture stays.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

from counterpoise.cli.tools import write_tables

HERE = Path(__file__).resolve().parent
# The tests find their browser in the same places.
sys.path.append(str(HERE.parent / "tests" / "report"))

import browsing  # noqa: E402

PICTURE = HERE / "report.png"
RUN = (
    "run --source trial.csv --label progress --target clinic.csv --id patient "
    "--categorical sex --estimator linear --out out --quiet --text"
)
PRINTED = "Printed"
WIDTH, MOST_HEIGHT, MARGIN = 1280, 2400, 24
# What comes after the numbers that matter is not of the first screen.
FIRST_SCREEN = "<style>section.numbers ~ *, main ~ * {display: none !important}</style>"
_SCORE = re.compile(
    r"Expected (?P<metric>.+) on the new data: (?P<value>\S+) "
    r"(?P<low>\S+) to (?P<high>\S+); training data: (?P<source>\S+)"
)


def run_demo(folder: Path) -> str:
    """Write the demo's tables into a folder, run the main job, return what it prints.

    Its page is `out/report.html` in that folder.
    """
    write_tables(folder, overwrite=True)
    done = subprocess.run(
        [sys.executable, "-m", "counterpoise.cli.main", *RUN.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "88", "NO_COLOR": "1", "PYTHONUTF8": "1"},
        check=True,
    )
    return done.stdout


def first_screen(printed: str) -> str:
    """Return the words of the first screen, without their line breaks."""
    return " ".join(printed.partition("\nWhat to do next\n")[0].split())


def caption(printed: str) -> str:
    """Return the words that stand for the picture: the verdict, and the score."""
    verdict = printed.partition("\n")[0]
    score = _SCORE.search(first_screen(printed))
    assert score is not None, "the program does not print an expected score"
    return (
        f'The first screen of the demo\'s report. Verdict: "{verdict}" Expected '
        f"{score['metric']} on the new data: {score['value']} ({score['low']} to "
        f"{score['high']}); on the training data: {score['source']}."
    )


def pictured(picture: Path = PICTURE) -> str:
    """Return the words of the first screen that a picture was taken of."""
    with Image.open(picture) as image:
        image.load()
        return str(image.text.get(PRINTED, ""))


def take_picture(page: Path, printed: str, picture: Path = PICTURE) -> None:
    """Take a picture of the first screen of a page.

    Raises
    ------
    NoBrowserError
        If there is no browser, or it takes no picture.
    """
    browser = browsing.get_browser()
    with tempfile.TemporaryDirectory() as made:
        shown, shot = Path(made) / "page.html", Path(made) / "shot.png"
        html = page.read_text(encoding="utf-8")
        html = html.replace("</head>", f"{FIRST_SCREEN}</head>", 1)
        shown.write_text(html, encoding="utf-8")
        window = browsing.Window(browser)
        try:
            window.look(shown, width=WIDTH, screenshot=str(shot), whole=True)
        finally:
            window.close()
        with Image.open(shot) as image:
            whole = image.convert("RGB")
    # Below the first screen there is at most background.
    corner = whole.getpixel((0, whole.height - 1))
    empty = Image.new("RGB", whole.size, corner)
    _, _, _, bottom = ImageChops.difference(whole, empty).getbbox()
    kept = whole.crop((0, 0, whole.width, min(bottom + MARGIN, whole.height)))
    about = PngInfo()
    about.add_itxt(PRINTED, first_screen(printed))
    # Few colors are on the page, and dithering would be noise.
    few = kept.quantize(128, dither=Image.Dither.NONE)
    few.save(picture, optimize=True, pnginfo=about)


def make_pictures(*, anew: bool = False) -> None:
    """Make the picture if the program prints other words now, and say what was done.

    Parameters
    ----------
    anew : bool
        Whether to make it even so.
    """
    with tempfile.TemporaryDirectory() as made:
        printed = run_demo(Path(made))
        if not anew and pictured() == first_screen(printed):
            print(f"{PICTURE.name} shows what the program prints")
            return
        try:
            take_picture(Path(made) / "out" / "report.html", printed)
        except browsing.NoBrowserError as error:
            print(f"no browser, so {PICTURE.name} stays as it is: {error}")
            return
    print(f"{PICTURE.name} made; its caption: {caption(printed)}")


if __name__ == "__main__":
    make_pictures(anew=True)
