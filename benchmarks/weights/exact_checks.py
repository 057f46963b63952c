"""Do the exact checks hold? One run of all of them, with where each is tested.

Every check is one or more tests of the suite, those marked slow included.
"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from reporting import bar, table

ROOT = Path(__file__).parents[2]
STEPS = "reference/test_every_step.py::test_"
SQUARES = "weights/test_least_squares.py::test_"
MEANS = "weights/test_mean_matching.py::test_"
ALL = "weights/test_all_weighters.py::test_"
MIXTURE = "optim/test_problems_log_linear.py::test_"
CHECKS = {
    "1 excess <= log max g <= max g - 1, 500 problems": (
        STEPS + "the_tight_bound_lies_between_the_excess_and_the_frank_wolfe_gap",
    ),
    "2 g'mu = 1 to 1e-12": (
        STEPS + "the_tight_bound_lies_between_the_excess_and_the_frank_wolfe_gap",
        "optim/test_problems.py::test_the_slopes_of_a_mixture_average_to_one",
    ),
    "3 mean weight 1 to 1e-12": ("reference/test_mean_weight.py",),
    "4 gap bounds the excess at every step, every solver, 500 problems": (
        STEPS + "the_gap_bounds_the_excess_at_every_step_of_every_solver",
    ),
    "4 simplex, descent, drops and swaps at every step, 500 problems": (
        STEPS + "every_check_passes_at_every_step_of_our_variants",
        "optim/test_frank_wolfe.py",
    ),
    "4 the variants as printed fail": (
        STEPS + "the_variants_as_printed_fail_where_ours_pass",
        STEPS + "the_away_steps_as_printed_never_get_a_second_atom",
        STEPS + "the_pairwise_steps_as_printed_lose_mass",
    ),
    "5 leave-one-out equals refitting to 1e-10": (
        SQUARES + "a_ratio_left_out_in_closed_form_is_that_of_a_refit",
    ),
    "6 LSIF's path equals NNLS to 1e-8, breakpoints certified": (
        SQUARES + "the_path_is_that_of_another_solver_at_any_penalty",
        SQUARES + "every_breakpoint_and_the_middle_of_every_piece_is_certified",
    ),
    "7 KMM: bounds 1e-9, Clarabel's value 1e-6, capped rank": (
        MEANS + "the_value_is_that_of_clarabel_and_bounds_and_sum_hold",
        MEANS + "a_factor_that_hides_too_much_says_so_and_its_bound_is_true",
        "optim/test_mean_matching.py::test_no_certificate_claims_more_than_is_true_"
        "even_with_the_rank_capped",
        "optim/test_mean_matching.py::test_the_bound_on_a_capped_factor_holds_"
        "against_the_whole_kernel",
    ),
    "8 low-rank certificate >= true gap, 200 problems, capped": (
        "reference/test_low_rank_certificate.py",
        "weights/test_kliep.py::test_the_low_rank_certificate_is_never_below_the_"
        "true_gap",
    ),
    "9 one component equals scipy to 1e-6; EM never rises": (
        "weights/test_mixture.py::test_one_component_equals_the_minimizer_of_scipy",
        MIXTURE + "em_never_goes_up_and_ends_where_nothing_small_helps",
    ),
    "10 uniform scores 0, the true ratio its divergence": (
        "weights/test_kliep.py::test_uniform_weights_score_zero_and_the_true_ratio_"
        "scores_the_divergence",
    ),
    "11 permutation, units, a row twice": (
        ALL + "permuted_rows_get_permuted_weights",
        ALL + "the_unit_of_a_column_changes_nothing",
        "weights/test_kliep.py::test_weights_follow_the_same_centers_when_rows_are_"
        "repeated",
        SQUARES + "a_row_twice_is_a_row_of_weight_two",
        MEANS + "a_row_of_weight_two_is_the_row_twice",
        "weights/test_mixture.py::test_a_row_twice_is_a_row_of_weight_two",
        "weights/test_discriminator.py::test_a_row_twice_is_a_row_of_weight_two",
    ),
    "12 the discriminator points the right way": (
        "weights/test_discriminator.py::test_the_odds_are_those_of_the_target_with_"
        "the_prior_removed",
        "weights/test_discriminator.py::test_weights_close_most_of_the_gap_between_"
        "the_means",
    ),
    "13 swapped samples give the reciprocal direction": (
        ALL + "swapped_samples_give_the_reciprocal_direction",
    ),
}


def run(quick: bool) -> dict:
    """Run every check; a quick run leaves the slow tests out."""
    cases = _asked("not slow" if quick else "slow or not slow")
    rows, bars = [], []
    for name, places in CHECKS.items():
        mine = [one for place in places for one in _of(place, cases)]
        failed = sum(one["failed"] for one in mine)
        # A test that is not there has failed.
        failed += sum(not _of(place, cases) for place in places)
        passed = sum(one["passed"] for one in mine)
        seconds = sum(one["seconds"] for one in mine)
        files = sorted({place.split("::")[0] for place in places})
        rows.append([name, passed, failed, seconds, ", ".join(files)])
        bars.append(bar(f"{name}: tests failed", failed if passed else 1, 0))
    shown = table("The exact checks", "check | passed | failed | s | where", rows)
    return {"tables": [shown], "bars": bars}


def _of(place: str, cases: list[dict]) -> list[dict]:
    """Return the cases of a file, or of one test in it, whatever its parameters."""
    file, _, test = place.partition("::")
    return [
        one
        for one in cases
        if one["file"] == f"tests/{file}" and (not test or one["test"] == test)
    ]


def _asked(marked: str) -> list[dict]:
    """Return what became of every test that some check names, by one run of pytest."""
    places = dict.fromkeys(place for some in CHECKS.values() for place in some)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", marked]
        command += ["-o", "junit_family=xunit1", f"--junitxml={report}"]
        command += [f"tests/{place}" for place in places]
        ended = subprocess.run(
            command, cwd=ROOT, env=os.environ, capture_output=True, text=True
        )
        if not report.exists():
            raise RuntimeError(ended.stdout[-500:] + ended.stderr[-500:])
        found = list(ElementTree.parse(report).getroot().iter("testcase"))
    cases = []
    for one in found:
        kinds = {child.tag for child in one}
        failed = bool(kinds & {"failure", "error"})
        cases.append(
            {
                "file": one.get("file"),
                "test": one.get("name").partition("[")[0],
                "failed": failed,
                "passed": not failed and "skipped" not in kinds,
                "seconds": float(one.get("time")),
            }
        )
    return cases
