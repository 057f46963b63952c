"""Diagnosis of distribution shift between two samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterpoise.data.arrays import Matrix
from counterpoise.data.blocks import Blocks, sample_to_decide_on
from counterpoise.data.columns import column_limits, duplicate_rows
from counterpoise.data.encoder import TableEncoder, encoded_rows, encoder_of
from counterpoise.data.groups import dependence_question, divided, with_units
from counterpoise.data.parameters import as_random, as_seed, check_integer
from counterpoise.data.samples import Samples
from counterpoise.data.table import names_of
from counterpoise.data.two_samples import (
    TwoSamples,
    canonical_order,
    pooled_scale,
    scale_columns,
)
from counterpoise.errors import suppress_warnings
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.linalg.kernels import Kernel
from counterpoise.messages import Finding
from counterpoise.optim.loop import solve
from counterpoise.optim.spectral.choice import best_solver
from counterpoise.shift.columns import (
    CorrelationShift,
    FeatureShift,
    correlation_shifts,
    differently_rounded,
    select_columns,
    sparse_shifts,
    spread_rounded_columns,
    table_shifts,
)
from counterpoise.shift.diagnosis_text import (
    diagnosis_explanation,
    diagnosis_findings,
    diagnosis_html,
    diagnosis_text,
)
from counterpoise.shift.discrepancy_distance import (
    CONSTANT,
    DiscrepancySpectrum,
    MomentPair,
    pose_discrepancy,
)
from counterpoise.shift.domain_classifier import ROWS_OF_DOMAIN_SCORE
from counterpoise.shift.separation import (
    Separation,
    Spelling,
    UncoveredRows,
    respelled_categories,
    separating_columns,
    uncovered_rows_of,
)
from counterpoise.shift.support import (
    NO_OVERLAP,
    NO_SHIFT,
    TOO_FEW,
    Overlap,
    overlap_between,
)
from counterpoise.shift.two_sample_tests import (
    measure_mmd,
    moment_test,
)
from counterpoise.shift.verdict_tests import (
    MOMENTS,
    Dependence,
    Detectable,
    ShiftTest,
    columns_by_units,
    dependence_of,
    detectable_of,
    kernel_means_by_units,
    moments_by_units,
    shift_tests,
    verdict_by,
)

# -----------------------------------------------------------------------------
# How much of what a linear model sees of a shift weights of the source can remove.
# -----------------------------------------------------------------------------


# Columns up to which the spectrum is computed, and the least discrepancy looked for.
COLUMNS_LOOKED_AT, COLUMNS_WEIGHED = 1_000, 100
# The gap that is enough for a sentence, and steps after which the search ends.
REWEIGHTING_TOL, REWEIGHTING_STEPS = 0.02, 60
# Eigenvalues that are kept of each end, and columns that a direction is told by.
EIGENVALUES_KEPT, COLUMNS_TOLD = 50, 5


@dataclass(frozen=True)
class Reweighting:
    """The discrepancy of two samples, and what is left of it at the best weights.

    Attributes
    ----------
    before, after : float
        The discrepancy (`counterpoise.discrepancy` of standardized columns with a
        constant) of the source as it is, and at the best weights found; the second None
        where it was not looked for.
    bound : float or None
        What no weights go below.
    removable : float or None
        The share of `before` that the weights found remove.
    direction : tuple of (name, share)
        The columns that make up the worst direction at the best weights, or of the
        source as it is where these are not known.
    target_varies_more : bool
        Whether the target varies more than the source along it.
    spectrum_before, spectrum_after : tuple of float
        The signed eigenvalues, by size; at most 100.
    n_source, n_target : int
        Rows that were looked at.
    """

    before: float
    after: float | None
    bound: float | None
    direction: tuple[tuple[str, float], ...]
    target_varies_more: bool
    spectrum_before: tuple[float, ...] = field(repr=False)
    spectrum_after: tuple[float, ...] = field(repr=False)
    n_source: int
    n_target: int

    @property
    def removable(self) -> float | None:
        """The share of the discrepancy that weights can remove."""
        if self.after is None or self.before == 0.0:
            return None
        return max(1.0 - self.after / self.before, 0.0)

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers, strings, lists and dictionaries."""
        return {
            "before": list(self.spectrum_before),
            "after": list(self.spectrum_after),
            "discrepancy": self.before,
            "least": self.after,
            "bound": self.bound,
            "removable": self.removable,
            "direction": [
                {"name": name, "share": share} for name, share in self.direction
            ],
            "target_varies_more": self.target_varies_more,
            "n_source": self.n_source,
            "n_target": self.n_target,
        }


