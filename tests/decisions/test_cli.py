"""Which exit code wins, what a column holds, what is refused and what is told."""

import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from counterpoise.cli import main as main_module
from counterpoise.cli.files import read_file
from counterpoise.cli.fit import check_metric_of
from counterpoise.cli.inputs import read_labels, read_pair, task_of
from counterpoise.cli.options import (
    Condition,
    holding,
    read_conditions,
    read_config,
    read_value,
)
from counterpoise.cli.outputs import check_file, check_folder, check_table, write_folder
from counterpoise.cli.record import command_line, exit_code
from counterpoise.cli.terminal import (
    Cell,
    DataError,
    Notice,
    UsageError,
    listed,
    of_training_rows,
    one_line,
)
from counterpoise.data.parameters import check_integer
from counterpoise.errors import NoOverlapError
from counterpoise.report import Report

# -- how a command ends ----------------------------------------------------------------

HELD = [Condition("ess", "<", 0.2)]


def record(ess=0.1, holds=True):
    weights = {"effective_share": ess, "certificate": {"holds": holds}}
    return Report.from_dict({"weights": weights})


@pytest.mark.parametrize(
    ("sections", "conditions", "refused", "code"),
    [
        (record(), [], False, 0),
        (record(), HELD, False, 3),
        (record(ess=0.2), HELD, False, 0),
        (record(holds=False), [], False, 5),
        (record(holds=False), HELD, False, 5),
        (record(), HELD, True, 4),
        (record(holds=False), HELD, True, 4),
        (Report.from_dict({"shift": {}}), [], False, 0),
    ],
)
def test_no_overlap_counts_before_a_proof_and_that_before_a_condition(
    sections, conditions, refused, code
):
    assert exit_code(sections, conditions, refused=refused)[0] == code


def test_every_reason_is_told_the_proof_first():
    _, reasons = exit_code(record(holds=False), HELD)
    assert reasons[0] == "the certificate of the weights does not hold"
    assert reasons[1].startswith("--fail-if ess<0.2 holds: it is 0.1")


def raising(error):
    def run(options):
        raise error

    return run


def refusing(options):
    check_integer("n", -1, low=0)


def faulty(options):
    int("x")


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (lambda options: 3, 3),
        (raising(UsageError("so")), 1),
        (raising(DataError("so")), 2),
        (raising(KeyboardInterrupt()), 130),
        (raising(ImportError("so")), 1),
        (raising(OSError("so")), 1),
        (raising(MemoryError("so")), 1),
        (raising(NoOverlapError(0.9, "uncovered_fraction")), 4),
        (raising(RuntimeError("so")), 70),
        (refusing, 2),
        (faulty, 70),
    ],
)
def test_every_error_has_its_exit_code(run, code, monkeypatch, capsys):
    given = Namespace(run=run, complete=lambda given: given, traceback=False)
    parser = Namespace(parse_known_args=lambda arguments: (given, []))
    monkeypatch.setattr(main_module, "_parser", lambda: parser)
    assert main_module.main([]) == code


def test_nobody_who_reads_is_wrong_use_and_is_told_nothing(monkeypatch, capsys):
    given = Namespace(
        run=raising(BrokenPipeError()), complete=lambda given: given, traceback=False
    )
    parser = Namespace(parse_known_args=lambda arguments: (given, []))
    monkeypatch.setattr(main_module, "_parser", lambda: parser)
    before = sys.stdout
    try:
        assert main_module.main([]) == 1
    finally:
        sys.stdout = before
    assert capsys.readouterr().err == ""


def test_a_condition_on_what_is_not_defined_counts_as_holding():
    one = Condition("ess", "<", 0.2)
    assert one.holds({"ess": None})
    assert not one.holds({"ess": 0.2})
    assert "not defined here" in holding([one], {"ess": None})[0]


def test_conditions_are_a_name_a_comparison_and_a_number():
    both = read_conditions(["ess<=.2, auc>0.9"], ["ess", "auc"])
    assert [str(one) for one in both] == ["ess<=0.2", "auc>0.9"]
    with pytest.raises(UsageError, match="takes a name"):
        read_conditions(["ess=0.2"], ["ess"])
    with pytest.raises(UsageError, match="knows no"):
        read_conditions(["size<1"], ["ess"])


# -- two files -------------------------------------------------------------------------


def pair_of(tmp_path, source, target, **options):
    paths = {}
    for name, columns in (("source", source), ("target", target)):
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        paths[name] = tmp_path / f"{name}.csv"
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_pair(Namespace(**paths, **options))


