"""Two samples looked at in every way, for one verdict."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.diagnosis.correlations import CorrelationShift, correlation_shifts
from counterpoise.diagnosis.detectable import detectable_of
from counterpoise.diagnosis.diagnosis import Diagnosis
from counterpoise.diagnosis.features import sparse_shifts, table_shifts
from counterpoise.diagnosis.reweighting import reweighting_of
from counterpoise.diagnosis.rows_looked_at import RowsLookedAt
from counterpoise.diagnosis.shift_tests import (
    MOMENTS,
    ShiftTest,
    rows_to_rank,
    shift_tests,
    verdict_by,
)
from counterpoise.diagnosis.tests_of_units import (
    columns_by_units,
    dependence_of,
    kernel_means_by_units,
    moments_by_units,
)
from counterpoise.diagnosis.thin_rows import ThinRows, thin_rows_of
from counterpoise.engine import Blocks, rows_decided_on
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.coverage.digits import off_grids, recorded_apart
from counterpoise.samples.coverage.separating_columns import (
    separating_columns,
)
from counterpoise.samples.coverage.spelling import spelled_otherwise
from counterpoise.samples.dependent.belonging import with_units
from counterpoise.samples.dependent.dependence_seen import asked_of
from counterpoise.samples.dependent.divisions import divided
from counterpoise.samples.measures import measure_mmd
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP,
    NO_SHIFT,
    TOO_FEW,
    Overlap,
    overlap_between,
)
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.tables.columns import Table
from counterpoise.tables.duplicates import duplicate_rows
from counterpoise.tables.encoding import TableEncoder, encoded_rows, encoder_of
from counterpoise.tables.table_column import names_of
from counterpoise.validation import (
    as_random,
    as_seed,
    check_integer,
)
from counterpoise.validation.warning import filters_left_clean, held_back

# Rows of each sample between which the maximum mean discrepancy is measured, and by
# which weights of least discrepancy are looked for.
MMD_ROWS, WEIGHED_ROWS = 2_000, 1_000


def diagnose(
    X: Any,
    X_target: Any,
    *,
    sample_weight: Any = None,
    target_weight: Any = None,
    groups: Any = None,
    groups_target: Any = None,
    time: Any = None,
    time_target: Any = None,
    n_permutations: int = 200,
    random_state: Any = None,
) -> Diagnosis:
    r"""Return what has shifted between source and target, with a verdict.

    Feature by feature, effect sizes first: the standardised difference of the means,
    the Kolmogorov-Smirnov distance (categories: total variation), missing values, new
    categories, and p-values corrected for the number of features by Holm's method.
    Then all features together: how well a classifier tells the samples apart, the
    share of the target that the source hardly covers (`overlap`) with a description of
    these rows, the maximum mean discrepancy (`mmd`), and how much of the discrepancy
    (`discrepancy`) weights of the source rows can remove.

    Parameters
    ----------
    X : array-like, pandas or polars frame, sparse matrix, Table or `engine.Blocks`
        The source rows, of shape (n, d). Of tables in blocks 10,000 rows each are
        looked at (`diagnosis.column_sums` counts every row).
    X_target : the same of shape (m, d), or a tuple of such
        The target rows.
    sample_weight, target_weight : array of shape (n,), (m,)
        What the rows count in every mean; only their ratios within a sample matter.
    groups, groups_target : array of shape (n,), (m,)
        Names of what rows belong to, such as patients or sites, where rows of one are
        alike. They are held out together, and intervals and p-values are of groups. A
        name in both samples is one group; of a sample without names every row counts
        for itself.
    time, time_target : array of shape (n,), (m,)
        Numbers or dates in whose order neighbouring rows are alike: the same with 6 to
        20 blocks of neighbours a sample, by how long columns remember. Each sample has
        its own sequence; n + m entries in `time` alone are one for both, the source's
        first. Not together with groups.
    n_permutations : int
        How often the rows are divided anew, by chance, for the p-value of the maximum
        mean discrepancy; 0: none.
    random_state : int, RandomState or None
        Where the folds, permutations and rows of a sample that has many come from;
        None: from what the rows hold, so that the same rows get the same answer.

    Returns
    -------
    Diagnosis

    Notes
    -----
    The features are compared on all rows; classifiers see at most 5,000 of each sample,
    the maximum mean discrepancy 2,000 and the discrepancy 1,000, on columns encoded by
    `TableEncoder` where they are not finite numbers.

    With weights a row's share takes the place of 1/n in means, variances and
    distribution functions, so that a row of weight two is the row twice in every effect
    size; p-values count :math:`(\sum w)^2 / \sum w^2` rows, fewer than the rows written
    out would be: weights need not be counts.

    Of a group of fewer than 5 rows nothing is told: no mean, no range, no category.

    The verdict is "no shift found" only where no test tells the samples apart: the
    classifier, the columns, means, spreads and correlations of their ranks (Wilcoxon,
    Mood, Spearman), the cells of columns and pairs of columns and the neighbourhoods of
    rows (`overlap`), and the maximum mean discrepancy, each with a corrected p-value of
    at most 0.01, so that together they raise a false alarm at most once in twenty
    times. With fewer than 99 permutations the last cannot tell.

    Sparse matrices: means alone are compared, and memory grows with their entries; no
    Kolmogorov-Smirnov distance, no discrepancies, and thinly covered rows are counted
    but not described.

    With groups or time, the classifier holds units out whole, its interval is of units
    (Obuchowski), and the other tests divide units by chance (999 times; for the maximum
    mean discrepancy `n_permutations`): columns, moments of ranks, cells of columns and
    of pairs, kernel means. Neighbourhoods and holes are not looked for.
    With fewer than five units of a sample, or so few that no p-value can be 0.01
    (`dependence.smallest_p`), the verdict is "too few rows to tell" unless the shift is
    glaring. Of sparse matrices the classifier alone is asked.

    It never raises `NoOverlapError`: the verdict says it.

    Examples
    --------
    >>> from counterpoise.datasets import make_uncovered_cluster
    >>> shift = make_uncovered_cluster(q=0.3, n=500, m=500, shift=0, random_state=0)
    >>> found = diagnose(shift.X, shift.X_target, random_state=0)
    >>> found.verdict, found.thin_rows.columns[0].name
    ('shift, thin in part', 'x0')
    """
    check_integer("n_permutations", n_permutations, low=0)
    if isinstance(X, Blocks) or isinstance(X_target, Blocks):
        # What they hold is not read for a seed: places alone decide.
        seed = as_seed(0 if random_state is None else random_state)
        X, X_target = rows_decided_on(X, seed), rows_decided_on(X_target, seed)
    samples = SamplesAsRead.read(X, X_target, sample_weight, target_weight)
    samples = with_units(samples, groups, groups_target, time, time_target)
    random = samples.seed(random_state)
    if not isinstance(random, int | np.integer):
        random = as_random(random)
    with filters_left_clean():
        return diagnose_samples(samples, n_permutations, random)


def diagnose_samples(
    samples: SamplesAsRead, n_permutations: int, random: Any
) -> Diagnosis:
    """Return what `diagnose` does, of samples as read.

    `random`: an integer, the same for every draw, or a RandomState.
    """
    samples = samples.without_zeros()
    if samples.tables is None:
        return _of_matrices(samples, random)
    source, target = samples.tables
    w, v = samples.source_weight, samples.target_weight
    numbers, encoder = _as_numbers(samples)
    numbers.refuse_huge()
    names = column_names = names_of(source.columns)
    labels = dict(zip((c.label for c in source.columns), names, strict=True))
    dropped: dict[str, str] = {}
    unseen: dict[str, float] = {}
    if encoder is not None:
        names = [labels[k] for k in encoder.columns_]
        dropped = {labels[k]: reason for k, reason in encoder.dropped_.items()}
        unseen = {labels[k]: share for k, share in encoder.unseen_.items()}
    covered = overlap_between(numbers, _drawn(random))
    seed = _drawn(random)
    looked_at = RowsLookedAt(numbers, covered, seed)
    # The features say what varies in one sample alone.
    with held_back(UserWarning, message="hardly varies"):
        distance = measure_mmd(
            looked_at(MMD_ROWS),
            None,
            n_permutations if numbers.units is None else 0,
            random,
            standardize=True,
        )
    weighed = reweighting_of(looked_at(WEIGHED_ROWS), names)
    kept = [j for j, name in enumerate(column_names) if name not in dropped]
    source, target = _with_columns(source, kept), _with_columns(target, kept)
    features = table_shifts(source, target, w / w.sum(), v / v.sum())
    ranked = off_grids(looked_at(rows_to_rank(numbers.source.shape[1])).ordered())
    if numbers.units is None:
        tests = shift_tests(covered, features, names, distance.p_value, ranked)
    else:
        found = divided(numbers, covered.rows, covered.rows_target, seed)
        features = columns_by_units(features, source, target, found)
        if n_permutations:
            few = looked_at.places(MMD_ROWS)
            distance = replace(
                distance,
                p_value=kernel_means_by_units(
                    numbers,
                    looked_at(MMD_ROWS),
                    divided(numbers, *few, seed, n_permutations),
                    distance.gamma,
                ),
            )
        tests = shift_tests(
            covered,
            features,
            names,
            distance.p_value,
            moments=moments_by_units(numbers, found),
        )
    word = verdict_by(tests, covered, w, v)
    apart = separating_columns(samples, seed) if word == NO_OVERLAP else None
    diagnosis = replace(
        _of_overlap(covered, len(source), len(target)),
        verdict=word,
        separation=apart,
        tests=tests,
        correlations=_pairs(word, tests, ranked, names, numbers.units is not None),
        detectable=None if numbers.units is not None else detectable_of(source, w, v),
        dependence=dependence_of(numbers),
        asks=asked_of(samples, names) if numbers.units is None else "",
        digits=_digits(numbers, covered, names),
        spellings=spelled_otherwise(source, target, v / v.sum()),
        thin_rows=thin_rows_of(source, target, w, v, covered, names),
        mmd=distance.value,
        mmd_p_value=distance.p_value,
        discrepancy=None if weighed is None else weighed.before,
        reweighting=weighed,
        features=features,
        dropped=dropped,
        unseen=unseen,
        source_duplicates=duplicate_rows(source),
        target_duplicates=duplicate_rows(target),
    )
    return diagnosis.explained()


def _as_numbers(samples: SamplesAsRead) -> tuple[SamplesAsRead, TableEncoder | None]:
    """Return both samples as numbers, and how they were encoded.

    The encoder counts rows as the user does; where all count once it is the samples'.
    """
    w, v = samples.source_weight, samples.target_weight
    if samples.is_plain or ((w == 1.0).all() and (v == 1.0).all()):
        return samples, samples.encoder
    assert samples.tables is not None
    source, target = samples.tables
    encoder = encoder_of(source, target, w, v)
    rows = encoded_rows(encoder, source), encoded_rows(encoder, target)
    numbers = SamplesAsRead.of_matrices(*rows, w, v)
    return replace(numbers, units=samples.units), encoder


def _digits(
    numbers: SamplesAsRead, covered: Overlap, names: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns that are recorded to different digits, of the rows scored."""
    rows, aims = covered.rows, covered.rows_target
    looked_at = TwoSamples.of(
        numbers.source[rows],
        numbers.target[aims],
        numbers.source_weight[rows],
        numbers.target_weight[aims],
    )
    apart = recorded_apart(looked_at)
    return tuple(dict.fromkeys(names[int(j)] for j in np.flatnonzero(apart)))