def reweighting_of(samples: TwoSamples, names: Sequence[str]) -> Reweighting | None:
    r"""Return how much of the discrepancy weights of the source rows can remove.

    Columns are centered and divided by their pooled scale, and numbers far outside the
    bulk count as if they lay at its ends. None where there are more than 1,000 columns;
    the best weights are looked for up to 100 columns. Time
    :math:`O((n + m) d^2)` and that of a few dozen Newton steps.

    Parameters
    ----------
    samples : TwoSamples
        Rows in their canonical order.
    names : sequence of str
        The column of the table that each column comes from.
    """
    n_columns = samples.source.shape[1]
    if n_columns > COLUMNS_LOOKED_AT:
        return None
    samples = _standardized(samples)
    hypotheses = Kernel("linear", constant=1.0)
    pair = MomentPair.of(hypotheses, samples.source, samples.target, tuple(names))

    def spectrum(ratio: Array) -> DiscrepancySpectrum:
        share = samples.source_share * ratio
        return pair.spectrum(
            np.concatenate([-share / share.sum(), samples.target_share])
        )

    first = last = spectrum(np.ones(samples.source_share.size))
    after = bound = None
    if n_columns <= COLUMNS_WEIGHED and first.value > 0.0:
        posed = pose_discrepancy(samples, hypotheses)
        solver = best_solver(posed.problem)
        result = solve(
            posed.problem, solver, tol=REWEIGHTING_TOL, max_iter=REWEIGHTING_STEPS
        )
        last = spectrum(posed.ratio(posed.problem.inside(result.x)))
        after, bound = last.value, result.certificate.bound
    return Reweighting(
        before=first.value,
        after=after,
        bound=bound,
        direction=_told(last),
        target_varies_more=last.signed[0] >= -last.signed[1],
        spectrum_before=_by_size(first.eigenvalues),
        spectrum_after=() if after is None else _by_size(last.eigenvalues),
        n_source=samples.source_share.size,
        n_target=samples.target_share.size,
    )


def _standardized(samples: TwoSamples) -> TwoSamples:
    """Return columns around zero, of scale one."""
    both = [
        (samples.source, samples.source_share),
        (samples.target, samples.target_share),
    ]
    low, high = column_limits(both)
    cut = [np.clip(rows, low, high) for rows, _ in both]
    middle = 0.5 * sum(share @ part for part, (_, share) in zip(cut, both, strict=True))
    # The features say what varies in one sample alone.
    with suppress_warnings(UserWarning, message="hardly varies"):
        scale = pooled_scale(samples)
    return samples.with_rows(*(scale_columns(part - middle, scale) for part in cut))


def _told(spectrum: DiscrepancySpectrum) -> tuple[tuple[str, float], ...]:
    """Return the columns of a direction, without the constant that may be in it."""
    named = [(str(name), x) for name, x in spectrum.ranking if name != CONSTANT]
    total = sum(share for _, share in named)
    if total <= 0.0:
        return ()
    return tuple((name, share / total) for name, share in named[:COLUMNS_TOLD])


def _by_size(values: Array) -> tuple[float, ...]:
    """Return the eigenvalues of both ends, the largest absolute values first."""
    if values.size > 2 * EIGENVALUES_KEPT:
        values = np.r_[values[:EIGENVALUES_KEPT], values[-EIGENVALUES_KEPT:]]
    return tuple(values[np.argsort(-np.abs(values), kind="stable")].tolist())


