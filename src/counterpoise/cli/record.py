"""The record of a run, its summary and the exit code."""

from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from counterpoise.cli.files import TableFile
from counterpoise.cli.inputs import Pair
from counterpoise.cli.options import (
    OPTIONS,
    SHORT_NAMES,
    Condition,
    holding,
    read_conditions,
)
from counterpoise.cli.outputs import (
    STDOUT,
    TABLE_ENDINGS,
    check_json,
    refuse_inputs,
    write_record,
)
from counterpoise.cli.terminal import (
    CONDITION_HOLDS,
    FINE,
    NO_OVERLAP,
    NOT_PROVED,
    Block,
    UsageError,
    show,
)
from counterpoise.messages import message
from counterpoise.messages.numbers import metric_name
from counterpoise.performance.result import ESTIMATES
from counterpoise.report.formatting import share, to_text
from counterpoise.report.key_questions import is_contradicted
from counterpoise.report.page import record_text
from counterpoise.report.report import Report
from counterpoise.report.sections import Section
from counterpoise.report.tables import features_table
from counterpoise.report.verdict import verdict_of
from counterpoise.shift.support import PARTIAL_OVERLAP

# -----------------------------------------------------------------------------
# What the command line knows beside the library, and numbers by short names.
# -----------------------------------------------------------------------------


# What is shown, and how, is asked for anew.
_DISPLAY = ("json", "text", "config", "overwrite", "quiet")
_NOT_REPEATED = (*_DISPLAY, "workers", "scheduler", "wait", "resume")
# Where files are, and what is shown, does not change what is found.
_PATHS = ("source", "target", "model", "reference", "table", "out")
_NOT_RECORDED = ("command", *_PATHS, *_NOT_REPEATED)
# A name on offer, or that of a file.
_MAYBE_A_FILE = ("estimator", "weights")


def data_of(pair: Pair) -> Section:
    """Return what was read: files, columns, gaps, classes; never a row."""
    columns = [
        {
            "name": name,
            "kind": kind,
            "missing_source": float(source.missing.mean()),
            "missing_target": float(target.missing.mean()),
        }
        for (name, kind), source, target in zip(
            pair.kinds.items(),
            pair.table.columns,
            pair.table_target.columns,
            strict=True,
        )
    ]
    found: Section = {
        "source": _table_section(pair.source, len(pair.table)),
        "target": _table_section(pair.target, len(pair.table_target)),
        "columns": columns,
        "task": pair.task,
    }
    if pair.task == "classification" and pair.y is not None:
        values, counts = np.unique(pair.y, return_counts=True)
        found["classes"] = [
            {"class": value, "rows": int(count)}
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
        ]
    return found


def reproduced_by(options: Namespace) -> Section:
    """Return the command and its options, but for where files are."""
    recorded: dict[str, object] = {}
    for key, value in sorted(vars(options).items()):
        if key in _NOT_RECORDED:
            continue
        maybe_file = key in _MAYBE_A_FILE and isinstance(value, str)
        if isinstance(value, Path) or maybe_file:
            value = Path(value).name
        recorded[key] = list(value) if isinstance(value, tuple) else value
    return {
        "command": options.command,
        "command_line": command_line(options),
        "options": recorded,
    }


def command_line(options: Namespace) -> list[str]:
    """Return the words that do the same again, in the folder of the tables.

    Of files the names, and `again` for what is written, so that the folders that
    somebody chose leave no trace; options at their defaults are left out, but for the
    seed.

    Examples
    --------
    >>> options = Namespace(command="weights", source=Path("a/b.csv"), seed=0, id=None)
    >>> command_line(options)
    ['counterpoise', 'weights', '--source', 'b.csv', '--seed', '0']
    """
    words = ["counterpoise", options.command]
    for name, option in OPTIONS.items():
        value = vars(options).get(name.replace("-", "_"))
        if value is None or name in _NOT_REPEATED:
            continue
        if name != "seed" and value == option.default:
            continue
        if name == "out":
            suffix = Path(value).suffix
            value = f"again{suffix if suffix in TABLE_ENDINGS else ''}"
        elif option.kind == "path" or isinstance(value, Path) or name in _MAYBE_A_FILE:
            value = Path(value).name
        elif option.kind == "names":
            value = ",".join(value)
        for one in value if option.kind == "texts" else (value,):
            if one is True:
                words.append(f"--{name}")
            elif str(one).startswith("-"):
                # What begins like an option is taken for one.
                words.append(f"--{name}={one}")
            else:
                words += [f"--{name}", str(one)]
    return words


