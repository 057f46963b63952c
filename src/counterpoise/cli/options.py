"""Options of the commands, configuration files and --fail-if."""

import argparse
import difflib
import math
import operator
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from counterpoise.cli.inputs import is_saved
from counterpoise.cli.terminal import WRONG_USE, DataError, UsageError, one_line
from counterpoise.data.parameters import did_you_mean
from counterpoise.weights.registry import WEIGHT_ESTIMATORS_BY_COMMAND

# -----------------------------------------------------------------------------
# `--config run.toml`: options by their long names.
# -----------------------------------------------------------------------------


# Of each kind of option, the types that TOML may give it, and how that is said.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "flag": ((bool,), "true or false"),
    "names": ((str, list), "a string or a list of strings"),
    "texts": ((str, list), "a string or a list of strings"),
    "whole": ((int,), "a whole number"),
    "share": ((float,), "a number between 0 and 1"),
    "size": ((int, str), "a size such as '2G'"),
    "flag or path": ((bool, str), "true, false or the name of a file"),
    "percentage": ((float, str), "a share such as '10%' or 0.1"),
}


def read_config(path: Path, kinds: Mapping[str, str]) -> dict[str, object]:
    """Return the options that a TOML file gives.

    Parameters
    ----------
    path : Path
        A table of options, "max-memory" or "max_memory"; lists for what takes several.
        Paths in it are relative to the folder in which the command runs.
    kinds : mapping
        The options that the command knows, and what each takes; any other key is an
        error.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe would be waited for, and a device has no end.
            raise DataError(f"--config {path} is a folder, a pipe or a device")
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError):
            raise DataError(
                f"--config {path} is not in UTF-8: {error.reason}"
            ) from error
        raise DataError(f"--config {str(path)!r} is no path: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"--config {path} cannot be read: {reason}") from error
    try:
        given = tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"--config {path} is nested too deep") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--config {path}: {one_line(error)}") from error
    known = set(kinds) - {"config"}
    options = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"--config {path} has the key {key!r}, which is no option here{hint}"
            )
        types, wanted = _TYPES.get(kinds[name], ((str,), "a string"))
        if not _fits(value, types):
            raise UsageError(f"--config {path}: {key} must be {wanted}, got {value!r}")
        options[name] = value
    return options


def _fits(value: object, types: tuple[type, ...]) -> bool:
    if isinstance(value, list):
        return list in types and all(isinstance(item, str) for item in value)
    # In Python true is a whole number.
    return type(value) in types


# -----------------------------------------------------------------------------
# `--fail-if "ess<0.2"`: a name, a comparison, a number.
# -----------------------------------------------------------------------------


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(
    r"\s*([A-Za-z_][\w.]*)\s*(<=|>=|==|!=|<|>)\s*"
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)

# Numbers of the record by the short names of --fail-if.
SHORT_NAMES = {
    "auc": "shift.auc",
    "auc_low": "shift.auc_low",
    "auc_high": "shift.auc_high",
    "mmd": "shift.mmd",
    "mmd_p_value": "shift.mmd_p_value",
    "uncovered_fraction": "shift.uncovered_fraction",
    "covered": "shift.covered",
    "n_source": "data.source.rows",
    "n_target": "data.target.rows",
    "ess": "weights.effective_share",
    "largest_weight": "weights.largest",
    "exponent": "model.exponent",
    "gain": "guard.gain",
    "score": "headline.value",
    "score_low": "headline.low",
    "score_high": "headline.high",
    "source_score": "headline.source",
    "label_change_p": "headline.label_change_p",
    "skill": "headline.baseline.skill",
}
ALL_NUMBERS = tuple(SHORT_NAMES)
SHIFT_NUMBERS = ALL_NUMBERS[:9]
WEIGHT_NUMBERS = ("n_source", "n_target", "ess", "largest_weight")
FIT_NUMBERS = ALL_NUMBERS[:13]
SCORE_NUMBERS = (*SHIFT_NUMBERS, *ALL_NUMBERS[13:])


@dataclass(frozen=True)
class Condition:
    """A comparison of a number of the record with a limit.

    Attributes
    ----------
    name : str
        Which number of the record.
    comparison : str
        "<", "<=", ">", ">=", "==" or "!=".
    limit : float
    """

    name: str
    comparison: str
    limit: float

    def holds(self, numbers: Mapping[str, float | None]) -> bool:
        """Tell whether it holds; of a number that is not defined it does."""
        value = numbers[self.name]
        return value is None or _COMPARISONS[self.comparison](value, self.limit)

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"


def read_conditions(texts: Collection[str], names: Collection[str]) -> list[Condition]:
    """Return the conditions of `--fail-if`, each of a name that there is.

    Parameters
    ----------
    texts : strings
        Conditions; commas separate several in one.
    names : strings
        The numbers that the command computes.

    Examples
    --------
    >>> [str(c) for c in read_conditions(["ess < .2, auc>=0.9"], ["ess", "auc"])]
    ['ess<0.2', 'auc>=0.9']
    """
    conditions = []
    for text in (part for given in texts for part in given.split(",")):
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(
                f"--fail-if takes a name, a comparison and a number, such as "
                f"'{example(names)}', got {text.strip()!r}"
            )
        name, comparison, limit = match.groups()
        if name not in names:
            raise UsageError(
                f"--fail-if knows no {name!r}; it knows {', '.join(sorted(names))}"
            )
        conditions.append(Condition(name, comparison, float(limit)))
    return conditions


def example(names: Collection[str]) -> str:
    """Return a condition of a name that there is.

    Examples
    --------
    >>> example(["auc", "ess"]), example(["auc"])
    ('ess<0.2', 'auc>0.8')
    """
    if "alerts" in names:
        return "alerts>0"
    return "ess<0.2" if "ess" in names else "auc>0.8"


def holding(
    conditions: Collection[Condition], numbers: Mapping[str, float | None]
) -> list[str]:
    """Return, in words, the conditions that hold.

    Examples
    --------
    >>> holding([Condition("ess", "<", 0.2)], {"ess": 0.1})
    ['ess<0.2 holds: it is 0.1']
    """
    return [
        f"{condition} counts as holding: it is not defined here"
        if numbers[condition.name] is None
        else f"{condition} holds: it is {numbers[condition.name]:.6g}"
        for condition in conditions
        if condition.holds(numbers)
    ]


# -----------------------------------------------------------------------------
# The options of all commands: one name, one meaning, one sentence.
# -----------------------------------------------------------------------------


# Scorers of scikit-learn by the names that people use.
_SCORERS = {
    "auc": "roc_auc",
    "brier": "neg_brier_score",
    "log_loss": "neg_log_loss",
    "logloss": "neg_log_loss",
    "mae": "neg_mean_absolute_error",
    "mse": "neg_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
}
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Option:
    """An option of the command line.

    Attributes
    ----------
    help : str
        One sentence.
    kind : {"text", "texts", "names", "path", "whole", "size", "share", "flag",\
            "flag or path", "percentage", "metric", "folds", "date", "amount"}
        What it takes: texts are given by repeating the option, names with commas
        between them.
    default : object
    shown : str
        What help shows in place of a value.
    choices : sequence of str or None
    """

    help: str
    kind: str = "text"
    default: Any = None
    shown: str = "NAME"
    choices: tuple[str, ...] | None = None


ESTIMATORS = (
    "boosting",
    "linear",
    "logistic",
    "ridge",
    "forest",
    "tree",
    "svm",
    "bayes",
    "constant",
    "auto",
)

OPTIONS: dict[str, Option] = {
    "source": Option(
        "table of labeled rows (CSV, Parquet, Feather, JSON lines, a workbook; '-': "
        "stdin; a folder or a pattern of Parquet files is read in blocks)",
        "path",
        shown="FILE",
    ),
    "target": Option(
        "table of rows from where the model will work", "path", shown="FILE"
    ),
    "table": Option("table of rows to predict, as --source", "path", shown="FILE"),
    "reference": Option(
        "table of labeled rows that the model was not fitted to", "path", shown="FILE"
    ),
    "every": Option(
        "what a chunk is: hour, day, week, month, year, a number of rows, or the name "
        "of a column, a chunk a value (default: week)",
        default="week",
        shown="UNIT",
    ),
    "false-alarm-rate": Option(
        "largest probability of any false alarm over all looks (default: 0.05)",
        "share",
        0.05,
        "SHARE",
    ),
    "tolerance": Option(
        "by how much the score may become worse, in its own units (default: 0)",
        "amount",
        0.0,
        "NUMBER",
    ),
    "model": Option("model.skops of an earlier run", "path", shown="FILE"),
    "label": Option("column of the source to predict"),
    "out": Option("where to write; nothing is written elsewhere", "path", shown="PATH"),
    "json": Option(
        "write the record as JSON to this file, '-' for stdout", shown="FILE"
    ),
    "text": Option("print the findings to stdout as plain text", "flag", False),
    "estimator": Option(
        "the model to fit: %(choices)s (default: boosting), or a scikit-learn model "
        "in a .skops file; auto: of boosting, linear and constant the one with the "
        "best estimated score on the target",
        default="boosting",
        choices=ESTIMATORS,
    ),
    "weight-estimator": Option(
        "how rows are weighed: %(choices)s (default: auto)",
        default="auto",
        choices=tuple(WEIGHT_ESTIMATORS_BY_COMMAND),
    ),
    "shift": Option(
        "what has moved, with --weight-estimator auto: %(choices)s (default: auto: the "
        "shares "
        "of the classes where they alone are seen to explain it, else the inputs)",
        default="auto",
        choices=("auto", "inputs", "labels"),
    ),
    "metric": Option(
        "a scikit-learn scorer's name, such as accuracy or neg_log_loss, or auc, "
        "brier, log_loss, mae, mse, rmse; default: log-loss of classes, squared error "
        "of numbers",
        "metric",
    ),
    "task": Option(
        "what the label is: %(choices)s (default: auto)",
        default="auto",
        choices=("auto", "classification", "regression"),
    ),
    "categorical": Option("columns to read as categories", "names", (), "A,B"),
    "numeric": Option("columns to read as numbers", "names", (), "A,B"),
    "drop": Option("columns to leave out", "names", (), "A,B"),
    "id": Option("column that names the rows; not used to predict"),
    "groups": Option(
        "column that names what rows belong to, such as a patient or a site: rows of "
        "a group are held out together, intervals and p-values are of groups, and it "
        "is not used to predict"
    ),
    "time": Option(
        "column to order the rows by; folds are blocks of time then, intervals and "
        "p-values of the shift are of such blocks, and it is not used to predict"
    ),
    "target-labels": Option(
        "use the labels that target rows have, or that FILE (see label) has for them, "
        "to sharpen the estimate and to test whether p(y|x) is the same",
        "flag or path",
        False,
        "FILE",
    ),
    "precision": Option(
        "say how many labels make the score's interval as wide as this share of the "
        "score (default: 20%%)",
        "percentage",
        0.2,
        "SHARE",
    ),
    "k": Option("how many rows to label (default: 50)", "whole", 50, "N"),
    "by": Option(
        "how rows are chosen: %(choices)s (default: chance)",
        default="chance",
        choices=("chance", "gain"),
    ),
    "weights": Option(
        "what the source rows count: a column of the source, or a file with a column "
        "'weight'; multiplies what is found here",
        shown="COLUMN|FILE",
    ),
    "cv": Option(
        "folds of the guard and of the estimate: a number, or blocks of neighboring "
        "rows (default: 5; blocks with --time)",
        "folds",
        shown="N|blocks",
    ),
    "calibration-fraction": Option(
        "share of the source rows held out for `predict --intervals`",
        "share",
        shown="SHARE",
    ),
    "intervals": Option(
        "add the interval, or the set of classes, that holds the label with this "
        "probability; needs a model with --calibration-fraction",
        "share",
        shown="SHARE",
    ),
    "overlap": Option(
        "add for every row its weight, whether few source rows are like it (uncovered) "
        "and whether its density ratio is not known (extrapolation)",
        "flag",
        False,
    ),
    "date": Option(
        "day to put on the page, such as 2026-01-31; without it none, so that the same "
        "data and seed make the same page",
        "date",
        shown="DAY",
    ),
    "level": Option("level of the intervals (default: 0.95)", "share", 0.95, "SHARE"),
    "seed": Option("seed of all choices (default: 0)", "whole", 0, "N"),
    "fail-if": Option(
        "end with code 3 if this holds, such as '{example}'; can be repeated; names: "
        "{names}",
        "texts",
        (),
        "CONDITION",
    ),
    "max-memory": Option(
        "memory to keep within, such as 500M or 2G: of an array (default: 1 GiB), or "
        "of the whole command where tables are read in blocks",
        "size",
        shown="SIZE",
    ),
    "workers": Option(
        "work on blocks in so many processes (Dask, on this machine alone)",
        "whole",
        shown="N",
    ),
    "scheduler": Option(
        "address of a Dask scheduler that works on blocks, such as tcp://10.0.0.5:8786",
        shown="ADDRESS",
    ),
    "wait": Option(
        "seconds to wait while --scheduler or --workers has no worker (default: 120)",
        "amount",
        120.0,
        "SECONDS",
    ),
    "resume": Option(
        "go on where an earlier run of the same command was ended: passes over blocks "
        "that it had made are not made again",
        "flag",
        False,
    ),
    "config": Option(
        "TOML file with options by their long names; the command line wins",
        "path",
        shown="FILE",
    ),
    "overwrite": Option("overwrite files that are there", "flag", False),
    "allow-no-overlap": Option(
        "go on where the source does not cover the target", "flag", False
    ),
    "probabilities": Option("add a column for each class", "flag", False),
    "quiet": Option("say nothing but errors", "flag", False),
}


# Options that several commands take, in the order of their help.
COLUMN_OPTIONS = ("drop", "categorical", "numeric", "id")
RECORD_OPTIONS = ("json", "text", "fail-if")
BLOCK_OPTIONS = ("max-memory", "workers", "scheduler", "wait")
FILE_OPTIONS = ("config", "overwrite")


class Parser(argparse.ArgumentParser):
    """A parser for which wrong use is code 1."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line."""
        self.exit(WRONG_USE, f"{self.prog}: {message} ({self.prog} --help)\n")


