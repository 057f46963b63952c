"""Options come from the defaults, a file and the command line, in that order."""

import pytest

from counterpoise.cli.main import _parser
from counterpoise.cli.options import OPTIONS, read_config, read_value
from counterpoise.cli.terminal import UsageError


def parsed(*arguments):
    given = _parser().parse_args([str(argument) for argument in arguments])
    return given.complete(given)


def needed(path):
    return ("run", "--source", "a", "--target", "b", "--label", "y", "--out", path)


def test_the_command_line_wins_over_the_file_and_the_file_over_the_default(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('seed = 3\nestimator = "linear"\ndrop = ["a", "b"]\n')
    options = parsed(*needed(tmp_path), "--config", file, "--seed", "5")
    assert (options.seed, options.estimator) == (5, "linear")
    assert options.drop == ("a", "b")
    assert options.weight_estimator == "auto"


def test_a_file_can_give_what_is_needed(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'source = "a"\ntarget = "b"\nlabel = "y"\nout = "o"\noverwrite = true\n'
    )
    options = parsed("run", "--config", file)
    assert (options.label, options.out.name, options.overwrite) == ("y", "o", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sede = 3", "did you mean 'seed'"),
        ('seed = "three"', "seed must be a whole number"),
        ("seed = true", "seed must be a whole number"),
        ("overwrite = 1", "overwrite must be true or false"),
        ("drop = [1, 2]", "drop must be a string or a list of strings"),
        ("seed = \noverwrite = true", "line 1"),
        ("[run]\nseed = 1", "the key 'run', which is no option"),
    ],
)
def test_a_file_that_is_wrong_is_wrong_use_and_named(tmp_path, text, message):
    file = tmp_path / "run.toml"
    file.write_text(text)
    kinds = {name: option.kind for name, option in OPTIONS.items()}
    with pytest.raises(UsageError, match=message) as caught:
        read_config(file, kinds)
    assert str(file) in str(caught.value)


def test_keys_may_be_written_with_underscores(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('max_memory = "2G"')
    assert parsed(*needed(tmp_path), "--config", file).max_memory == 2_000_000_000


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seed", "1.5", "must be a whole number"),
        ("seed", "-1", "must be from 0"),
        ("level", "1.5", "must lie between 0 and 1"),
        ("max-memory", "lots", "must be a size such as"),
        ("max-memory", "0", "must be a size such as"),
        ("max-memory", "1.2.3G", "must be a size such as"),
        ("estimator", "magic", "must be one of boosting, linear"),
    ],
)
def test_a_value_that_makes_no_sense_is_wrong_use(name, value, message):
    with pytest.raises(UsageError, match=f"--{name} {message}"):
        read_value(name, value)


def test_what_is_needed_and_lacking_is_named(run):
    code, _, err = run("run", "--source", "a.csv")
    assert code == 1
    assert "run needs --label and --target and --out" in err


@pytest.mark.parametrize("arguments", [["nonsense"], ["run", "--nonsense"], []])
def test_wrong_use_of_the_command_itself_has_code_one(run, arguments):
    code, _, err = run(*arguments)
    assert code == 1
    assert err.count("\n") == 1
