"""Two files as the two samples: which columns count, what each holds, what was odd."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.exits import BadData, WrongUse, listed
from counterpoise.cli.notices import Cell, Notice
from counterpoise.cli.reading.belonging import belonging_of, times_of
from counterpoise.cli.reading.files import STDIN, TableFile, read_file
from counterpoise.cli.reading.labelled_rows import labels_of_rows
from counterpoise.cli.reading.labels import read_labels
from counterpoise.cli.reading.typed_columns import (
    EMPTY,
    kind_of,
    number_like,
    texts_differ,
    typed,
    unlike_numbers,
)
from counterpoise.numerics.arrays import Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.dependent.belonging import with_units
from counterpoise.tables.columns import Table
from counterpoise.tables.frames import frame_of
from counterpoise.tables.kinds import CATEGORIES, NUMBERS

# With fewer rows nothing can be said about a sample.
ROWS_OF_A_SAMPLE = 10


@dataclass(frozen=True, eq=False)
class Pair:
    """The two samples, ready for the library.

    Attributes
    ----------
    source, target : TableFile
        The files.
    kinds : dict
        Of every column that counts, "numbers", "categories" or "dates".
    table, table_target : Table
        The same columns in the same order, the source rows in the order of `rows`.
    rows : array of shape (n,)
        Places in the file of the source rows, in the order of `table`.
    y : array of shape (n,) or None
        Their labels.
    task : {"classification", "regression"} or None
    labelled : array of shape (k,)
        Places in `table_target` of rows whose labels may be used.
    y_target : array of shape (k,) or None
        Those labels.
    notices : tuple of Notice
        What the user should know, a sentence each.
    belonging : dict
        Groups, or times, of the rows of both tables, by the names that `diagnose` has
        for them; empty if nothing was said of them.
    """

    source: TableFile
    target: TableFile
    kinds: dict[str, str]
    table: Table
    table_target: Table
    rows: Indices
    y: NDArray[Any] | None
    task: str | None
    labelled: Indices
    y_target: NDArray[Any] | None
    notices: tuple[Notice, ...]
    belonging: dict[str, Any] = field(default_factory=dict)

    @property
    def groups(self) -> Any:
        """Names of the groups of the source rows; None where there are none."""
        return self.belonging.get("groups")

    @cached_property
    def X(self) -> Any:
        """The source rows as a frame, for the estimator."""
        return frame_of(self.table, self.kinds)

    @cached_property
    def X_target(self) -> Any:
        """The target rows as a frame, for the estimator."""
        return frame_of(self.table_target, self.kinds)

    @cached_property
    def samples(self) -> SamplesAsRead:
        """Both samples as read, for all that is not the estimator."""
        given = self.X, (self.X_target,)
        samples = SamplesAsRead.of_tables(self.table, self.table_target, given)
        return with_units(samples, **self.belonging)

    def crowded(self, most: int) -> list[str]:
        """Return the columns of categories that have more than so many."""
        return [c.name for c in self.table.columns if len(c.categories) > most]

    def by_row(
        self, id_column: str | None, values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what tells the source rows apart, and their values, in file order."""
        order = np.argsort(self.rows)
        places = self.rows[order]
        name, key = "row", places + 1
        if id_column is not None:
            name, key = id_column, self.source.columns[id_column].take(places)
        own = {column: np.asarray(value)[order] for column, value in values.items()}
        return {name: key, **own}