if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[Parser]
else:
    Commands = argparse.Action


def add_command(
    commands: Commands,
    name: str,
    about: str,
    options: Sequence[str],
    run: Callable[[argparse.Namespace], int],
    *,
    needs: Collection[str] = (),
    defaults: Mapping[str, object] | None = None,
    epilog: str | None = None,
    numbers: Sequence[str] = (),
) -> None:
    """Add a command to the parser.

    Parameters
    ----------
    commands : argparse's sub-parsers
    name, about : str
    options : names of `OPTIONS`
    run : callable
        Gets the options, one attribute each, and returns the exit code.
    needs : names
        Options without which there is nothing to do.
    defaults : mapping
        Where they differ from those of `OPTIONS`.
    epilog : str
        The last lines of the help.
    numbers : strings
        Names that `--fail-if` knows.
    """
    parser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=epilog,
        argument_default=argparse.SUPPRESS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option in options:
        _add(parser, option, needed=option in needs, numbers=numbers)

    def complete(given: argparse.Namespace) -> argparse.Namespace:
        # argparse writes "max_memory" for --max-memory.
        parsed = {name.replace("_", "-"): value for name, value in vars(given).items()}
        from_file = {}
        if "config" in parsed:
            kinds = {option: OPTIONS[option].kind for option in options}
            from_file = read_config(Path(parsed["config"]), kinds)
        values = {**(defaults or {}), **from_file}
        values |= {option: parsed[option] for option in options if option in parsed}
        lacking = [f"--{option}" for option in needs if values.get(option) is None]
        if lacking:
            raise UsageError(f"{name} needs {' and '.join(lacking)}")
        return completed(name, options, values)

    def unknown(words: Sequence[str]) -> None:
        like = did_you_mean(words[0], [f"--{option}" for option in options])
        parser.error(f"{name} has no {words[0]}{like}")

    parser.set_defaults(complete=complete, run=run, unknown=unknown)