def told(pair):
    return " ".join(notice.told for notice in pair.notices)


def plain(n, **more):
    return {"x": list(range(n)), **more}


def test_a_sample_needs_ten_rows(tmp_path):
    pair_of(tmp_path, plain(10), plain(10))
    with pytest.raises(DataError, match="has 9 rows: a target needs at least 10"):
        pair_of(tmp_path, plain(10), plain(9))
    y = [1.5, 2.5] * 5
    with pytest.raises(DataError, match="9 rows with a 'y' only"):
        pair_of(tmp_path, plain(10, y=["", *y[1:]]), plain(10), label="y")


def test_strings_that_differ_in_nearly_every_row_are_left_out(tmp_path):
    def kinds(different, n=20, **options):
        texts = [f"t{k % different}" for k in range(n)]
        table = plain(n, name=texts)
        return pair_of(tmp_path, table, table, **options).kinds

    # Of 20 rows 18 are nine in ten.
    assert "name" in kinds(18)
    assert "name" not in kinds(19)
    assert "name" in kinds(19, n=19)
    assert kinds(20, categorical=("name",))["name"] == "categories"
    table = plain(20, name=[f"t{k}" for k in range(20)])
    twins = plain(20, name=["t1", "t2"] * 10)
    assert "name" in pair_of(tmp_path, table, twins).kinds


def test_strings_of_which_half_are_numbers_are_told(tmp_path):
    def said(n_numbers):
        texts = [str(k % 3) for k in range(n_numbers)] + ["low"] * (20 - n_numbers)
        table = plain(20, size=texts)
        return told(pair_of(tmp_path, table, table))

    assert "is read as categories, because 'low' in line 12 is no number" in said(10)
    assert "is read as categories" not in said(9)


def test_a_column_that_holds_something_else_in_the_target_is_refused(tmp_path):
    words = ["a", "b"] * 5
    with pytest.raises(DataError, match=r"holds numbers in .* and categories in"):
        pair_of(tmp_path, plain(10), {"x": words})
    pair_of(tmp_path, plain(10), {"x": words}, categorical=("x",))
    with pytest.raises(DataError, match="has no value in any row"):
        pair_of(tmp_path, plain(10, z=[""] * 10), plain(10, z=[""] * 10))


def test_columns_that_the_target_lacks_are_refused_and_those_it_has_more_are_told(
    tmp_path,
):
    with pytest.raises(DataError, match=r"lacks the column 'z'.*if it is the label"):
        pair_of(tmp_path, plain(10, z=range(10)), plain(10))
    found = pair_of(tmp_path, plain(10), plain(10, more=range(10)))
    assert "which are not used: 'more'" in told(found)
    assert list(found.kinds) == ["x"]


def test_a_label_in_the_target_is_used_only_where_that_is_asked_for(tmp_path):
    table = plain(10, y=["a", "b"] * 5)
    unused = pair_of(tmp_path, table, table, label="y", target_labels=False)
    assert unused.y_target is None
    assert "which is not used; --target-labels uses it" in told(unused)
    used = pair_of(tmp_path, table, table, label="y", target_labels=True)
    assert used.y_target.tolist() == ["a", "b"] * 5
    other = plain(10, y=["a", "c"] * 5)
    with pytest.raises(DataError, match="the source has no class c"):
        pair_of(tmp_path, table, other, label="y", target_labels=True)


def test_rows_without_a_label_are_left_out_and_counted(tmp_path):
    y = ["", *(["a", "b"] * 6)][:12]
    found = pair_of(tmp_path, plain(12, y=y), plain(12), label="y")
    assert found.rows.tolist() == list(range(1, 12))
    assert "1 rows of" in told(found)
    with pytest.raises(DataError, match="has one value only, a"):
        pair_of(tmp_path, plain(10, y=["a"] * 10), plain(10), label="y")


def test_rows_come_in_the_order_of_time(tmp_path):
    days = [f"2024-01-{30 - k:02d}" for k in range(10)]
    found = pair_of(tmp_path, plain(10, when=days), plain(10), time="when")
    assert found.rows.tolist() == list(range(9, -1, -1))
    with pytest.raises(DataError, match="it must hold dates"):
        pair_of(tmp_path, plain(10, when=["a"] * 10), plain(10), time="when")
    with pytest.raises(DataError, match="line 2: no 'when'"):
        pair_of(tmp_path, plain(10, when=["", *days[1:]]), plain(10), time="when")