def _pairs(
    word: str,
    tests: Sequence[ShiftTest],
    ranked: TwoSamples,
    names: Sequence[str],
    by_units: bool,
) -> tuple[CorrelationShift, ...]:
    """Return the pairs of columns that go together otherwise, where there is a shift.

    Of rows that belong together the pair that the test of moments found, if it did.
    """
    if word in (NO_SHIFT, TOO_FEW, NO_OVERLAP):
        return ()
    if not by_units:
        return correlation_shifts(ranked, names)
    moments = next(test for test in tests if test.name == MOMENTS)
    if not moments.tells or len(moments.about) != 2:
        return ()
    return correlation_shifts(ranked, names, moments.about)


def _of_matrices(samples: SamplesAsRead, random: Any) -> Diagnosis:
    source, target = samples.source, samples.target
    w, v = samples.source_weight, samples.target_weight
    covered = overlap_between(samples, _drawn(random))
    labels = samples.labels or range(source.shape[1])
    names = [k if isinstance(k, str) else f"x{k}" for k in labels]
    note = "Sparse matrices are not described."
    thin = ThinRows(covered.thin_rows.size, covered.rows_target.size, note=note)
    features = sparse_shifts(source, target, names, w / w.sum(), v / v.sum())
    if samples.units is not None:
        # Of so many columns no division of units could tell: the classifier does.
        features = tuple(
            replace(one, p_value=None, adjusted_p_value=None) for one in features
        )
    tests = shift_tests(covered, features, names)
    found = replace(
        _of_overlap(covered, source.shape[0], target.shape[0]),
        verdict=verdict_by(tests, covered, w, v),
        tests=tests,
        thin_rows=thin,
        dependence=dependence_of(samples),
        features=features,
        note="Of sparse matrices means alone are compared: there is no "
        "Kolmogorov-Smirnov distance, no maximum mean discrepancy and no "
        "discrepancy.",
        source_duplicates=duplicate_rows(source),
        target_duplicates=duplicate_rows(target),
    )
    return found.explained()


def _of_overlap(covered: Overlap, n: int, m: int) -> Diagnosis:
    """Return a diagnosis with nothing in it but the overlap."""
    return Diagnosis(
        verdict=covered.verdict,
        explanation="",
        auc=covered.auc,
        auc_low=covered.auc_low,
        auc_high=covered.auc_high,
        thin=covered.thin,
        thin_low=covered.thin_low,
        thin_high=covered.thin_high,
        thin_rows=ThinRows(0, 0),
        mmd=None,
        mmd_p_value=None,
        discrepancy=None,
        features=(),
        n_source=n,
        n_target=m,
        dropped={},
        unseen={},
        overlap=covered,
    )


def _drawn(random: Any) -> int:
    return as_seed(random)


def _with_columns(table: Table, kept: list[int]) -> Table:
    return Table(tuple(table.columns[j] for j in kept), table.named)
