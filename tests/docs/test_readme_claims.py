"""What the README says beside other libraries is what the committed answers say."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = json.loads((ROOT / "docs" / "results" / "coming_from.json").read_text())


def cell(question, row, column, table=0):
    """Return a number of an answer's table."""
    told = ANSWERS[question]["tables"][table]
    (cells,) = [cells for cells in told["rows"] if cells[0] == row]
    return cells[told["header"].index(column)]


def interval(who):
    value, low, high = (
        f"{cell('from_nannyml', who, column):,.0f}"
        for column in ("value", "low", "high")
    )
    return f"{value} ({low} to {high})"


def claims():
    """Return the README's table."""
    error = "mean squared error of weights"
    ours = cell("from_adapt", "counterpoise", error)
    adapt, skada = (
        cell("from_adapt", "adapt", error),
        cell("from_skada", "skada", error),
    )
    target = "squared error on the target"
    search = [
        cell("from_scikit_learn", who, target)
        for who in ("with counterpoise", "scikit-learn")
    ]
    truth = cell("from_nannyml", "truth", "value")
    pages = [
        cell("from_evidently", who, "size of the page, MB", table=1)
        for who in ("counterpoise", "evidently")
    ]
    columns = ANSWERS["from_evidently"]["tables"][0]
    moved = columns["header"].index("moved")
    n_moved = sum(row[moved] for row in columns["rows"])
    theirs = cell("from_evidently", "evidently", "says of the whole", table=1)
    whole = cell("from_evidently", "counterpoise", "says of the whole", table=1)
    lines = [
        "| on the same rows | counterpoise | others |",
        "|---|---|---|",
        f"| KLIEP's weights: squared distance from the true ratio | {ours:.3f} | "
        f"adapt {adapt:.3f}, skada {skada:.3f} |",
        "| a grid search for the target: squared error there | "
        f"{search[0]:.2f} | scikit-learn {search[1]:.2f} |",
        f"| squared error to expect of a model there; in truth {truth:,.0f} | "
        f"{interval('counterpoise')} | NannyML {interval('NannyML')} |",
        f"| what has drifted | {whole}; {n_moved} of {len(columns['rows'])} columns, "
        f"corrected for their number | evidently: {theirs} |",
        f"| size of the page | {pages[0]:.2f} MB, no scripts | "
        f"evidently {pages[1]:.1f} MB |",
    ]
    return "\n".join(lines)


def test_the_table_against_others_says_what_was_measured():
    assert claims() in (ROOT / "README.md").read_text(), f"paste:\n\n{claims()}"


def test_every_exit_code_is_named():
    from counterpoise.cli.terminal import MEANINGS

    told = (ROOT / "README.md").read_text().partition("exit code 3;")[2]
    told = told.partition(")")[0]
    assert all(f"{code} " in f"{told} 3 " for code in MEANINGS)
