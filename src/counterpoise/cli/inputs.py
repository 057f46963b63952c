"""Input tables of the commands: source, target, labels, weights."""

from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.cli.files import (
    EMPTY,
    STDIN,
    TableFile,
    kind_of,
    number_like,
    read_file,
    texts_differ,
    typed,
    unlike_numbers,
)
from counterpoise.cli.terminal import Cell, DataError, Notice, UsageError, listed
from counterpoise.data.groups import with_units
from counterpoise.data.samples import Samples
from counterpoise.data.table import (
    CATEGORIES,
    DATES,
    NUMBERS,
    Table,
    TableColumn,
    frame_of,
)
from counterpoise.linalg.arrays import Array, Indices

# -----------------------------------------------------------------------------
# What the rows of two files belong to: groups, or a sequence in time.
# -----------------------------------------------------------------------------


def belonging_of(
    source: TableFile,
    target: TableFile,
    rows: Indices,
    given: Mapping[str, Any],
    notices: list[Notice],
) -> dict[str, NDArray[Any]]:
    """Return groups or times of both tables, as `diagnose` takes them.

    A target without such a column has a group a row; without a time nothing is said of
    either table, and a notice tells.
    """
    groups, time = given.get("groups"), given.get("time")
    every = np.arange(target.n_rows)
    if groups is not None:
        belonging = {"groups": _group_names(source, groups, rows)}
        if groups in target.names:
            belonging["groups_target"] = _group_names(target, groups, every)
        else:
            notices.append(
                Notice(target.path, f" has no {groups!r}: its rows count one by one")
            )
        return belonging
    if time is None:
        return {}
    if time in target.names:
        return {
            "time": times_of(source, time, rows),
            "time_target": times_of(target, time, every),
        }
    notices.append(
        Notice(
            target.path,
            f" has no {time!r}: folds are blocks of time, and in the diagnosis of "
            "the shift every row counts for itself",
        )
    )
    return {}


def _group_names(table: TableFile, groups: str, rows: Indices) -> NDArray[Any]:
    """Return the names of the groups of rows; a row without one is refused."""
    column = typed(table, groups, CATEGORIES, rows)
    _refuse_missing(table, column, rows, f"{groups!r} (--groups)")
    return np.array(column.categories, dtype=object)[column.values]


def times_of(table: TableFile, time: str, rows: Indices) -> NDArray[Any]:
    """Return a column of dates or numbers; a row without one is refused."""
    kind = kind_of(table, time)
    if kind in (CATEGORIES, EMPTY):
        raise DataError(
            f"{table.path}, column {time!r} (--time) holds {kind}: it must hold dates "
            "such as 2024-01-31 or numbers"
        )
    column = typed(table, time, kind, rows)
    _refuse_missing(table, column, rows, f"{time!r} (--time)")
    return column.values if column.local is None else column.local


def _refuse_missing(
    table: TableFile, column: TableColumn, rows: Indices, name: str
) -> None:
    if column.missing.any():
        row = int(rows[int(np.argmax(column.missing))])
        raise DataError(f"{table.path}, {table.place(row)}: no {name}")


# -----------------------------------------------------------------------------
# The column to predict: classes or numbers.
# -----------------------------------------------------------------------------


