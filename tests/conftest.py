"""What the inner loop runs: `dev.py test --quick`."""

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# Laws and decisions that take seconds: no browser, no examples, no other solvers.
QUICK = (
    "architecture/test_names.py",
    "cli/test_fail_if.py",
    "cli/test_findings.py",
    "cli/test_writing.py",
    "convex/test_parts.py",
    "convex/test_path.py",
    "convex/test_problems.py",
    "convex/test_solve.py",
    "datasets",
    "decisions",
    "diagnosis/test_distances.py",
    "evaluation/test_intervals.py",
    "evaluation/test_metrics.py",
    "evaluation/test_splits.py",
    "learners/test_bins.py",
    "learners/test_dates.py",
    "numerics",
    "report/test_verdict.py",
    "samples/test_columns.py",
    "samples/test_duplicates.py",
    "samples/test_effective_size.py",
    "samples/test_encoding.py",
    "samples/test_folds.py",
    "samples/test_median_width.py",
    "samples/test_ordering.py",
    "samples/test_parts.py",
    "samples/test_scaling.py",
    "samples/test_two_samples.py",
    "testing",
    "validation",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of these files and folders."""
    quick = [HERE / path for path in QUICK]
    for item in items:
        if any(item.path == one or one in item.path.parents for one in quick):
            item.add_marker("quick")