def test_labels_are_told_where_they_could_be_taken_otherwise(tmp_path):
    assert task_of(np.arange(20).repeat(10)) == "classification"
    assert task_of(np.arange(21).repeat(10)) == "regression"
    three = pair_of(tmp_path, plain(30, y=[1, 2, 3] * 10), plain(30), label="y")
    assert three.task == "classification"
    assert "3 different whole numbers, taken as classes" in told(three)
    two = pair_of(tmp_path, plain(30, y=[1, 2] * 15), plain(30), label="y")
    assert "different whole numbers" not in told(two)
    table = plain(30, y=[0.5, 1.0] * 15)
    with pytest.raises(DataError, match="numbers with fractions: no classes"):
        pair_of(tmp_path, table, plain(30), label="y", task="classification")
    words = plain(30, y=["a", "b"] * 15)
    with pytest.raises(DataError, match="no numbers to predict"):
        pair_of(tmp_path, words, plain(30), label="y", task="regression")


def test_a_column_is_not_both_categorical_and_numeric(tmp_path):
    with pytest.raises(UsageError, match="in --categorical and in --numeric"):
        pair_of(tmp_path, plain(10), plain(10), categorical=("x",), numeric=("x",))


# -- words -----------------------------------------------------------------------------


def test_a_score_must_be_of_what_the_label_holds():
    check_metric_of("accuracy", "classification", "y")
    check_metric_of("r2", "regression", "y")
    for metric, task in (("r2", "classification"), ("roc_auc", "regression")):
        with pytest.raises(UsageError, match="is a score of"):
            check_metric_of(metric, task, "y")


def test_a_notice_keeps_values_and_folders_out_of_the_record():
    notice = Notice(Path("in/live.csv"), ": ", Cell("x"), " is odd")
    assert notice.recorded == "live.csv: a value is odd"
    assert notice.told == f"{Path('in/live.csv')}: 'x' is odd"


def test_five_names_are_listed_and_the_others_counted():
    assert listed("abcde") == "'a', 'b', 'c', 'd', 'e'"
    assert listed("abcdef").endswith("'e' and 1 more")
    assert one_line("a\n\x07 b") == "a ? b"


def test_a_config_knows_the_options_and_their_types(tmp_path):
    path = tmp_path / "run.toml"
    kinds = {"seed": "whole", "max-memory": "size", "quiet": "flag", "config": "path"}

    def read(text):
        path.write_text(text, encoding="utf-8")
        return read_config(path, kinds)

    assert read("seed = 3\nmax_memory = '2G'") == {"seed": 3, "max-memory": "2G"}
    for wrong in ("seed = true", "seed = 1.5", "quiet = 1", "sed = 3", "config = 'x'"):
        with pytest.raises(UsageError):
            read(wrong)


def test_the_command_line_is_repeated_without_folders_and_defaults():
    options = Namespace(command="weights", source=Path("a/b.csv"), seed=0, id=None)
    assert command_line(options) == [
        "counterpoise", "weights", "--source", "b.csv", "--seed", "0",
    ]  # fmt: skip
    again = Namespace(command="weights", out=Path("x/w.csv"), id="-1", seed=0)
    words = command_line(again)
    assert "again.csv" in words
    assert "--id=-1" in words


# -- files -----------------------------------------------------------------------------