def read_pair(
    options: Namespace, files: tuple[TableFile, TableFile] | None = None
) -> Pair:
    """Return the two samples that `--source` and `--target` name, or those of `files`.

    Uses the options source, target, label, id, groups, time, drop, categorical,
    numeric, task and target_labels, those of them that the command has.
    """
    given = vars(options)
    label, time = given.get("label"), given.get("time")
    categorical = given.get("categorical") or ()
    # Names of rows are texts as they stood: 00000001 is not 1.
    texts = {*categorical, given.get("id"), given.get("groups")} - {None}
    if given.get("groups") is not None and time is not None:
        raise WrongUse("--groups and --time: rows have the one or the other")
    if options.source == options.target == STDIN:
        raise WrongUse("--source and --target cannot both be the standard input")
    source, target = files or (
        read_file(options.source, as_text=texts),
        read_file(options.target, as_text=texts),
    )
    notices = [*source.notices, *target.notices]
    columns = _columns(source, target, given, notices)
    kinds = _kinds(source, target, columns, given, notices)
    _check_rows(source, target)
    rows: Indices = np.arange(source.n_rows)
    y = task = None
    if label is not None:
        labels = read_labels(source, label, given.get("task", "auto"), categorical)
        rows, y, task = labels.rows, labels.values, labels.task
        notices.extend(labels.notices)
        if rows.size < source.n_rows:
            notices.append(
                Notice(
                    f"{source.n_rows - rows.size} rows of ",
                    source.path,
                    f" have no {label!r} and are left out",
                )
            )
        if rows.size < ROWS_OF_A_SAMPLE:
            raise BadData(f"{source.path} has {rows.size} rows with a {label!r} only")
    if time is not None:
        order = np.argsort(times_of(source, time, rows), kind="stable")
        rows, y = rows[order], None if y is None else y[order]
    labelled, y_target = _target_labels(target, given, y, task, notices)
    belonging = belonging_of(source, target, rows, given, notices)
    return Pair(
        source=source,
        target=target,
        kinds=kinds,
        table=table_of(source, kinds, rows),
        table_target=table_of(target, kinds),
        rows=rows,
        y=y,
        task=task,
        labelled=labelled,
        y_target=y_target,
        notices=tuple(notices),
        belonging=belonging,
    )


def table_of(
    file: TableFile, kinds: Mapping[str, str], rows: Indices | None = None
) -> Table:
    """Return columns of a file as a table, each of its kind; of some rows, or all."""
    columns = [typed(file, name, kind, rows) for name, kind in kinds.items()]
    return Table(tuple(columns), named=True)


def _check_rows(source: TableFile, target: TableFile) -> None:
    for table, sample in ((source, "source"), (target, "target")):
        if table.n_rows < ROWS_OF_A_SAMPLE:
            rows = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
            raise BadData(
                f"{table.path} has {rows}: a {sample} needs at least "
                f"{ROWS_OF_A_SAMPLE} for anything to be said about it"
            )


def _target_labels(
    target: TableFile,
    given: dict[str, Any],
    y: NDArray[Any] | None,
    task: str | None,
    notices: list[Notice],
) -> tuple[Indices, NDArray[Any] | None]:
    """Return the target rows whose labels may be used, and the labels."""
    label, wanted = given.get("label"), given.get("target_labels")
    none = np.empty(0, dtype=np.intp), None
    if label is None:
        return none
    if isinstance(wanted, Path):
        categorical = given.get("categorical") or ()
        return labels_of_rows(wanted, target, label, str(task), categorical, y)
    if label not in target.names:
        if wanted:
            raise BadData(f"{target.path} has no column {label!r} (--target-labels)")
        return none
    if not wanted:
        hint = "; --target-labels uses it" if "target_labels" in given else ""
        notices.append(
            Notice(target.path, f" has the label {label!r}, which is not used{hint}")
        )
        return none
    assert task is not None
    categorical = given.get("categorical") or ()
    labels = read_labels(target, label, task, categorical, known=y)
    return labels.rows, labels.values


def _columns(
    source: TableFile, target: TableFile, given: dict[str, Any], notices: list[Notice]
) -> list[str]:
    """Return the columns that count: those of the source that have no other role."""
    roles = {key: given.get(key) for key in ("label", "id", "groups", "time")}
    label, dropped = roles["label"], given.get("drop") or ()
    for option, name in roles.items():
        if name is not None:
            source.check_has([name], f"--{option}")
    for option in ("drop", "categorical", "numeric"):
        for name in given.get(option) or ():
            if name not in source.names and name not in target.names:
                source.check_has([name], f"--{option}")
    both = set(given.get("categorical") or ()) & set(given.get("numeric") or ())
    if both:
        raise WrongUse(f"{listed(sorted(both))} is in --categorical and in --numeric")
    apart = {*roles.values(), given.get("weights"), *dropped}
    only = given.get("only")
    if only:
        source.check_has(only, "a column of the model")
    columns = [name for name in only or source.names if name not in apart]
    if not columns:
        raise BadData(f"{source.path} has no column left to predict from")
    lacking = [name for name in columns if name not in target.names]
    if lacking:
        plural = "columns" if len(lacking) > 1 else "column"
        hint = ""
        if label is None and len(lacking) == 1:
            hint = f"; if it is the label: --label {lacking[0]}"
        raise BadData(
            f"{target.path} lacks the {plural} {listed(lacking)} of {source.path} "
            f"(--drop {','.join(lacking[:5])} goes on without{hint})"
        )
    more = [name for name in target.names if name not in {*columns, *apart}]
    if more and not only:
        notices.append(
            Notice(
                target.path,
                " has columns that ",
                source.path,
                f" lacks, which are not used: {listed(more)}",
            )
        )
    return columns