def completed(
    command: str, options: Sequence[str], values: Mapping[str, object]
) -> argparse.Namespace:
    """Return all options of a command: the values given, and else the defaults.

    Examples
    --------
    >>> completed("weights", ("seed", "max-memory"), {"max-memory": "1K"})
    Namespace(command='weights', seed=0, max_memory=1000)
    """
    return argparse.Namespace(
        command=command,
        **{
            name.replace("-", "_"): read_value(
                name, values.get(name, OPTIONS[name].default)
            )
            for name in options
        },
    )


def read_value(name: str, value: Any) -> Any:
    """Return an option's value as what it stands for.

    Examples
    --------
    >>> read_value("drop", "a, b"), read_value("max-memory", "1.5G")
    (('a', 'b'), 1500000000)
    """
    option = OPTIONS[name]
    if value is None:
        return None
    if option.kind == "names":
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(str(part).strip() for part in parts if str(part).strip())
    if option.kind == "texts":
        return (value,) if isinstance(value, str) else tuple(value)
    if "path" in option.kind and isinstance(value, str) and "\0" in value:
        raise DataError(f"--{name} {value!r} is no path: it has a null byte")
    if option.kind == "path":
        return Path(value)
    if option.kind == "flag or path":
        return value if isinstance(value, bool) else Path(value)
    if option.kind == "percentage":
        return _percentage(name, value)
    if option.kind == "metric":
        return _SCORERS.get(str(value).casefold(), value)
    if option.kind == "size":
        return _size(name, value)
    if option.kind == "date":
        return _date(name, value)
    if option.kind == "folds":
        return value if value == "blocks" else _folds(name, value)
    if name == "estimator" and is_saved(str(value)):
        return str(value)
    if option.kind in ("whole", "share", "amount"):
        return _number(name, value, option.kind)
    if option.choices is not None and value not in option.choices:
        known = ", ".join(option.choices)
        raise UsageError(f"--{name} must be one of {known}, got {value!r}")
    return value


