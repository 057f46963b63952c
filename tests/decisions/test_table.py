"""The table of rules is complete: stated, tested, and each with its fault."""

import ast
import builtins
import re
from pathlib import Path

import pytest
from decisions.mutants import HERE, ROOT, faults, place_of, rules, source_texts

TABLE = list(rules())


def plain(text: str) -> str:
    """Return words alone, each between spaces: line ends and signs do not matter."""
    words = " ".join(re.findall(r"[^\W_]+", text))
    return f" {words} "


@pytest.fixture(scope="module")
def written() -> str:
    files = [*sorted((ROOT / "src").rglob("*.py")), ROOT / "README.md"]
    files += sorted((ROOT / "docs").glob("*.md"))
    return plain("\n".join(path.read_text(encoding="utf-8") for path in files))


def test_no_two_rules_have_one_name():
    names = [rule["id"] for _, rule in TABLE]
    assert len(set(names)) == len(names)


def test_every_rule_is_stated_where_a_user_or_a_reader_can_find_it(written):
    unstated = [rule["id"] for _, rule in TABLE if plain(rule["stated"]) not in written]
    assert unstated == []


def test_every_rule_has_a_test_and_every_test_a_rule():
    for path in sorted(HERE.glob("test_*.py")):
        room = path.stem.removeprefix("test_")
        if room == "table":
            continue
        named = {name for own, rule in TABLE if own == room for name in rule["tests"]}
        named |= {name for one in faults() if one.room == room for name in one.tests}
        assert named == functions_of(path), room


def test_every_fault_can_be_planted():
    texts = source_texts(ROOT / "src")
    for fault in faults():
        place_of(fault, texts)
        assert fault.find != fault.put, fault.id


def test_a_planted_fault_is_code_of_names_that_its_file_knows():
    # Else tests would notice a misspelt name, and not the fault.
    texts = source_texts(ROOT / "src")
    for fault in faults():
        text = texts[place_of(fault, texts)]
        # A piece that ends within a name would make another name of it.
        before, after = text.split(fault.find)
        for ends in (before[-1] + fault.find[0], fault.find[-1] + after[0]):
            assert not re.fullmatch(r"\w\w", ends), fault.id
        if words_in(fault.put) - words_in(fault.find) - words_in(text):
            assert unknown_names(text.replace(fault.find, fault.put)) == set(), fault.id


def test_at_least_150_faults_are_in_all_rooms():
    assert len(faults()) >= 150
    rooms = {room for room, _ in TABLE}
    assert rooms == {path.stem.removeprefix("test_") for path in files_of_rooms()}


def words_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def unknown_names(text: str) -> set[str]:
    """Return names that are read in a module and nowhere made in it."""
    made, read = {*dir(builtins), "__file__"}, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            made.add(node.name or "")
    return read - made


def files_of_rooms() -> list[Path]:
    return [path for path in HERE.glob("test_*.py") if path.stem != "test_table"]


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
