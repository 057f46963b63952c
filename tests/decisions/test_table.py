"""Every decision rule has a test, and every test of a decision a rule."""

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
RULES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["rule"]
    for path in sorted((HERE / "rules").glob("*.toml"))
}


SRC = HERE.parents[1] / "src" / "counterpoise"
MUTANTS, EQUIVALENT = (
    tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))[key]
    for name, key in (("mutants", "module"), ("equivalent", "mutant"))
)


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


def test_every_function_that_is_mutated_exists_and_has_tests():
    for entry in MUTANTS:
        tree = ast.parse((SRC / entry["path"]).read_text(encoding="utf-8"))
        names = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                methods = (one for one in node.body if isinstance(one, ast.FunctionDef))
                names |= {f"{node.name}.{one.name}" for one in methods}
        assert set(entry["functions"]) <= names, entry["path"]
        assert set(entry["tests"]) <= set(RULES), entry["path"]


def test_every_equivalent_mutant_is_of_a_decision_module_and_has_a_reason():
    paths = {entry["path"] for entry in MUTANTS}
    assert {one["module"] for one in EQUIVALENT} <= paths
    assert all(one["reason"] for one in EQUIVALENT)
