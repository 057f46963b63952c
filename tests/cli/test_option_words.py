"""Notes of the command line name options that exist, and no parameters of Python."""

import re

import numpy as np
import pandas as pd
import pytest

from counterpoise.adaptation.adapted import warn_if_far, warn_if_in_time_order
from counterpoise.cli.main import main
from counterpoise.cli.terminal import followed
from counterpoise.messages.texts import TEXTS


@pytest.mark.parametrize(
    ("warn", "told"),
    [
        (
            lambda: warn_if_in_time_order(np.cumsum(np.eye(200)[:, :3] + 0.1, axis=0)),
            None,
        ),
        (
            lambda: warn_if_in_time_order(
                np.random.default_rng(0).normal(size=(200, 2)).cumsum(axis=0)
            ),
            "--time COLUMN holds out runs",
        ),
        (
            lambda: warn_if_far(np.arange(9.0)[:, None], np.full((3, 1), 1e6)),
            "is one of the files in other units",
        ),
    ],
)
def test_notes_speak_of_options(warn, told):
    with followed((), quiet=True) as steps:
        warn()
    assert [told in note for note in steps.notices] == ([] if told is None else [True])
    assert not any(re.search(r"cv=|X_target|Adapted", note) for note in steps.notices)


def test_every_option_that_is_named_exists(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    known = capsys.readouterr().out
    terminal = [
        text if isinstance(text, str) else text.get("terminal", "")
        for text in TEXTS.values()
    ]
    named = set(re.findall(r"--[a-z-]+", " ".join(terminal)))
    assert {"--time", "--allow-no-overlap"} <= named
    assert all(option in known for option in named)


def test_a_note_names_the_column_of_the_users_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    town, z = rng.choice(["a", "b"], 200), rng.normal(size=200)
    source = pd.DataFrame({"town": town, "level": 1.0, "z": z, "y": z})
    source.loc[0, "level"] = 1.0000001
    target = source.drop(columns="y").assign(level=rng.normal(1.0, 1.0, 200))
    for name, frame in (("source", source), ("target", target)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    main(
        [
            "weights", "--source", str(tmp_path / "source.csv"), "--drop", "y",
            "--target", str(tmp_path / "target.csv"), "--allow-no-overlap",
            "--out", str(tmp_path / "weights.csv"),
        ]
    )  # fmt: skip
    said = capsys.readouterr().err
    assert "hardly varies in the training data but does in the new data" in said
    assert "'level'" in said
    assert not re.search(r"column \d+(?!\d| %)", said)