def test_files_that_are_there_are_overwritten_by_force_alone(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(UsageError, match="already has 'a'"):
        check_folder(tmp_path, ["a", "b"], overwrite=False)
    check_folder(tmp_path, ["a"], overwrite=True)
    check_folder(tmp_path, ["b"], overwrite=False)
    with pytest.raises(UsageError, match="is already there"):
        check_file(tmp_path / "a", overwrite=False)
    with pytest.raises(UsageError, match=r"must end in .csv or .parquet"):
        check_table(tmp_path / "a.txt", overwrite=True)


def test_a_folder_never_shows_two_runs_and_keeps_the_old_if_a_file_fails(tmp_path):
    folder = tmp_path / "out"

    def write(text):
        return lambda path: path.write_text(text)

    def fail(path):
        raise OSError("full")

    write_folder(folder, {"a": write("1"), "b": write("1")}, overwrite=False)
    with pytest.raises(OSError, match="full"):
        write_folder(folder, {"a": write("2"), "b": fail}, overwrite=True)
    assert (folder / "a").read_text() == "1"
    write_folder(folder, {"a": write("3")}, ["a", "b"], overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["a"]


# -- what cells are --------------------------------------------------------------------


def read_text(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return read_file(path)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2"], [1.5, 2.0]),
        (["1.234,5", "2"], [1234.5, 2.0]),
        (["1,5", "x"], None),
        (["1,5,5", "2,5"], None),
        (["12.34,5", "2,5"], None),
        ([",", "2,5"], None),
    ],
)
def test_a_decimal_comma_is_one_where_every_cell_of_the_column_allows_it(
    tmp_path, cells, numbers
):
    table = read_text(tmp_path, f"a;b\n{cells[0]};1\n{cells[1]};2\n")
    assert table.columns["a"].to_pylist() == (numbers or cells)


def test_decimal_commas_that_may_be_thousands_are_refused_unless_a_cell_tells(tmp_path):
    for telling in ("0,125", "1,25", "1234,567"):
        table = read_text(tmp_path, f"a;b\n1,234;1\n{telling};2\n")
        assert table.columns["a"].to_pylist()[0] == 1.234
    with pytest.raises(DataError, match="may be a decimal comma or thousands"):
        read_text(tmp_path, "a;b\n1,234;1\n2,345;2\n")


@pytest.mark.parametrize(("like", "code"), [(31, 2), (30, 0)])
def test_more_than_half_like_numbers_is_no_column_of_names(tmp_path, like, code):
    cells = [f"1'{k:03d}" if k < like else f"n{k}" for k in range(60)]
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells))
    )
    words = ["diagnose", "--source", "t.csv", "--target", "t.csv", "--quiet"]
    named = [str(tmp_path / word) if word == "t.csv" else word for word in words]
    assert main_module.main(named) == code


def test_classes_are_merged_by_no_number_of_digits(tmp_path):
    last = 2**53
    for cells, classes in (
        ([1, last], {1, last}),
        ([last, last + 1], {last, last + 1}),
    ):
        table = read_text(tmp_path, "y\n" + "\n".join(map(str, cells * 10)))
        found = read_labels(table, "y", "classification")
        assert set(found.values.tolist()) == classes
    table = read_text(tmp_path, "y\n" + "\n".join(["1.0", f"{last}"] * 10))
    assert set(read_labels(table, "y", "classification").values) == {1, last}
    table = read_text(tmp_path, "y\n" + "\n".join(["1.0", f"{last + 2}"] * 10))
    with pytest.raises(DataError, match="would be merged"):
        read_labels(table, "y", "classification")


def test_time_holds_out_blocks_and_cv_is_what_it_says():
    from counterpoise.cli.fit import folds_of_options

    for time, cv, found in (
        (None, None, None),
        (None, 3, 3),
        (None, "blocks", "blocks"),
        ("day", None, "blocks"),
        ("day", "blocks", "blocks"),
    ):
        assert folds_of_options(Namespace(time=time, cv=cv)) == found
    with pytest.raises(UsageError, match="give one of them"):
        folds_of_options(Namespace(time="day", cv=3))


def test_folds_are_two_or_more_and_days_are_days():
    assert read_value("cv", "2") == 2
    assert read_value("cv", "blocks") == "blocks"
    assert read_value("date", "2026-01-31") == "2026-01-31"
    for name, value in (("cv", "1"), ("cv", "2.5"), ("date", "31.1.2026")):
        with pytest.raises(UsageError):
            read_value(name, value)


def test_many_rows_have_fewer_folds():
    from counterpoise.cli.fit import folds_of_the_estimate

    found = [folds_of_the_estimate(n) for n in (10, 20_000, 20_001, 50_000, 50_001)]
    assert found == [5, 5, 3, 3, 2]


def test_a_model_judged_by_its_own_rows_is_warned_of(tmp_path):
    model = SimpleNamespace(weights_=np.ones(8))
    table = SimpleNamespace(path=Path("in/train.csv"), sha256="abc")

    def said(n_rows):
        found = of_training_rows(model, tmp_path / "model.skops", table, n_rows)
        return [notice.recorded for notice in found]

    assert said(7) == []
    (maybe,) = said(8)
    assert maybe.startswith("the model was fitted to as many rows as train.csv has")
    record = tmp_path / "report.json"
    record.write_text('{"data": {"source": {"sha256": "abc"}}}', encoding="utf-8")
    (surely,) = said(7)
    assert surely.startswith("train.csv is the table that the model was fitted to")
    for other in ('{"data": {"source": {"sha256": "abd"}}}', '{"data": []}', "{"):
        record.write_text(other, encoding="utf-8")
        assert said(7) == []
