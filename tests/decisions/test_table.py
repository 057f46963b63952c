"""Every decision rule has a test, and every test of a decision a rule."""

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    for path in sorted((HERE / "rules").glob("*.toml"))
}


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_no_two_rules_have_one_name():
    names = [rule["id"] for rules in RULES.values() for rule in rules]
    assert len(set(names)) == len(names)


def test_every_rule_has_a_test_and_every_test_a_rule():
    files = {path.stem.removeprefix("test_"): path for path in HERE.glob("test_*.py")}
    del files["table"]
    assert set(RULES) == set(files)
    for topic, rules in RULES.items():
        named = {name for rule in rules for name in rule["tests"]}
        assert named == functions_of(files[topic]), topic