def _kinds(
    source: TableFile,
    target: TableFile,
    columns: Sequence[str],
    given: dict[str, Any],
    notices: list[Notice],
) -> dict[str, str]:
    """Return what each column holds in both files; refuse what is not the same."""
    categorical = given.get("categorical") or ()
    numeric = given.get("numeric") or ()
    kinds = {}
    for name in columns:
        found = [kind_of(table, name) for table in (source, target)]
        for table, kind in zip((source, target), found, strict=True):
            if kind == EMPTY:
                raise BadData(
                    f"{table.path}, column {name!r} has no value in any row: --drop "
                    f"{name} leaves it out"
                )
        if name in categorical or name in numeric:
            kinds[name] = CATEGORIES if name in categorical else NUMBERS
            continue
        if found[0] != found[1]:
            raise BadData(_differing(source, target, name, found))
        if found[0] == CATEGORIES:
            if all(texts_differ(table, name) for table in (source, target)):
                _refuse_lost_numbers(source, name)
                _refuse_lost_numbers(target, name)
                notices.append(
                    Notice(
                        f"column {name!r} differs in nearly every row, as names and "
                        f"free text do, and is left out (--categorical {name} keeps "
                        "it)"
                    )
                )
                continue
            notices.extend(_number_notice(source, name))
        kinds[name] = found[0]
    if not kinds:
        raise BadData(f"{source.path} has no column left to predict from")
    return kinds


def _differing(
    source: TableFile, target: TableFile, name: str, found: list[str]
) -> str:
    told = (
        f"column {name!r} holds {found[0]} in {source.path} and {found[1]} in "
        f"{target.path}"
    )
    if set(found) != {NUMBERS, CATEGORIES}:
        return told
    table = source if found[0] == CATEGORIES else target
    _, row = number_like(table, name)
    if row is None:
        return f"{told}, written as strings: --numeric {name} reads them as numbers"
    text = table.columns[name][row].as_py()
    return (
        f"{told} ({text!r} in {table.place(row)} is no number): mend it, or "
        f"--categorical {name}"
    )


def _refuse_lost_numbers(table: TableFile, name: str) -> None:
    """Refuse to leave out a column of strings most of which look like numbers."""
    row = unlike_numbers(table, name)
    if row is not None:
        text = table.columns[name][row].as_py()
        raise BadData(
            f"{table.path}, {table.place(row)}, column {name!r}: {text!r} looks like "
            f"a number that cannot be read, and so do most cells of the column: mend "
            f"it, or --drop {name}, or --categorical {name}"
        )


def _number_notice(table: TableFile, name: str) -> list[Notice]:
    """Say that strings look like numbers, if most do."""
    some = table.columns[name].slice(0, 1000)
    there = len(some) - some.null_count
    like, row = number_like(table, name, 1000)
    if 2 * like < there or not there:
        return []
    if row is None:
        like, row = number_like(table, name)
    if row is None:
        return [
            Notice(
                f"column {name!r} of ",
                table.path,
                " holds numbers written as strings and is read as categories "
                f"(--numeric {name} reads numbers)",
            )
        ]
    return [
        Notice(
            f"column {name!r} of ",
            table.path,
            " is read as categories, because ",
            Cell(table.columns[name][row].as_py()),
            f" in {table.place(row)} is no number",
        )
    ]
