"""A table of the page."""

from dataclasses import dataclass

from counterpoise.report.figures.drawing import DataTable
from counterpoise.report.wording import Sentence


@dataclass(frozen=True)
class TitledTable:
    """A table with a heading and a sentence.

    Attributes
    ----------
    name : str
        Its place on the page.
    title : str
    about : Sentence
    data : DataTable
    folded : bool
        Whether it is shown on demand alone.
    wide : bool
        Whether it takes a row of the page by itself.
    in_text : bool
        Whether the report as plain text has it too.
    """

    name: str
    title: str
    about: Sentence
    data: DataTable
    folded: bool = False
    wide: bool = False
    in_text: bool = False