# -----------------------------------------------------------------------------
# Some of the rows that were scored, the same whatever order they came in.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSample:
    """At most so many rows of each sample, among those that were scored.

    They stand in their canonical order, and are the same whatever order they came in.
    """

    samples: Samples
    covered: Overlap
    seed: int

    def __call__(self, most: int) -> TwoSamples:
        """Return these rows."""
        some, target_rows = self.places(most)
        w, v = self.samples.source_weight, self.samples.target_weight
        return TwoSamples.of(
            self.samples.source[some],
            self.samples.target[target_rows],
            w[some],
            v[target_rows],
        ).ordered()

    def places(self, most: int) -> tuple[Indices, Indices]:
        """Return where they stand in the samples."""
        samples, covered = self.samples, self.covered
        w, v = samples.source_weight, samples.target_weight
        return (
            _draw_rows(samples.source, w, covered.rows, self.seed, most),
            _draw_rows(samples.target, v, covered.rows_target, self.seed, most),
        )


def _draw_rows(
    rows: Matrix, weight: Array, among: Indices, seed: int, most: int
) -> Indices:
    """Return at most so many rows, the same whatever order they came in."""
    if among.size <= most:
        return among
    ordered = among[canonical_order(rows[among], weight[among])]
    picked = np.random.default_rng(seed).permutation(ordered.size)[:most]
    return ordered[np.sort(picked)]


# -----------------------------------------------------------------------------
# Whether and where two samples differ: all that was found, with a verdict.
# -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Diagnosis:
    """What has shifted between two samples, and what is still covered.

    Attributes
    ----------
    verdict : str
        "no shift detected", "small shift", "shift, full overlap", "shift, partial
        overlap", "no overlap" or "too few rows", by the table of `overlap`, in which
        all of `tests` take part.
    tests : tuple of ShiftTest
        What the verdict rests on: five tests, each of level 0.01.
    correlations : tuple of CorrelationShift
        Where there is a shift: pairs of columns that go together otherwise, those that
        moved most first (20 at most). None of sparse matrices.
    explanation : str
        What it means and what to do next, in sentences.
    auc, auc_low, auc_high : float
        How well a classifier tells the samples apart, with its interval of level 0.95.
    thin : float
        Share of the target that lies where only the outermost 0.5 % of the source
        rows are, or in holes among them.
    uncovered_fraction_low, uncovered_fraction_high : float or None
        Its interval of level 0.95; the verdict is "no overlap" where its lower end is
        above one half.
    detectable : Detectable or None
        The smallest shifts of four kinds that would be found with a chance of 0.8: what
        could have been missed. None for sparse matrices and rows that belong together.
    dependence : Dependence or None
        The groups or blocks of time that rows belong to, if they were said.
    dependence_hint : Finding or None
        What to do where rows look dependent and nothing was said about it.
    digits : tuple of str
        Columns that the samples record to different digits, or in different units of
        rounding. Classifiers and neighborhoods compare them as if they did not
        (`spread_rounded_columns`).
    spellings : tuple of Spelling
        Categories of the target that the source has in another spelling ("Yes" for
        "yes"), the commonest first (`respelled_categories`).
    separation : Separation or None
        Where there is no overlap: the columns that make the samples disjoint, how, and
        what is covered without them. None where it is not columns.
    uncovered_rows : UncoveredRows
        A description of that part: columns and ranges, never a row.
    mmd, mmd_p_value : float or None
        The maximum mean discrepancy of standardized columns, and the chance of one as
        large if nothing had shifted; None for sparse matrices, the second also where
        no permutation was asked for.
    discrepancy : float or None
        Of standardized columns with a constant: what linear models can see of the
        shift. None for sparse matrices and more than 1,000 columns.
    features : tuple of FeatureShift
        Every feature by itself, in the order of the columns.
    n_source, n_target : int
        Rows that count, of a weight above zero.
    dropped : dict
        Columns that were left out, each with the reason.
    unseen : dict
        For each column of categories the share of the target rows whose category the
        source does not have.
    note : str
        What could not be computed; empty if nothing.
    reweighting : Reweighting or None
        How much of the discrepancy weights of the source rows can remove, and the
        direction that cannot be matched; the same is None for the same.
    overlap : Overlap or None
        The scores of the rows behind `auc` and `uncovered_fraction`; not part of
        `to_dict`.
    watched : bool
        Whether the words are about a model that is watched (`Adapted.diagnose`), its
        source being the target of the fit; not part of `to_dict`.
    source_duplicates, target_duplicates : int or None
        Rows that equal one before them in every column that counts; not part of
        `to_dict`.
    """

    verdict: str
    explanation: str = ""
    auc: float
    auc_low: float
    auc_high: float
    uncovered_fraction: float
    uncovered_fraction_low: float | None = None
    uncovered_fraction_high: float | None = None
    detectable: Detectable | None = None
    dependence: Dependence | None = None
    dependence_hint: Finding | None = None
    digits: tuple[str, ...] = ()
    spellings: tuple[Spelling, ...] = ()
    correlations: tuple[CorrelationShift, ...] = ()
    separation: Separation | None = None
    uncovered_rows: UncoveredRows
    mmd: float | None = None
    mmd_p_value: float | None = None
    discrepancy: float | None = None
    correction: str = field(default="Holm", init=False)
    tests: tuple[ShiftTest, ...] = ()
    features: tuple[FeatureShift, ...] = field(repr=False)
    n_source: int
    n_target: int
    dropped: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    reweighting: Reweighting | None = field(default=None, repr=False)
    overlap: Overlap | None = field(default=None, repr=False)
    source_duplicates: int | None = None
    target_duplicates: int | None = None
    watched: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The verdict, what was found beside it, and what to do next."""
        return diagnosis_findings(self)

    def explained(self) -> "Diagnosis":
        """Return the same with what it means in sentences."""
        return replace(self, explanation=diagnosis_explanation(self))

    def as_watched(self) -> "Diagnosis":
        """Return the same about a model that is watched.

        The source is then the target of its fit, and the target today's rows.
        """
        return replace(self, watched=True).explained()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dictionaries."""
        recorded = [one.name for one in fields(self)]
        recorded = recorded[: recorded.index("reweighting")]
        plain = {name: _plain(getattr(self, name)) for name in recorded}
        findings = [finding.to_dict() for finding in self.findings]
        return {
            **plain,
            "findings": findings,
            "spectrum": _plain(self.reweighting),
        }

    def __str__(self) -> str:
        return diagnosis_text(self)

    def _repr_html_(self) -> str:
        return diagnosis_html(self)


