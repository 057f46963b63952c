"""How good a model is where nobody has labels yet."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.adaptation.estimating.given import (
    as_numbers,
    group_numbers,
    labelled_rows,
    labels_of,
    methods_asked,
    several,
    some_rows,
    weighed_rows,
)
from counterpoise.adaptation.estimating.sets import target_sets
from counterpoise.adaptation.estimating.slicing import moved_columns, some_of
from counterpoise.adaptation.in_blocks.fitting import (
    refuse_beside_blocks,
    rows_to_judge_by,
)
from counterpoise.adaptation.odd_inputs import row_marks, warn_if_fitted_to
from counterpoise.adaptation.out_of_fold import (
    adapted_within,
    ends_in_adapted,
    out_of_fold_answers,
    ratio_at_rows,
    ratio_of_model,
)
from counterpoise.engine import Blocks
from counterpoise.evaluation.advice.baseline import baseline_of
from counterpoise.evaluation.advice.labels_wanted import labels_wanted
from counterpoise.evaluation.answers import Answers
from counterpoise.evaluation.judging import Judge, Rows, as_they_are, label_changes
from counterpoise.evaluation.metrics import (
    Metric,
    as_metric,
    is_classifier,
)
from counterpoise.evaluation.performance import (
    CoveredPart,
    MetricPerformance,
    Performance,
)
from counterpoise.evaluation.reliability import reliability_of
from counterpoise.evaluation.slices import MovedColumn, loss_by_slice
from counterpoise.numerics.arrays import Array, Indices
from counterpoise.samples.as_read import SamplesAsRead
from counterpoise.samples.coverage.thin_by_chance import THIN_ABOVE
from counterpoise.samples.effective_size import effective_sample_size
from counterpoise.samples.overlap_verdict import (
    NO_OVERLAP,
    Overlap,
    overlap_between,
)
from counterpoise.tables.encoding import encoded
from counterpoise.validation import (
    NoOverlapError,
    as_seed,
    check_number,
    n_rows,
    row_counts,
    target_pieces,
)

_FEW_EFFECTIVE = 50


def estimate_performance(
    model: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    metrics: Any = None,
    level: float = 0.95,
    X_lab: Any = None,
    y_lab: Any = None,
    sample_weight: Any = None,
    weighter: Any = "auto",
    cv: Any = None,
    groups: Any = None,
    precision: float = 0.2,
    random_state: Any = None,
) -> Performance:
    r"""Return how good the model is on the target, without the target's labels.

    With losses :math:`L_i` of labelled source rows that the model was not fitted to,
    their weights :math:`w_i` (the density ratio target/source), target rows
    :math:`t_j`, and a regression :math:`g` of the loss on the row and the prediction:

    ==============  ==================================================================
    source          :math:`\mathrm{mean}\, L`: what everybody reports
    weighted        :math:`\sum w L / \sum w`
    direct          :math:`\mathrm{mean}_j\, g(t_j)`
    doubly_robust   :math:`\mathrm{mean}_j\, g(t_j) + \sum \bar w (L - g)/\sum \bar w`,
                    :math:`\bar w` cut at its 99 % quantile: right if w or g is
    confidence      the mean of what the classifier's own probabilities, recalibrated
                    on weighted rows, promise at the target rows
    labelled        :math:`\mathrm{mean}_j\, g(t_j) + \mathrm{mean}_l (L_l - g(t_l))`
                    over the rows of `X_lab`; together with the doubly robust estimate
                    unless the two contradict one another (`.check`)
    ==============  ==================================================================

    Parameters
    ----------
    model : fitted predictor
        An `Adapted`, a pipeline around one, or anything that predicts.
    X, y : table of shape (n, d), array of shape (n,)
        Labelled source rows that the model was not fitted to; with `cv` they may be
        those of its fit. Of tables in blocks (`engine.Blocks`) 10,000 rows each are
        drawn, by the seed of a model that was fitted to blocks those that it was
        decided on; y may be the name of a column.
    X_target : table of shape (m, d), or a tuple of such
        Rows from where the model is to work.
    metrics : str, callable, sequence of them, or None
        See `as_metric`. None: log-loss, error rate or squared error.
    level : float
        Of the intervals.
    X_lab, y_lab : table of shape (k, d), array of shape (k,)
        A few labelled target rows, drawn by chance. They sharpen the estimate and tell
        whether p(y | x) has changed.
    sample_weight : array of shape (n,)
        What the source rows count in every mean, apart from the weights.
    weighter : "auto", "model" or weighter
        "auto": `AutoWeights`, fitted to `X` and `X_target`. "model": the weights of a
        fitted `Adapted`, whose target must then have been `X_target`.
    cv : None, int, "blocks" or splitter
        None: the model is asked as it is. Else it is fitted again without each fold,
        with the weights that it had, and asked about the fold; an `Adapted` must have
        been fitted to the rows of `X`, in this order, draws rows where it drew them,
        and may be the end of a pipeline, whose transformers stay as they are, or what
        a search has found.
    groups : array of shape (n,)
        Rows of one group are held out together, and may be alike: errors of means are
        those of groups, drawn by chance as a whole.
    precision : float
        A width of the first metric's interval, as a share of its value: `.labels` says
        how many labelled target rows would make it so narrow.
    random_state : int, RandomState or None
        Seed of folds, subsamples, weights and resamples.

    Returns
    -------
    Performance

    Notes
    -----
    All but the estimate from labelled rows assume that p(y | x) has not changed, which
    inputs cannot tell, and nothing is known where the source has no rows: therefore the
    estimates for the covered part of the target (`.covered`), and none at all without
    overlap. Weights and :math:`g` are learned from at most 5,000 rows of each sample,
    and the estimates for the covered part are made of those rows alone.
    The estimate to go by (`.best`) is that of labelled rows, or the doubly robust one,
    or the weighted one where its estimated error is less than half, or (but not of AUC,
    F1 and their like) the direct one where it is less and one row makes nearly all of
    the doubly robust one's: `estimating.errors.Errors.least`. AUC, F1,
    Jaccard's index, precision and recall of two classes have them all, to the first
    order (`linearised`); other metrics that are no means over rows (R2,
    those of several classes) have no direct and no doubly robust estimate. How the
    intervals are made: `evaluation.estimates.mean_estimates`.

    References
    ----------
    Shimodaira (2000) on weighted losses; Robins, Rotnitzky and Zhao (1994) on double
    robustness; Angelopoulos et al. (2023) on predictions with few labels.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from counterpoise.datasets import make_gaussian_shift
    >>> a, b = (make_gaussian_shift(2, random_state=seed) for seed in (0, 1))
    >>> model = LinearRegression().fit(a.X, a.y)
    >>> found = estimate_performance(model, b.X, b.y, b.X_target, random_state=0)
    >>> truth = ((model.predict(b.X_target) - b.y_target) ** 2).mean()
    >>> bool(found.doubly_robust.low < truth < found.doubly_robust.high)
    True
    """
    check_number("level", level, low=0.0, high=1.0, closed="neither")
    check_number("precision", precision, low=0.0, closed="neither")
    seed = as_seed(random_state)
    if isinstance(X, Blocks) or isinstance(X_target, Blocks):
        refuse_beside_blocks(sample_weight=sample_weight, groups=groups)
        X, y, X_target = rows_to_judge_by(model, X, y, X_target, seed)
    n = n_rows(X)
    counts = row_counts(sample_weight, n)
    classifier = is_classifier(model, y)
    labels = labels_of(y, n, classifier, "y")
    is_read = isinstance(X_target, SamplesAsRead)
    pieces = target_pieces(X_target.given[1] if is_read else X_target)
    wanted = [as_metric(one, model, labels) for one in several(metrics)]
    asked = methods_asked(wanted, model, classifier)
    if cv is None:
        _warn_if_fitted_to(model, X)
        answers = Answers.of(model, [X], classifier, asked)
    else:
        answers = out_of_fold_answers(
            model, X, labels, counts, cv, groups,
            classifier=classifier, seed=seed, methods=asked,
        )  # fmt: skip
    answers_target = Answers.of(model, list(pieces.values()), classifier, asked)
    labelled = labelled_rows(model, X, X_lab, y_lab, classifier, asked)
    if is_read:
        samples: SamplesAsRead = X_target
    else:
        samples = SamplesAsRead.read(X, tuple(pieces.values()))
    if not np.array_equal(samples.source_weight, counts):
        samples = replace(samples, source_weight=counts)
    numbers, lab, names = as_numbers(samples, X_lab, counts)
    rows = Rows(
        answers,
        labels,
        counts,
        answers_target,
        labelled,
        numbers.source,
        numbers.target,
        lab,
        group_numbers(groups, n),
        names,
    )
    some, aims = (some_rows(len(z.rows), seed) for z in (answers, answers_target))
    looked_at = weighed_rows(numbers, some, aims)
    # What is covered is a matter of the two tables alone, and one number.
    seen = overlap_between(samples, seed)
    try:
        if seen.verdict == NO_OVERLAP:
            raise NoOverlapError(seen.thin, "thin", seen.auc)
        if isinstance(weighter, str) and weighter == "model":
            ratio = ratio_of_model(model, X, refitted=cv is not None)
        else:
            ratio = ratio_at_rows(model, numbers, looked_at, some, weighter, seed)
    except NoOverlapError as error:
        found = _without_overlap(rows, wanted, error, level, seed)
    else:
        moved = moved_columns(samples, counts, some, aims)
        found = _with_overlap(
            rows, wanted, seen, some, aims, ratio, moved, level, precision, seed
        )
    return replace(found, sets=target_sets(model, some_of(pieces, aims), labels))


def _warn_if_fitted_to(model: Any, X: Any) -> None:
    """Warn where an `Adapted` is judged by the rows of its own fit."""
    if ends_in_adapted(model):
        inner, X = adapted_within(model, X)
        fitted = getattr(inner, "_row_marks_", None)
        if fitted is not None:
            warn_if_fitted_to(row_marks(encoded(inner.encoder_, X)), fitted)


def _with_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    seen: Overlap,
    some: Indices,
    aims: Indices,
    ratio: Array,
    moved: Sequence[MovedColumn],
    level: float,
    precision: float,
    seed: int,
) -> Performance:
    n, m = ratio.size, len(rows.answers_target.rows)
    inside = seen.rows[seen.scores <= seen.threshold]
    # A hole's rim belongs to neither part: what is missed of it would be judged.
    left = ~(seen.is_thin | seen.near_hole)
    aims_inside = seen.rows_target[left]
    whole, covered, slices, labels = {}, {}, None, None
    changes = label_changes(rows, ratio, some, seed)
    for metric in metrics:
        judge = Judge(rows, metric, ratio, level, seed, changes)
        model = judge.loss_model(some)
        found = judge.performance(model, np.arange(n), np.arange(m))
        baseline = baseline_of(judge, some, found)
        whole[metric.name] = replace(found, baseline=baseline)
        if metric is metrics[0]:
            labels = labels_wanted(judge, model, found, precision)
        if inside.size and aims_inside.size:
            covered[metric.name] = judge.performance(
                model, inside, aims_inside, with_labelled=False, of_these_rows=True
            )
        of_rows = metric.by_row is not None
        if metric is metrics[0] and model is not None and of_rows and moved:
            evidence = judge.evidence(model).take(some, aims)
            slices = loss_by_slice(metric, evidence, moved, level)
    effective = effective_sample_size(rows.counts * ratio)
    return Performance(
        metrics=whole,
        # Of no rows nothing is estimated.
        covered=None
        if not covered
        else CoveredPart(
            share=1.0 - seen.thin if not seen.holes.balls else float(left.mean()),
            # Of the rows that were drawn to be scored; they stand for all.
            effective_rows=effective_sample_size((rows.counts * ratio)[inside])
            * (n / seen.rows.size),
            metrics=covered,
        ),
        level=level,
        thin=seen.thin,
        verdict=seen.verdict,
        n_source=n,
        n_target=m,
        effective_rows=effective,
        statement=_statement(n, m, effective, seen.thin),
        calibration=reliability_of(rows.answers, rows.labels, rows.counts * ratio),
        slices=slices,
        labels=labels,
    )


def _without_overlap(
    rows: Rows,
    metrics: Sequence[Metric],
    error: NoOverlapError,
    level: float,
    seed: int,
) -> Performance:
    n, m = len(rows.answers.rows), len(rows.answers_target.rows)
    reason = "the source does not cover the target"
    reasons = dict.fromkeys(
        ("weighted", "direct", "doubly_robust", "confidence"), reason
    )
    found = {}
    for metric in metrics:
        labelled = None
        if rows.labelled is not None:
            labelled = as_they_are(
                metric, "labelled", *rows.labelled, None, level, seed
            )
        source = as_they_are(
            metric,
            "source",
            rows.answers,
            rows.labels,
            rows.counts,
            level,
            seed,
            rows.groups,
        )
        found[metric.name] = MetricPerformance(
            metric.name,
            metric.higher_is_better,
            source,
            labelled=labelled,
            reasons=reasons,
        )
    return Performance(
        metrics=found,
        covered=None,
        level=level,
        thin=error.share,
        verdict=NO_OVERLAP,
        n_source=n,
        n_target=m,
        effective_rows=None,
        statement=(
            f"{error.share:.1%} of the target rows lie where the source has next to no "
            "rows: how good the model is there cannot be told without labels. The "
            "source's own figure does not speak for the target"
        ),
    )


def _statement(n: int, m: int, effective: float, thin: float) -> str:
    told = (
        f"{n} labelled source rows, worth {effective:.0f} where the {m} target rows are"
    )
    if effective < _FEW_EFFECTIVE:
        told += ": few, so that the intervals are wide"
    told += f"; {thin:.1%} of the target is thinly covered by the source"
    if thin > THIN_ABOVE:
        told += ": the estimates for the whole target extrapolate there"
    return told
