"""The chapters of the page: what each shows, from which parts of the record.

Adding to the report: data in `sections/`, a picture in `figures/` or a table in
`tables.py`, and its name in a chapter here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from counterpoise.report.data_card import (
    classes_table,
    columns_table,
    samples_table,
)
from counterpoise.report.figures.balance import balance_drawing
from counterpoise.report.figures.classes import classes_drawing, overruled_table
from counterpoise.report.figures.columns import worst_columns_drawing
from counterpoise.report.figures.drawing import Drawing
from counterpoise.report.figures.overlap import overlap_drawing
from counterpoise.report.figures.path import path_drawing
from counterpoise.report.figures.performance import (
    calibration_drawing,
    performance_drawing,
)
from counterpoise.report.figures.selection import validation_drawing
from counterpoise.report.figures.shift import roc_drawing, spectrum_drawing
from counterpoise.report.figures.slices import slices_drawing
from counterpoise.report.figures.solver import convergence_drawing
from counterpoise.report.figures.watch import watch_drawings
from counterpoise.report.figures.weights import clipping_drawing, weights_drawing
from counterpoise.report.record import Record
from counterpoise.report.reproduction import (
    again_table,
    made_table,
    notices_table,
)
from counterpoise.report.tables import (
    covered_part_table,
    dropped_table,
    features_table,
    guarantees_table,
    label_check_table,
    sets_table,
    thin_rows_table,
)
from counterpoise.report.titled_table import TitledTable
from counterpoise.report.watch_words import alarms_table, chunks_table

Draw = Callable[[Record], Drawing | None]
Tell = Callable[[Record], TitledTable | None]


@dataclass(frozen=True)
class Chapter:
    """A chapter of the page.

    Attributes
    ----------
    name : str
        Its place on the page.
    title, about : str
    drawings : tuple of callables
        Each gets the record and returns a `Drawing`, or None where there is nothing.
    tables : tuple of callables
        Each gets the record and returns a `TitledTable`, or None.
    linking : callable or None
        Makes a first table, with a link to the record's file where it has one.
    """

    name: str
    title: str
    about: str
    drawings: tuple[Draw, ...] = ()
    tables: tuple[Tell, ...] = ()
    linking: Callable[[Record, str | None], TitledTable | None] | None = None

    def drawn(self, record: Record) -> list[Drawing]:
        """Return the pictures that the record has something for."""
        return [one for draw in self.drawings if (one := draw(record)) is not None]

    def tables_of(
        self, record: Record, record_file: str | None = None
    ) -> list[TitledTable]:
        """Return the tables that the record has something for."""
        found = [tell(record) for tell in self.tables]
        if self.linking is not None:
            found.insert(0, self.linking(record, record_file))
        return [one for one in found if one is not None]


CHAPTERS = (
    Chapter(
        "watch",
        "Over time",
        "A deployed model, chunk after chunk: the alarms hold over all looks together.",
        watch_drawings(),
        (alarms_table, chunks_table),
    ),
    Chapter(
        "shift",
        "What has shifted",
        "A shift is a difference between the rows a model was trained on and those it "
        "will meet.",
        (roc_drawing, spectrum_drawing),
        (features_table, dropped_table),
    ),
    Chapter(
        "cover",
        "What is covered",
        "A model can only be trusted where it has seen rows like those it is asked "
        "about.",
        (overlap_drawing,),
        (thin_rows_table,),
    ),
    Chapter(
        "classes",
        "Which classes there are",
        "New data may have only some of the classes that a model was trained on; the "
        "others are better left out.",
        (classes_drawing,),
        (overruled_table,),
    ),
    Chapter(
        "weights",
        "The weights",
        "Weighting lets training rows that resemble the new data count more, so that "
        "the training data stand in for the new.",
        (
            weights_drawing,
            balance_drawing,
            clipping_drawing,
            worst_columns_drawing,
        ),
    ),
    Chapter(
        "choice",
        "What was tried and proved",
        "Nothing here is taken on trust: what was chosen was judged on held-out rows, "
        "and what was computed comes with a proof.",
        (
            validation_drawing,
            path_drawing,
            convergence_drawing,
        ),
    ),
    Chapter(
        "model",
        "The model on the new data",
        "Estimates of a score that could only be measured with labels of the new data.",
        (
            performance_drawing,
            calibration_drawing,
            slices_drawing,
        ),
        (covered_part_table, label_check_table, sets_table),
    ),
    Chapter(
        "guarantees",
        "What is promised",
        "What each result rests on, and what would break it.",
        tables=(guarantees_table,),
    ),
    Chapter(
        "data",
        "The data",
        "What went in: counts only, never a row.",
        tables=(samples_table, classes_table, columns_table),
    ),
    Chapter(
        "reproduce",
        "Make it again",
        "The same input and seed give the same page.",
        tables=(made_table, notices_table),
        linking=again_table,
    ),
)


def text_tables(record: Record) -> Iterator[TitledTable]:
    """Return the tables that are told in plain text too, in the order of the page."""
    for chapter in CHAPTERS:
        yield from (one for one in chapter.tables_of(record) if one.in_text)