def _add(
    parser: argparse.ArgumentParser,
    name: str,
    *,
    needed: bool,
    numbers: Sequence[str],
) -> None:
    option = OPTIONS[name]
    about = option.help.replace("%(choices)s", ", ".join(option.choices or ()))
    if "{example}" in about:
        about = about.replace("{example}", example(numbers))
        about = about.replace("{names}", ", ".join(numbers))
    about = f"{about} (needed)" if needed else about
    if option.kind == "flag":
        parser.add_argument(f"--{name}", action="store_true", help=about)
        return
    more: dict[str, Any] = {}
    if option.kind == "flag or path":
        more = {"nargs": "?", "const": True}
    parser.add_argument(
        f"--{name}",
        **more,
        action="append" if option.kind == "texts" else "store",
        metavar=option.shown,
        help=about,
    )


def _number(name: str, value: object, kind: str) -> int | float:
    try:
        number = int(str(value)) if kind == "whole" else float(str(value))
    except ValueError as error:
        wanted = "a whole number" if kind == "whole" else "a number"
        raise UsageError(f"--{name} must be {wanted}, got {value!r}") from error
    if kind == "whole" and not 0 <= number < 2**32:
        raise UsageError(f"--{name} must be from 0 to 2**32 - 1, got {number}")
    if kind == "share" and not 0 < number < 1:
        raise UsageError(f"--{name} must lie between 0 and 1, got {number}")
    if kind == "amount" and not 0 <= number < math.inf:
        raise UsageError(f"--{name} must be at least 0, got {number}")
    return number


def _percentage(name: str, value: object) -> float:
    """Return a share above zero, given as such or in per cent."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise UsageError(f"--{name} must be a share such as 10% or 0.1, got {value!r}")
    return number


def _date(name: str, value: object) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise UsageError(
            f"--{name} must be a day such as 2026-01-31, got {value!r}"
        ) from error


def _folds(name: str, value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 2:
        raise UsageError(f"--{name} must be 2 or more folds, or blocks, got {value!r}")
    return number


def _size(name: str, value: object) -> int:
    match = re.fullmatch(r"([\d.]+)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.I)
    try:
        number = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    except ValueError:
        number = 0.0
    if not 1 <= number < 2**62:
        raise UsageError(f"--{name} must be a size such as 500M or 2G, got {value!r}")
    return int(number)
