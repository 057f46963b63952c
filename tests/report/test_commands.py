"""`counterpoise report` and `counterpoise compare`."""

import json

import pytest
from report.records_at_hand import RECORDS, full, full_page

from counterpoise.cli.options import Parser
from counterpoise.cli.terminal import DataError, UsageError
from counterpoise.cli.tools import add_compare, add_report
from counterpoise.report import render

RECORD = RECORDS / "adapted.json"


def command(*arguments):
    parser = Parser()
    commands = parser.add_subparsers(required=True)
    for add in (add_report, add_compare):
        add(commands)
    given = parser.parse_args([str(argument) for argument in arguments])
    return given.run(given.complete(given))


def test_a_record_becomes_the_same_page_again(tmp_path):
    record = tmp_path / "report.json"
    record.write_bytes(RECORD.read_bytes())
    assert command("report", record) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == render(full(), record_file="report.json").html
    assert 'href="./report.json"' in page
    with pytest.raises(UsageError, match="already there"):
        command("report", record)
    assert command("report", record, "--overwrite") == 0


def test_a_page_in_another_folder_does_not_link_to_the_record(tmp_path):
    record, page = tmp_path / "report.json", tmp_path / "pages" / "page.html"
    record.write_bytes(RECORD.read_bytes())
    page.parent.mkdir()
    assert command("report", record, "--out", page) == 0
    assert page.read_text(encoding="utf-8") == full_page().html


def test_text_goes_to_stdout_and_no_page_is_written(tmp_path, capsys):
    record = tmp_path / "report.json"
    record.write_bytes(RECORD.read_bytes())
    assert command("report", record, "--text") == 0
    assert capsys.readouterr().out == full_page().text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_two_records_are_compared_in_text_or_on_a_page(tmp_path, capsys):
    assert command("compare", RECORD, RECORD) == 0
    assert "adapted.json: Use the adapted model" in capsys.readouterr().out.replace(
        "\n  ", " "
    )
    page = tmp_path / "both.html"
    assert command("compare", RECORD, RECORD, "--out", page) == 0
    assert capsys.readouterr().out == ""
    assert "<h1" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 99}'])
def test_what_cannot_be_read_is_named_with_its_file(tmp_path, text):
    path = tmp_path / "odd.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"odd\.json: "):
        command("report", path)


def test_an_old_record_of_a_run_renders(tmp_path):
    found = full()
    for key in ("balance", "overlap", "solver"):
        del found[key]
    for key in ("histogram", "lorenz", "curve", "clipping"):
        del found["weights"][key]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(found))
    assert command("report", path) == 0