def flat_numbers(record: Report, names: Collection[str]) -> dict[str, float | None]:
    """Return numbers of the record by their short names, None where undefined.

    Examples
    --------
    >>> flat_numbers(Report.from_dict({"shift": {"auc": 0.7}}), ["auc", "ess"])
    {'auc': 0.7, 'ess': None}
    """
    found = {name: record.at(SHORT_NAMES[name]) for name in names}
    return {name: None if v is None else float(v) for name, v in found.items()}


def is_proved(record: Report) -> bool:
    """Return whether the certificate of the weights holds, where there is one."""
    return bool(record.at("weights.certificate.holds", True))


def _table_section(table: TableFile, n_rows: int) -> Section:
    return {"file": table.path.name, "sha256": table.sha256, "rows": n_rows}


# -----------------------------------------------------------------------------
# A record in words for a person: verdict first, then numbers, then the rest.
# -----------------------------------------------------------------------------


# Features that are listed, those that moved most.
_COLUMNS_LISTED = 5
# Shares that differ by less are one number.
_ROUNDING = 1e-9


def of_record(record: Report) -> Iterator[Block]:
    """Return the verdict, the numbers, what moved, what was chosen, what to do next."""
    verdict = verdict_of(record)
    lead = (to_text(verdict.lead),) if verdict.lead else ()
    answers = tuple(
        f"{one.question} {one.short}. {to_text(one.told)} {to_text(one.sure)}".rstrip()
        for one in verdict.answers
    )
    word = record.at("shift.verdict")
    yield Block(f"Verdict: {word}" if word else "Verdict", (verdict.title, *lead))
    if answers:
        yield Block("Why", answers)
    numbers = tuple(
        (one.label, str(one.value), to_text(one.beside)) for one in verdict.numbers
    )
    if numbers:
        yield Block("In numbers", rows=numbers)
    yield from _performance(record)
    yield from _moved(record)
    yield from _chosen(record)
    steps = tuple(to_text(step) for step in verdict.steps)
    if steps:
        yield Block("What to do next", steps)


def of_end(reasons: Collection[str], files: Collection[Path] = ()) -> Iterator[Block]:
    """Return why the exit code is not zero, and which files were written."""
    if reasons:
        yield Block("Not fine", tuple(reasons))
    if files:
        yield Block("Written", tuple(str(path) for path in files))


def _performance(record: Report) -> Iterator[Block]:
    """Return the estimates of the score on the new data side by side."""
    performance = record.at("performance")
    if performance is None:
        return
    contradicted = is_contradicted(record)
    yield from _estimates(performance["metrics"], "the new data", contradicted)
    covered = performance["covered"]
    is_partial = record.at("shift.verdict") == PARTIAL_OVERLAP
    if covered is not None and is_partial and not contradicted:
        part = f"the covered {share(covered['share'])} of the new data"
        if abs(covered["share"] - record.at("shift.covered", 0.0)) > _ROUNDING:
            # The rims of holes are left out as well.
            part = f"the {share(covered['share'])} of the new data away from all holes"
        yield from _estimates(covered["metrics"], part)


def _estimates(
    metrics: Section, where: str, contradicted: bool = False
) -> Iterator[Block]:
    """Return a table a metric, of estimates that labeled rows do not contradict."""
    for name, one in metrics.items():
        rows = tuple(
            (
                "training data" if kind == "source" else kind.replace("_", " "),
                *(_number(one[kind][key]) for key in ("value", "low", "high")),
                message(one[kind]["assumption"], "terminal"),
            )
            for kind in ESTIMATES
            if one[kind] is not None
            and not (contradicted and kind not in ("source", "labeled"))
        )
        guess = one.get("baseline")
        if guess is not None:
            said = f"every row gets the {guess['prediction']}; the model is "
            said += guess["verdict"]
            rows += (("guessing", _number(guess["value"]), "", "", said),)
        better = "higher" if one["higher_is_better"] else "lower"
        check: tuple[str, ...] = ()
        if one["check"] is not None:
            check = (message(one["check"]["finding"], "terminal"),)
        title = f"{metric_name(name).name} on {where} ({better} is better)"
        header = ("estimate", "value", "low", "high", "right if")
        yield Block(f"{title[0].upper()}{title[1:]}", check, header, rows)


def _moved(record: Report) -> Iterator[Block]:
    """Return the columns that moved most."""
    table = features_table(record)
    if table is not None:
        rows = tuple(
            tuple("" if cell is None else str(cell) for cell in row)
            for row in table.rows[:_COLUMNS_LISTED]
        )
        yield Block("Moved most (SD: standard deviations)", (), table.header, rows)