# Whole numbers up to this one are told apart as floats.
_LAST_WITHOUT_GAPS = 2.0**53
AUTO, CLASSIFICATION, REGRESSION = "auto", "classification", "regression"


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a table.

    Attributes
    ----------
    rows : array of shape (k,)
        Places of the rows that have one.
    values : array of shape (k,)
        Strings, whole numbers or numbers.
    task : {"classification", "regression"}
    notices : tuple of Notice
    """

    rows: Indices
    values: NDArray[Any]
    task: str
    notices: tuple[Notice, ...] = ()


def read_labels(
    table: TableFile,
    name: str,
    task: str,
    categorical: Collection[str] = (),
    known: NDArray[Any] | None = None,
) -> Labels:
    """Return the labels of a table, rows without one left out.

    Parameters
    ----------
    table : TableFile
    name : str
        Of the column.
    task : {"auto", "classification", "regression"}
        What the label is. "auto": strings are classes, and whole numbers of few
        different values too; other numbers are numbers.
    categorical : strings
        Columns that hold classes whatever they look like.
    known : array or None
        Labels of the source, of which those of a target must be.
    """
    kind = kind_of(table, name)
    where = f"{table.path}, column {name!r}"
    label = f"{where} (the label)"
    if kind == EMPTY:
        raise DataError(f"{label} has no value in any row")
    if kind == DATES:
        raise DataError(f"{label} holds dates: neither classes nor numbers")
    if name in categorical or (known is not None and known.dtype.kind == "U"):
        kind = CATEGORIES
    column = typed(table, name, kind)
    rows = np.flatnonzero(~column.missing)
    values = column.values[rows]
    notices: tuple[Notice, ...] = ()
    if kind == CATEGORIES:
        if task == REGRESSION:
            raise DataError(f"{label} holds strings: no numbers to predict")
        values, task = np.array(column.categories)[values], CLASSIFICATION
    elif task == AUTO:
        task = task_of(values)
        notices = _task_notices(name, values, task)
    if task == CLASSIFICATION and values.dtype.kind == "f":
        if not np.array_equal(values, np.round(values)):
            raise DataError(f"{label} holds numbers with fractions: no classes")
        values = _whole(table, name, values, rows)
    if known is None:
        different = np.unique(values)
        if different.size == 1:
            raise DataError(
                f"{label} has one value only, {different[0]!s}, in all {values.size} "
                "rows: nothing to learn"
            )
    elif task == CLASSIFICATION:
        new = ~np.isin(values, known)
        if new.any():
            row = int(rows[int(np.argmax(new))])
            raise DataError(
                f"{table.path}, {table.place(row)}, column {name!r}: the source has no "
                f"class {values[new][0]!s}"
            )
    return Labels(rows, values, task, notices)


def _whole(
    table: TableFile, name: str, values: NDArray[Any], rows: Indices
) -> NDArray[Any]:
    """Return classes as whole numbers, with all the digits that the file has.

    Beyond 2 ** 53 numbers with a decimal point skip whole ones: they are classes only
    where the file stores whole numbers.
    """
    import pyarrow

    stored = table.columns[name]
    if pyarrow.types.is_integer(stored.type):
        whole = stored.take(rows)
        try:
            return whole.cast(pyarrow.int64()).to_numpy()
        except pyarrow.ArrowInvalid:
            pass
    if np.abs(values).max(initial=0.0) > _LAST_WITHOUT_GAPS:
        row = int(rows[int(np.argmax(np.abs(values)))])
        raise DataError(
            f"{table.path}, {table.place(row)}, column {name!r} (the label): classes "
            f"of so many digits would be merged: --categorical {name} reads them as "
            "texts"
        )
    return values.astype(np.int64)


def task_of(values: NDArray[Any]) -> str:
    """Return what labels are, by the rule of `Adapted(estimator=None)`."""
    from counterpoise.adaptation.routing import are_classes

    return CLASSIFICATION if are_classes(values) else REGRESSION


def _task_notices(name: str, values: NDArray[Any], task: str) -> tuple[Notice, ...]:
    """Say how numbers were taken, where they could be taken otherwise."""
    if not np.array_equal(values, np.round(values)):
        return ()
    different = np.unique(values).size
    if different <= 2:
        return ()
    other = REGRESSION if task == CLASSIFICATION else CLASSIFICATION
    kind = "classes" if task == CLASSIFICATION else "numbers"
    return (
        Notice(
            f"the label {name!r} has {different} different whole numbers, taken as "
            f"{kind} (--task {other} takes them otherwise)"
        ),
    )


# -----------------------------------------------------------------------------
# The user's own weights of the source rows: a column of the source, or a file.
# -----------------------------------------------------------------------------


# What a column of weights is called in a file, such as weights.parquet of
# `predict_weights`.
USUAL_NAME = "weight"


def read_own_weights(
    asked: str | None, source: TableFile, rows: Indices, id_column: str | None
) -> Array | None:
    """Return what the source rows count, in the order of `rows`; None if all alike.

    A name that the source has as a column is that column. Else it is a file: its
    column "weight", or the only one of numbers, matched by `--id` where the file has
    that column, and row by row where it does not.

    Parameters
    ----------
    asked : str or None
        What `--weights` says.
    source : TableFile
    rows : array of int
        Places of the rows that are used.
    id_column : str or None
    """
    if asked is None:
        return None
    if asked in source.names:
        return _weights_in(source, asked, rows)
    if not Path(asked).is_file():
        raise UsageError(
            f"--weights {asked} is no column of {source.path}, and no file"
        )
    texts = [] if id_column is None else [id_column]
    table = read_file(Path(asked), as_text=texts)
    name = _column_of_weights(table, id_column)
    values = _weights_in(table, name, np.arange(table.n_rows))
    if id_column is not None and id_column in table.names:
        return values[_matched(source, table, id_column, rows)]
    if table.n_rows != source.n_rows:
        raise DataError(
            f"{table.path} has {table.n_rows:,} rows and {source.path} "
            f"{source.n_rows:,}: --weights needs a row for each, or --id to match them"
        )
    return values[rows]


def _weights_in(table: TableFile, name: str, rows: Indices) -> Array:
    """Return a column of weights; refuse what cannot be one."""
    where = f"column {name!r}"
    if kind_of(table, name) != NUMBERS:
        raise DataError(f"{table.path}, {where} (--weights) holds no numbers")
    values = typed(table, name, NUMBERS, rows).values
    wrong = ~np.isfinite(values) | (values < 0.0)
    if wrong.any():
        place = int(np.argmax(wrong))
        what = "no weight" if np.isnan(values[place]) else f"{values[place]:g}"
        raise DataError(
            f"{table.path}, {table.place(int(rows[place]))}, {where}: {what}; "
            "--weights must be finite and not below zero"
        )
    if not values.any():
        raise DataError(f"{table.path}, {where}: all of --weights are zero")
    return values


def _column_of_weights(table: TableFile, id_column: str | None) -> str:
    if USUAL_NAME in table.names:
        return USUAL_NAME
    others = [name for name in table.names if name not in (id_column, "row")]
    numeric = [name for name in others if kind_of(table, name) == NUMBERS]
    if len(numeric) == 1:
        return numeric[0]
    there = listed(numeric) if numeric else "none of numbers"
    raise DataError(
        f"{table.path} has {there}: --weights needs a column {USUAL_NAME!r}"
    )


def _matched(
    source: TableFile, table: TableFile, id_column: str, rows: Indices
) -> Indices:
    """Return the places in the file of weights of the source rows."""
    known: dict[Any, int] = {}
    for place, key in enumerate(table.columns[id_column].to_pylist()):
        if key in known:
            raise DataError(
                f"{table.path} has {key!r} twice in {id_column!r} (--weights)"
            )
        known[key] = place
    keys = source.columns[id_column].to_pylist()
    lacking = [row for row in rows.tolist() if keys[row] not in known]
    if lacking:
        raise DataError(
            f"{table.path} (--weights) lacks {len(lacking):,} of the rows of "
            f"{source.path}, {keys[lacking[0]]!r} for one"
        )
    return np.array([known[keys[row]] for row in rows.tolist()], dtype=np.intp)


# -----------------------------------------------------------------------------
# Labels that somebody has filled in, in the table that `counterpoise label` wrote.
# -----------------------------------------------------------------------------


# The column that says which row of the target a row is; rows that were chosen for what
# they tell are no sample of the target, and have another.
ROW_BY_CHANCE, ROW_BY_GAIN = "row", "row, chosen by gain"


def labels_of_rows(
    path: Path,
    target: TableFile,
    label: str,
    task: str,
    categorical: Collection[str],
    known: NDArray[Any] | None,
) -> tuple[Indices, NDArray[Any]]:
    """Return which target rows have a label in another table, and the labels.

    Rows without one are passed over. The other table must have been drawn by chance.

    Parameters
    ----------
    path : Path
        The table, with the column "row", counted from one, and the label's.
    target : TableFile
    label, task, categorical, known
        As `read_labels` has them.
    """
    file = read_file(path, as_text=set(categorical))
    if ROW_BY_GAIN in file.names:
        raise DataError(
            f"{path} has rows that were chosen by gain: they are no sample of the "
            "target, and the score must not be estimated from them (label --by chance "
            "draws some)"
        )
    file.check_has([label], "--target-labels")
    if ROW_BY_CHANCE not in file.names:
        raise DataError(
            f"{path} has no column {ROW_BY_CHANCE!r}, which says which row of "
            f"{target.path} each is, counted from one: counterpoise label writes it. "
            f"Or put the column {label!r} into {target.path} itself, empty where there "
            "is no label, and give --target-labels without a file"
        )
    rows = np.asarray(typed(file, ROW_BY_CHANCE, NUMBERS).values, dtype=float)
    found = read_labels(file, label, task, categorical, known=known)
    places = rows[found.rows]
    if not np.isfinite(places).all() or (places != np.floor(places)).any():
        raise DataError(f"{path}, column {ROW_BY_CHANCE!r} must hold whole numbers")
    if places.size and (places.min() < 1 or places.max() > target.n_rows):
        raise DataError(
            f"{path}, column {ROW_BY_CHANCE!r} must lie from 1 to {target.n_rows}, the "
            f"rows of {target.path}"
        )
    if np.unique(places).size < places.size:
        raise DataError(f"{path} has a row of {target.path} twice")
    return (places - 1).astype(np.intp), found.values


# -----------------------------------------------------------------------------
# A model that somebody saved with skops, to be fitted here.
# -----------------------------------------------------------------------------


ENDING = ".skops"


def is_saved(name: str) -> bool:
    """Return whether `--estimator` names a file, and none of the models on offer."""
    return name.casefold().endswith(ENDING)


def saved_estimator(path: Path, task: str) -> Any:
    """Return the model of a file as it was before any fit.

    Of an `Adapted` the estimator inside. Nothing in the file is run: types that are
    not known to be harmless are refused by name.
    """
    from sklearn.base import clone, is_classifier, is_regressor

    from counterpoise.adaptation.adapted import Adapted
    from counterpoise.cli.predict import read_model

    found = read_model(path)
    if isinstance(found, Adapted):
        found = found.estimator_
    if not (hasattr(found, "fit") and hasattr(found, "predict")):
        raise DataError(f"{path} holds {type(found).__name__}, which does not predict")
    classes = task == CLASSIFICATION
    if is_regressor(found) if classes else is_classifier(found):
        wanted = "numbers" if classes else "classes"
        raise UsageError(
            f"--estimator {path} predicts {wanted}: the label is for {task}"
        )
    return clone(found)


# -----------------------------------------------------------------------------
# Two files as the two samples: which columns count, what each holds, what was odd.
# -----------------------------------------------------------------------------


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
    labeled : array of shape (k,)
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
    labeled: Indices
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
    def samples(self) -> Samples:
        """Both samples as read, for all that is not the estimator."""
        given = self.X, (self.X_target,)
        samples = Samples.of_tables(self.table, self.table_target, given)
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
        raise UsageError("--groups and --time: rows have the one or the other")
    if options.source == options.target == STDIN:
        raise UsageError("--source and --target cannot both be the standard input")
    source, target = files or (
        read_file(options.source, as_text=texts),
        read_file(options.target, as_text=texts),
    )
    notices = [*source.notices, *target.notices]
    columns = _columns(source, target, given, notices)
    kinds = _kinds(source, target, columns, given, notices)
    for table, role in ((source, "source"), (target, "target")):
        if table.n_rows < ROWS_OF_A_SAMPLE:
            rows_there = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
            raise DataError(
                f"{table.path} has {rows_there}: a {role} needs at least "
                f"{ROWS_OF_A_SAMPLE} for anything to be said about it"
            )
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
            raise DataError(f"{source.path} has {rows.size} rows with a {label!r} only")
    if time is not None:
        order = np.argsort(times_of(source, time, rows), kind="stable")
        rows, y = rows[order], None if y is None else y[order]
    labeled, y_target = _target_labels(target, given, y, task, notices)
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
        labeled=labeled,
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


def _target_labels(
    target: TableFile,
    given: Mapping[str, Any],
    y: NDArray[Any] | None,
    task: str | None,
    notices: list[Notice],
) -> tuple[Indices, NDArray[Any] | None]:
    """Return the target rows whose labels may be used, and the labels."""
    label, wanted = given.get("label"), given.get("target_labels")
    categorical = given.get("categorical") or ()
    none = np.empty(0, dtype=np.intp), None
    if label is None:
        return none
    if isinstance(wanted, Path):
        return labels_of_rows(wanted, target, label, str(task), categorical, y)
    if wanted:
        target.check_has([label], "--target-labels")
        labels = read_labels(target, label, str(task), categorical, known=y)
        return labels.rows, labels.values
    if label in target.names:
        hint = "; --target-labels uses it" if "target_labels" in given else ""
        notices.append(
            Notice(target.path, f" has the label {label!r}, which is not used{hint}")
        )
    return none


def _columns(
    source: TableFile,
    target: TableFile,
    given: Mapping[str, Any],
    notices: list[Notice],
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
        raise UsageError(f"{listed(sorted(both))} is in --categorical and in --numeric")
    apart = {*roles.values(), given.get("weights"), *dropped}
    only = given.get("only")
    if only:
        source.check_has(only, "a column of the model")
    columns = [name for name in only or source.names if name not in apart]
    if not columns:
        raise DataError(f"{source.path} has no column left to predict from")
    lacking = [name for name in columns if name not in target.names]
    if lacking:
        plural = "columns" if len(lacking) > 1 else "column"
        hint = ""
        if label is None and len(lacking) == 1:
            hint = f"; if it is the label: --label {lacking[0]}"
        raise DataError(
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
    given: Mapping[str, Any],
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
                raise DataError(
                    f"{table.path}, column {name!r} has no value in any row: --drop "
                    f"{name} leaves it out"
                )
        if name in categorical or name in numeric:
            kinds[name] = CATEGORIES if name in categorical else NUMBERS
            continue
        if found[0] != found[1]:
            raise DataError(_differing(source, target, name, found))
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
        raise DataError(f"{source.path} has no column left to predict from")
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
        raise DataError(
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