def _plain(value: object) -> object:
    """Return plain numbers, strings, lists and dictionaries."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value


# -----------------------------------------------------------------------------
# Two samples looked at in every way, for one verdict.
# -----------------------------------------------------------------------------


# Rows of each sample between which the maximum mean discrepancy is measured, and by
# which weights of least discrepancy are looked for.
MMD_ROWS, WEIGHED_ROWS = 2_000, 1_000
# Numbers whose ranks are compared: with many columns there are fewer rows.
RANKED_ENTRIES, FEWEST_RANKED_ROWS = 150_000, 500


def diagnose(
    X: object,
    X_target: object,
    *,
    sample_weight: ArrayLike | None = None,
    target_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    groups_target: ArrayLike | None = None,
    time: ArrayLike | None = None,
    time_target: ArrayLike | None = None,
    n_permutations: int = 200,
    random_state: int | np.random.RandomState | None = None,
) -> Diagnosis:
    r"""Return what has shifted between source and target, with a verdict.

    Feature by feature, effect sizes first: the standardized difference of the means,
    the Kolmogorov-Smirnov distance (categories: total variation), missing values, new
    categories, and p-values corrected for the number of features by Holm's method.
    Then all features together: how well a classifier tells the samples apart, the
    share of the target that the source hardly covers (`overlap`) with a description of
    these rows, the maximum mean discrepancy (`mmd`), and how much of the discrepancy
    (`discrepancy`) weights of the source rows can remove.

    Parameters
    ----------
    X : array-like, pandas or polars frame, sparse matrix, Table or `Blocks`
        The source rows, of shape (n, d). Of tables in blocks 10,000 rows each are
        looked at (`column_sums` counts every row).
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
        Numbers or dates in whose order neighboring rows are alike: the same with 6 to
        20 blocks of neighbors a sample, by how long columns remember. Each sample has
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

    The verdict is "no shift detected" only where no test tells the samples apart: the
    classifier, the columns, means, spreads and correlations of their ranks (Wilcoxon,
    Mood, Spearman), the cells of columns and pairs of columns and the neighborhoods of
    rows (`overlap`), and the maximum mean discrepancy, each with a corrected p-value of
    at most 0.01, so that together they raise a false alarm at most once in twenty
    times. With fewer than 99 permutations the last cannot tell.

    Sparse matrices: means alone are compared, and memory grows with their entries; no
    Kolmogorov-Smirnov distance, no discrepancies, and thinly covered rows are counted
    but not described.

    With groups or time, the classifier holds units out whole, its interval is of units
    (Obuchowski), and the other tests divide units by chance (999 times; for the maximum
    mean discrepancy `n_permutations`): columns, moments of ranks, cells of columns and
    of pairs, kernel means. Neighborhoods and holes are not looked for.
    With fewer than five units of a sample, or so few that no p-value can be 0.01
    (`dependence.smallest_p`), the verdict is "too few rows" unless the shift is
    glaring. Of sparse matrices the classifier alone is asked.

    It never raises `NoOverlapError`: the verdict says it.

    Examples
    --------
    >>> from counterpoise.datasets import make_uncovered_cluster
    >>> shift = make_uncovered_cluster(q=0.3, n=500, m=500, shift=0, random_state=0)
    >>> found = diagnose(shift.X, shift.X_target, random_state=0)
    >>> found.verdict, found.uncovered_rows.columns[0].name
    ('shift, partial overlap', 'x0')
    """
    check_integer("n_permutations", n_permutations, low=0)
    if isinstance(X, Blocks) or isinstance(X_target, Blocks):
        # A seed by their content would need a pass over them: places alone decide.
        seed = as_seed(0 if random_state is None else random_state)
        X, X_target = sample_to_decide_on(X, seed), sample_to_decide_on(X_target, seed)
    samples = Samples.read(X, X_target, sample_weight, target_weight)
    samples = with_units(samples, groups, groups_target, time, time_target)
    random = samples.seed(random_state)
    if not isinstance(random, int | np.integer):
        random = as_random(random)
    return diagnose_samples(samples, n_permutations, random)


def diagnose_samples(
    samples: Samples,
    n_permutations: int,
    random: int | np.integer[Any] | np.random.RandomState | None,
) -> Diagnosis:
    """Return what `diagnose` does, of samples as read.

    `random`: an integer, the same for every draw, or a RandomState.
    """
    samples = samples.without_zeros()
    if samples.tables is None:
        return _diagnose_sparse(samples, random)
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
    covered = overlap_between(numbers, as_seed(random))
    seed = as_seed(random)
    row_sample = RowSample(numbers, covered, seed)
    by_rows, rows = numbers.units is None, row_sample(MMD_ROWS)
    # The features say what varies in one sample alone.
    with suppress_warnings(UserWarning, message="hardly varies"):
        distance = measure_mmd(
            rows, None, n_permutations if by_rows else 0, random, standardize=True
        )
    weighed = reweighting_of(row_sample(WEIGHED_ROWS), names)
    kept = [j for j, name in enumerate(column_names) if name not in dropped]
    source, target = select_columns(source, kept), select_columns(target, kept)
    features = table_shifts(source, target, w / w.sum(), v / v.sum())
    n_ranked = max(RANKED_ENTRIES // numbers.source.shape[1], FEWEST_RANKED_ROWS)
    ranked = spread_rounded_columns(row_sample(n_ranked))
    if by_rows:
        moments = moment_test(ranked)
    else:
        result = divided(numbers, covered.rows, covered.rows_target, seed)
        moments = moments_by_units(numbers, result)
        features = columns_by_units(features, source, target, result)
        if n_permutations:
            few = divided(numbers, *row_sample.places(MMD_ROWS), seed, n_permutations)
            p_value = kernel_means_by_units(numbers, rows, few, distance.gamma)
            distance = replace(distance, p_value=p_value)
    tests = shift_tests(covered, features, names, distance.p_value, moments=moments)
    verdict = verdict_by(tests, covered, w, v)
    rounded = differently_rounded(row_sample(ROWS_OF_DOMAIN_SCORE))
    diagnosis = Diagnosis(
        **_of_overlap(covered),
        verdict=verdict,
        uncovered_rows=uncovered_rows_of(source, target, w, v, covered, names),
        mmd=distance.value,
        mmd_p_value=distance.p_value,
        discrepancy=None if weighed is None else weighed.before,
        features=features,
        n_source=len(source),
        n_target=len(target),
        dropped=dropped,
        unseen=unseen,
        reweighting=weighed,
        source_duplicates=duplicate_rows(source),
        target_duplicates=duplicate_rows(target),
        tests=tests,
        detectable=detectable_of(source, w, v) if by_rows else None,
        dependence=dependence_of(numbers),
        dependence_hint=dependence_question(samples, names) if by_rows else None,
        digits=tuple(dict.fromkeys(names[j] for j in np.flatnonzero(rounded))),
        correlations=_pairs(verdict, tests, ranked, names, by_rows),
        spellings=respelled_categories(source, target, v / v.sum()),
        separation=(
            separating_columns(samples, seed) if verdict == NO_OVERLAP else None
        ),
    )
    return diagnosis.explained()


def _as_numbers(samples: Samples) -> tuple[Samples, TableEncoder | None]:
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
    numbers = Samples.of_matrices(*rows, w, v)
    return replace(numbers, units=samples.units), encoder


def _pairs(
    word: str,
    tests: Sequence[ShiftTest],
    ranked: TwoSamples,
    names: Sequence[str],
    by_rows: bool,
) -> tuple[CorrelationShift, ...]:
    """Return the pairs of columns that go together otherwise, where there is a shift.

    Of rows that belong together the pair that the test of moments found, if it did.
    """
    if word in (NO_SHIFT, TOO_FEW, NO_OVERLAP):
        return ()
    if by_rows:
        return correlation_shifts(ranked, names)
    moments = next(test for test in tests if test.name == MOMENTS)
    if not moments.tells or len(moments.about) != 2:
        return ()
    return correlation_shifts(ranked, names, moments.about)


def _diagnose_sparse(
    samples: Samples, random: int | np.integer[Any] | np.random.RandomState | None
) -> Diagnosis:
    """Return the diagnosis of sparse matrices, of which means alone are compared."""
    source, target = samples.source, samples.target
    w, v = samples.source_weight, samples.target_weight
    covered = overlap_between(samples, as_seed(random))
    labels = samples.labels or range(source.shape[1])
    names = [k if isinstance(k, str) else f"x{k}" for k in labels]
    features = sparse_shifts(source, target, names, w / w.sum(), v / v.sum())
    if samples.units is not None:
        # Of so many columns no division of units could tell: the classifier does.
        features = tuple(
            replace(one, p_value=None, adjusted_p_value=None) for one in features
        )
    tests = shift_tests(covered, features, names)
    result = Diagnosis(
        **_of_overlap(covered),
        verdict=verdict_by(tests, covered, w, v),
        uncovered_rows=UncoveredRows(
            covered.uncovered_rows.size,
            covered.rows_target.size,
            note="Sparse matrices are not described.",
        ),
        features=features,
        n_source=source.shape[0],
        n_target=target.shape[0],
        note="Of sparse matrices means alone are compared: there is no "
        "Kolmogorov-Smirnov distance, no maximum mean discrepancy and no "
        "discrepancy.",
        source_duplicates=duplicate_rows(source),
        target_duplicates=duplicate_rows(target),
        tests=tests,
        dependence=dependence_of(samples),
    )
    return result.explained()


def _of_overlap(covered: Overlap) -> dict[str, Any]:
    """Return the fields of a diagnosis that the overlap has."""
    return {
        "overlap": covered,
        "auc": covered.auc,
        "auc_low": covered.auc_low,
        "auc_high": covered.auc_high,
        "uncovered_fraction": covered.uncovered_fraction,
        "uncovered_fraction_low": covered.uncovered_fraction_low,
        "uncovered_fraction_high": covered.uncovered_fraction_high,
    }