def _chosen(record: Report) -> Iterator[Block]:
    lines = []
    weights, model, guard = (record.at(key) for key in ("weights", "model", "guard"))
    if weights is not None and weights["weight_estimator"] is not None:
        why = ""
        if len(weights["candidates"]) == 1:
            why = ", for there are too few rows to choose by cross-validation"
        elif weights["candidates"]:
            why = (
                ", the simplest that is as good as the best of "
                f"{len(weights['candidates'])} by held-out score"
            )
        lines.append(f"weights: {weights['chosen']}{why}")
        if weights["certificate"] is not None:
            lines.append(_proof(weights))
    if guard is not None:
        lines.append(f"how much of them: {guard['reason']}")
    if model is not None:
        used = "fitted to rows without weights"
        if model["adapted"] and model.get("mixing", 1.0) < 1.0:
            used = f"fitted to {model['mixing']:.3g} of the weights, beside equal ones"
        elif model["adapted"]:
            used = f"fitted to weights to the power {model['exponent']:g}"
        lines.append(f"model: {model['type']}, {used}")
    if lines:
        yield Block("Chosen", tuple(lines))


def _proof(weights: Section) -> str:
    proof = weights["certificate"]
    if proof["kind"] != "none":
        holds = "holds" if proof["holds"] else "DOES NOT HOLD"
        return f"proof {holds}: {proof['words']}"
    if weights["chosen"] == "UniformWeights":
        return "nothing is proved: all weights are one, nothing was minimized"
    return (
        "nothing is proved for this method; held-out log-loss of training against "
        f"new rows {_number(proof['objective'])}"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


# -----------------------------------------------------------------------------
# How a command ends: what it says, where, and with which code.
# -----------------------------------------------------------------------------


# Options that name files to read.
_READ = ("source", "target", "table", "model", "reference", "config", "target_labels")


def prepare_outputs(
    options: Namespace, names: Collection[str], files: Collection[Path] = ()
) -> list[Condition]:
    """Return the conditions of `--fail-if`; refuse what cannot be written.

    Parameters
    ----------
    options : those of the command
    names : strings
        Numbers that a condition may be about.
    files : paths
        What else the command writes, and `--json` must not.
    """
    check_json(options.json, overwrite=options.overwrite)
    if options.json not in (None, STDOUT):
        apart = {path.resolve() for path in files}
        if Path(options.json).resolve() in apart:
            raise UsageError(f"--json {options.json} is a file that --out writes")
        files = [*files, Path(options.json)]
    refuse_inputs(files, inputs_of(options))
    return read_conditions(options.fail_if, names)


def inputs_of(options: Namespace) -> list[Path]:
    """Return the files that a command reads."""
    given = (getattr(options, name, None) for name in _READ)
    files = [path for path in given if isinstance(path, Path)]
    maybe = (getattr(options, name, None) for name in ("estimator", "weights"))
    return [*files, *(Path(one) for one in maybe if one and Path(one).is_file())]


@contextmanager
def memory_limit(options: Namespace) -> Iterator[None]:
    """Run what is inside with the memory budget of `--max-memory`."""
    if options.max_memory is None:
        yield
        return
    from counterpoise.data.parallel import memory_budget

    with memory_budget(options.max_memory):
        yield


def exit_code(
    record: Report, conditions: Collection[Condition], *, refused: bool = False
) -> tuple[int, list[str]]:
    """Return the exit code, and in words why it is not zero.

    A missing overlap counts before a proof that fails, and that before a condition.

    Parameters
    ----------
    record : Record
    conditions : those of `--fail-if`
    refused : bool
        Whether the command stopped because the source does not cover the target.
    """
    numbers = flat_numbers(record, {condition.name for condition in conditions})
    held = holding(conditions, numbers)
    reasons = [f"--fail-if {text}" for text in held]
    if not is_proved(record):
        reasons.insert(0, "the certificate of the weights does not hold")
    code = CONDITION_HOLDS if held else FINE
    code = code if is_proved(record) else NOT_PROVED
    return NO_OVERLAP if refused else code, reasons


def print_findings(options: Namespace, record: Report, blocks: Iterable[Block]) -> None:
    """Write the findings where the options want them."""
    if options.text:
        print(record_text(record), end="")
    if not options.quiet:
        show(blocks)
    if options.json is not None:
        write_record(options.json, record.to_json(), overwrite=options.overwrite)
