"""The README's snippets run as they stand."""

import re
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def test_every_python_block_of_the_readme_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    assert len(blocks) >= 2
    # Later snippets go on where earlier ones ended.
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert "proved within" in capsys.readouterr().out


def test_the_readme_names_its_two_commands():
    text = README.read_text()
    assert "python3 dev.py demo" in text
    assert "python3 dev.py test" in text


def test_the_readme_names_everything_public_and_every_command():
    import counterpoise
    from counterpoise.cli import main as command

    text = README.read_text()
    names = [
        name
        for name in counterpoise.__all__
        if name not in counterpoise._SUBMODULES and not name.startswith("__")
    ]
    parser = command._parser()
    commands = list(parser._subparsers._group_actions[0].choices)
    assert len(names) > 40
    assert len(commands) > 8
    missing = [
        name for name in (*names, *commands) if not re.search(rf"\b{name}\b", text)
    ]
    assert missing == []
