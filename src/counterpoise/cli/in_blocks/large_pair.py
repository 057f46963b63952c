"""Two large tables as commands see them: a sample to decide on, blocks to fit to."""

import hashlib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoise import __version__
from counterpoise.cli.exits import WrongUse
from counterpoise.cli.in_blocks.large_table import DrawnFile, LargeTable, is_large
from counterpoise.cli.record import data_of, reproduced_by
from counterpoise.diagnosis.column_sums import column_sums
from counterpoise.engine import ROWS_DECIDED_ON, Blocks, distribute, memory_budget
from counterpoise.engine.checkpoints import kept_passes

# Arrays that may be there at the same time, each of the largest size.
ARRAYS_AT_ONCE = 4
# What is decided by all rows, or by rows that a sample does not have.
_NOT_OF_SAMPLES = ("weights", "calibration")


@dataclass(frozen=True, eq=False)
class LargePair:
    """Source and target, one of which at least is a folder or a pattern."""

    source: LargeTable
    target: LargeTable
    seed: int

    @classmethod
    def of(cls, options: Namespace) -> "LargePair | None":
        """Return both tables; None where both are files, which are read whole."""
        paths = options.source, options.target
        asked = options.workers is not None or options.scheduler is not None
        limit = options.max_memory
        if not (asked or any(is_large(path, limit) for path in paths)):
            return None
        refuse_options(options, _NOT_OF_SAMPLES)
        if isinstance(getattr(options, "target_labels", None), Path):
            raise WrongUse("--target-labels FILE names rows of one file, not of many")
        source, target = map(LargeTable.at, paths)
        refuse_inside([source, target], options.out if "out" in options else None)
        return cls(source, target, options.seed)

    def drawn(self) -> tuple[DrawnFile, DrawnFile]:
        """Return rows drawn of both, as files."""
        return (
            self.source.drawn(ROWS_DECIDED_ON, self.seed),
            self.target.drawn(ROWS_DECIDED_ON, self.seed),
        )

    def blocks(self, pair: Any, options: Namespace) -> tuple[Blocks, Blocks]:
        """Return both tables in blocks, the columns read as those of the sample."""
        label = getattr(options, "label", None)
        if pair.y is None:
            label = None
        source = self.source.typed(
            pair.kinds,
            name_column=options.id,
            label=label,
            known=pair.y,
            task=pair.task,
        )
        return source, self.target.typed(pair.kinds)

    def told(self, pair: Any) -> list[str]:
        """Return how many rows decisions rest on, in words."""
        drawn, drawn_target = len(pair.table), len(pair.table_target)
        return [
            f"diagnosis, choice of weights, guard and estimates rest on {drawn:,} of "
            f"{self.source.n_rows:,} source rows and {drawn_target:,} of "
            f"{self.target.n_rows:,} target rows, drawn by chance"
        ]

    def data(self, found: dict[str, Any], pair: Any) -> dict[str, Any]:
        """Return a data card with the rows and columns of all files, counted."""
        of_source, of_target = (
            {one.name: one for one in column_sums(table.typed(pair.kinds))}
            for table in (self.source, self.target)
        )
        out = dict(found)
        out["columns"] = [
            {
                **column,
                "missing_source": of_source[name].to_dict()["missing"],
                "missing_target": of_target[name].to_dict()["missing"],
                "every_source_row": of_source[name].to_dict(),
                "every_target_row": of_target[name].to_dict(),
            }
            for column in found["columns"]
            for name in [column["name"]]
        ]
        for key, table in (("source", self.source), ("target", self.target)):
            out[key] = {
                **found[key],
                "rows": table.n_rows,
                "drawn": found[key]["rows"],
                "files": len(table.reader.files),
            }
        return out


def data_card(pair: Any, large: LargePair | None) -> dict[str, Any]:
    """Return what was read: of files, or of all rows of folders."""
    found = data_of(pair)
    return found if large is None else large.data(found, pair)


def refuse_options(options: Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that folders cannot have."""
    for name in names:
        if getattr(options, name, None):
            told = name.replace("_", "-")
            raise WrongUse(f"--{told} is not taken with folders and patterns of files")


def refuse_inside(tables: list[LargeTable], out: Path | None) -> None:
    """Refuse to write where a table is read from."""
    if out is None:
        return
    for table in tables:
        read = {path.resolve() for path in table.reader.files}
        folders = {path.parent for path in read} if table.path.is_dir() else set()
        if out.resolve() in {*read, *folders} or out.resolve().parent in folders:
            raise WrongUse(
                f"--out {out} is, or lies in, a folder that is read: choose another"
            )


@contextmanager
def working_on_blocks(
    options: Namespace, large: "LargePair | LargeTable | None"
) -> Iterator[None]:
    """Let blocks be worked on as the options say: who, how much memory, what is kept.

    Parameters
    ----------
    options : workers, scheduler, wait, resume, out and max_memory, those that there are
    large : LargePair, LargeTable or None
        None: nothing is in blocks.
    """
    given = vars(options)
    workers, scheduler = given.get("workers"), given.get("scheduler")
    if workers is not None and scheduler is not None:
        raise WrongUse("--workers starts processes, --scheduler has its own: give one")
    if large is None:
        if given.get("resume"):
            raise WrongUse("--resume is for folders and patterns of files")
        yield
        return
    with ExitStack() as stack:
        if given.get("max_memory") is not None:
            stack.enter_context(memory_budget(given["max_memory"] // ARRAYS_AT_ONCE))
        if workers is not None or scheduler is not None:
            stack.enter_context(distribute(workers or scheduler, wait=options.wait))
        if "resume" in given:
            stack.enter_context(
                kept_passes(
                    passes_folder(options.out),
                    _inputs(options, large),
                    resume=options.resume,
                )
            )
        yield


def passes_folder(out: Path) -> Path:
    """Return where the passes of a command are kept until it is done."""
    return out.with_name(f".{out.name}.passes")


def _digest_of_file(name: Any) -> str | None:
    """Return the digest of an estimator that is given as a file, else None."""
    path = Path(str(name))
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _inputs(options: Namespace, large: LargePair | LargeTable) -> dict[str, Any]:
    """Return all that passes depend on."""
    tables = [large.source, large.target] if isinstance(large, LargePair) else [large]
    return {
        "version": __version__,
        "files": [table.fingerprints for table in tables],
        # A footer does not tell every change of the rows.
        "written": [
            [path.stat().st_mtime_ns for path in table.reader.files] for table in tables
        ],
        "estimator": _digest_of_file(getattr(options, "estimator", None)),
        "options": reproduced_by(options)["options"],
        "command": options.command,
    }
