"""The doctor says what is installed and proves something."""

import json
from importlib.metadata import version

import counterpoise.cli.tools as doctor


def test_the_doctor_proves_its_test_and_tells_true_versions(run):
    code, out, _ = run("doctor", "--json", "-")
    record = json.loads(out)
    assert code == 0
    assert record["core"]["numpy"] == version("numpy")
    assert all(part["holds"] for part in record["self_test"])
    assert all("proved within" in part["certificate"] for part in record["self_test"])


def test_a_package_that_is_missing_is_named_with_its_extra(run, monkeypatch):
    monkeypatch.setitem(doctor.EXTRAS, "report", ("no-such-package",))
    monkeypatch.setattr(doctor, "self_test", list)
    _, out, _ = run("doctor")
    assert "missing no-such-package: pip install 'counterpoise[report]'" in out


def test_a_certificate_that_does_not_hold_has_code_five(run, monkeypatch):
    failed = {
        "weight_estimator": "KMM",
        "holds": False,
        "certificate": "",
        "seconds": 0.0,
    }
    monkeypatch.setattr(doctor, "self_test", lambda: [failed])
    code, out, _ = run("doctor")
    assert code == 5
    assert "NOT PROVED" in out
