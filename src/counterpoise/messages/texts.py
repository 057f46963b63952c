"""The catalogue: the text of every finding, and the nouns of every surface."""

from collections.abc import Mapping

# The words for the two samples. The API speaks of source and target, a person's screen
# of training and new data, and a monitor of the fit and today.
_PYTHON = {
    "the_source": "the source",
    "the_target": "the target",
    "The_source": "The source",
    "The_target": "The target",
    "source_rows": "source rows",
    "target_rows": "target rows",
    "of_target_rows": "of the target rows",
    "of_target": "of the target",
    "has": "has",
    "is": "is",
    "says": "says",
    "seems": "seems",
    "same_law": "p(y | x) is the same in both samples",
    "change_of_law": "change of p(y | x)",
    "changed_law": "p(y | x) has changed",
    "groups_option": "groups= or time=; --groups or --time",
}
_SCREEN = {
    "the_source": "the training data",
    "the_target": "the new data",
    "The_source": "The training data",
    "The_target": "The new data",
    "source_rows": "training rows",
    "target_rows": "new rows",
    "of_target_rows": "of the new rows",
    "of_target": "of the new data",
    "has": "have",
    "is": "are",
    "says": "say",
    "seems": "seem",
    "same_law": "rows alike still have the same labels",
    "change_of_law": "change in the labels of rows alike",
    "changed_law": "rows alike have other labels now",
    "groups_option": "--groups or --time",
}
_MONITOR = {
    **_PYTHON,
    "the_source": "the rows of the fit",
    "the_target": "today's rows",
    "The_source": "The rows of the fit",
    "The_target": "Today's rows",
    "source_rows": "rows of the fit",
    "target_rows": "today's rows",
    "of_target_rows": "of today's rows",
    "of_target": "of today's rows",
    "has": "have",
    "is": "are",
    "says": "say",
    "seems": "seem",
}
NOUNS: Mapping[str, Mapping[str, str]] = {
    "python": _PYTHON,
    "terminal": _SCREEN,
    "page": _SCREEN,
    "monitor": _MONITOR,
}

_NOT_FOR_A_MONITOR = ""
_UNIT = "{the_source}'s values: another unit?"
_BY_CHANCE = "the labeled {target_rows} are drawn from {the_target} by chance"

TEXTS: Mapping[str, str | Mapping[str, str]] = {
    # -- diagnosis: the verdict and the next step ------------------------------------
    "no_shift": {
        "python": "No shift was found: the target rows look like the source rows.",
        "monitor": "Compared with the new data of the fit: no change was found.",
    },
    "small_shift": {
        "python": "There is a small shift: the target rows differ a little from the "
        "source rows, and they lie where the source has rows.",
        "monitor": "Compared with the new data of the fit: there is a small change, "
        "and today's rows lie where the fit had some.",
    },
    "full_overlap": {
        "python": "There is a shift: the target rows differ from the source rows, but "
        "they lie where the source has rows, so that the source can speak for them.",
        "monitor": "Compared with the new data of the fit: today's rows have changed, "
        "but they lie where the fit had some.",
    },
    "partial_overlap": {
        "python": "There is a shift, and a part of the target, {uncovered:percent}, "
        "lies where the source has next to no rows: about that part the source cannot "
        "say much.",
        "monitor": "Compared with the new data of the fit: today's rows have changed, "
        "and a part of them, {uncovered:percent}, lies where the fit had next to none.",
    },
    "no_overlap": {
        "python": "The two samples hardly overlap: {uncovered:percent} of the target "
        "lies where the source has next to no rows.",
        "monitor": "Compared with the new data of the fit: these are other rows: "
        "{uncovered:percent} of them lie where the fit had next to none.",
    },
    "too_few_rows": {
        "python": "There are too few rows: with fewer than {fewest} rows of worth "
        "in a sample chance alone could make these numbers with or without a shift.",
        "monitor": "Compared with the new data of the fit: there are too few rows.",
    },
    "next_no_shift": {
        "python": "Next: nothing needs to be done. Train as usual, and expect the "
        "score of held-out source rows.",
        "monitor": "Next: nothing needs to be done. What was estimated at the fit is "
        "still the best guess.",
    },
    "next_small_shift": {
        "python": "Next: little is to be gained. Letting rows that look like the "
        "target count more in the fit is safe where it is tried against leaving them "
        "alone, as `Adapted` does; estimate the score on the target rather than trust "
        "that of the source.",
        "monitor": "Next: go on, and look again soon. What was estimated at the fit "
        "may be a little off.",
    },
    "next_full_overlap": {
        "python": "Next: let rows that look like the target count more in the fit, if "
        "that helps your model (`Adapted` tries it and says so; simple models gain "
        "most), and estimate its score on the target: that of held-out source rows "
        "may mislead.",
        "monitor": "Next: estimate the score on today's rows; what was estimated at "
        "the fit is not about them. Fit again with them as the target if it has "
        "become worse.",
    },
    "next_partial_overlap": {
        "python": "Next: adapt and estimate for the covered part only. Of the thinly "
        "covered rows label some, or collect source rows like them, and do not trust "
        "predictions there before.",
        "monitor": "Next: do not trust predictions in the part that is new before "
        "some of its rows have labels; fit again with today's rows as the target, and "
        "see what the training data cover.",
    },
    "next_no_overlap": {
        "python": "Next: do not rely on a model of this source there. No weights make "
        "the source stand for such a target: label target rows, or collect source "
        "rows like them.",
        "monitor": "Next: do not rely on this model there. Fit again with today's "
        "rows as the target: whether the training data cover them is told then.",
    },
    "next_too_few_rows": {
        "python": "Next: come back with more rows: {enough} of each sample "
        "tell a thinly covered share of 5 % from chance.",
        "monitor": "Next: come back with more rows, 100 if you can.",
    },
    "labels_needed": {
        "python": "No look at the columns can tell whether the label depends on them "
        "in the target as it does in the source: a few labeled target rows can.",
        "monitor": _NOT_FOR_A_MONITOR,
    },
    # -- diagnosis: what was found beside the verdict --------------------------------
    "domain_classifier": {
        "python": "Asked which of two rows is the target's, a model is right "
        "{times:.0f} times in 100; guessing is right 50 times.",
        "monitor": "Asked which of two rows is today's, a model is right {times:.0f} "
        "times in 100; guessing is right 50 times.",
    },
    "other_tests": "That may be chance, but by another test the samples differ by "
    "more: {tests:join, }.",
    "other_test": "{test}",
    "other_test_of_columns": "{test} ({columns:pair})",
    "largest_changes": "What differs most by itself: {columns:join, }.",
    "changed_mean": "{name:name} ({smd:+.2g} standard deviations)",
    "changed_category": "{name:name} ({smd:+.2g} standard deviations for "
    "{category:name})",
    "changed_missing": "{name:name} (missing values {missing:+.0%})",
    "changed_distribution": "{name:name} (effect {effect:.2g})",
    "negligible_change": "{name:name} differs by more than chance, but hardly (effect "
    "{effect:.2g}).",
    "joint_change": "No feature differs much by itself: it is how they go together.",
    "changed_where_uncovered": "No feature differs much but in the thinly covered "
    "rows: {names:names}.",
    "new_categories": {
        "python": "Target rows with categories that the source has not: "
        "{columns:join, }.",
        "monitor": "Of today's rows those with categories that the rows of the fit "
        "have not: {columns:join, }.",
    },
    "column_share": "{name:name} ({share:percent})",
    "changed_correlations": "What goes together otherwise: {pairs:join; }{more:more}.",
    "changed_correlation": "{columns:pair} (rank correlation {source:signed} in "
    "{the_source}, {target:signed} in {the_target})",
    "rounding": "{The_source} and {the_target} record {columns:names} to different "
    "digits. Classifiers and neighborhoods look past that here, but a model that was "
    "trained on one may not: round both alike.",
    "spellings": "{The_target} {seems} to spell categories of {the_source} otherwise: "
    "{spellings:join, }{more:more}. To a model these are new categories: spell both "
    "alike.",
    "spelling": "{target:name} for {source:name} in {column:name} ({share:percent} "
    "{of_target_rows})",
    "removable": {
        "python": "Reweighting can remove {removable:percent} of the discrepancy, the "
        "part of the shift that linear models see.",
        "monitor": _NOT_FOR_A_MONITOR,
    },
    "removable_in_part": {
        "python": "Reweighting can remove {removable:percent} of the discrepancy, the "
        "part of the shift that linear models see; the direction that cannot be "
        "matched is mostly {columns:names}, along which the {wider} varies more than "
        "the {narrower} however it is weighted.",
        "monitor": _NOT_FOR_A_MONITOR,
    },
    "detectable": "What could have been missed, as less than this is found less than "
    "four times in five: one column's mean moved by {mean:.2g} standard deviations, "
    "its spread by a factor of {scale:.3g}, a category of a tenth of the rows by a "
    "factor of {level:.2g}, {correlation}a hole in {the_source} that holds a share of "
    "{hole} {of_target}.",
    "detectable_correlation": "the correlation of two columns by {correlation:.2g}, ",
    "grouped_rows": "Rows belong to {n_source:,} source and {n_target:,} target "
    "groups: rows of a group are held out together, and intervals and p-values are of "
    "these. The smallest p-value that so many can reach is {smallest_p:.2g}.",
    "rows_in_time": "Rows belong to {n_source:,} source and {n_target:,} target "
    "blocks of time: neighbors in time are held out together, and intervals and "
    "p-values are of these. The smallest p-value that so many can reach is "
    "{smallest_p:.2g}.",
    "dependent_neighbors": "Rows look dependent: neighbors in {sample} are alike "
    "(rank correlation {correlation:.2f} of successive values of '{column}'). {say}",
    "source_sample": "{the_source}",
    "target_sample": "{the_target}",
    "dependent_groups": "Rows look dependent: values of '{column}' come several times "
    "in one sample and hardly in both, as names of groups do. {say}",
    "say_dependence": "If rows belong to groups or follow each other in time, say so "
    "({groups_option}): till then every row counts for itself, and differences "
    "between groups or times may pass for a shift.",
    # -- diagnosis: columns that make the samples disjoint ---------------------------
    "disjoint": "What makes the samples disjoint: {columns:join; }. Without {these} "
    "{covered:.0%} {of_target} is covered: leave {them} out{option} if the model can "
    "do without, or see that both samples have {them} alike.",
    "disjoint_anyway": "What sets the samples apart: {columns:join; }. Even without "
    "{these} no more than {covered:.0%} {of_target} is covered.",
    "separating_column": "{name!r} ({difference})",
    "column_missing": "missing in {after:.1%} {of_target_rows}, in {the_source} in "
    "{before:.1%}",
    "column_categories": "categories in {new:.1%} {of_target_rows} that {the_source} "
    "{has} not",
    "column_spelling": "categories in {new:.1%} {of_target_rows} that {the_source} "
    "{has} not: spelled {target!r} for {source!r}?",
    "column_shares": "its categories have other shares",
    "column_values": "other values",
    "column_dates": "other dates",
    "column_larger": f"about {{times:.3g}} times {_UNIT}",
    "column_smaller": f"about 1/{{times:.3g}} of {_UNIT}",
    "column_range": "mostly from {low:.4g} to {high:.4g}, in {the_source} from "
    "{source_low:.4g} to {source_high:.4g}",
    "column_distribution": "",
    # -- performance ------------------------------------------------------------------
    "assumes_source": "{the_target} {is} distributed like {the_source}",
    "assumes_weighted": "{same_law}, and the weights are the ratio of the densities",
    "assumes_direct": {
        "python": "{same_law}, and the model of the loss is right where the target "
        "lies",
        "terminal": "{same_law}, and the model of the loss is right where the new "
        "data lie",
    },
    "assumes_doubly_robust": "{same_law}, and the weights or the model of the loss are "
    "right",
    "assumes_confidence": "{same_law}, and rows with equal probabilities of the model "
    "have labels alike",
    "assumes_labeled": _BY_CHANCE,
    "assumes_labeled_and_source": f"{_BY_CHANCE}, and, what they do not contradict, "
    "{same_law}",
    "label_check": "{n_labeled} labeled {target_rows} and what {the_source} {says} "
    "of them: {loss}of {n_directions} directions the labels differ most {strongest} "
    "({difference:+.3g}, standard error {error:.2g}), p {p_value:p} over all: "
    "{conclusion}",
    "label_check_loss": "the loss differs by {difference:+.3g} (standard error "
    "{error:.2g}); ",
    "labels_contradict": "{changed_law}, or {the_target} {is} not where {the_source} "
    "{is}: go by the labeled rows",
    "labels_agree": "no {change_of_law} is seen",
    "narrow_enough": "the interval is {width:.0%} as wide as the score: narrow enough",
    "required_labels": "about {n_labels} labeled {target_rows}, drawn by chance, "
    "would make the interval {precision:.0%} as wide as the score (now "
    "{width:.0%}){more}{of_all}",
    "more_than_available": ", more than the {n_target} that there are",
    "labels_not_enough": "no number of labels makes the interval {precision:.0%} as "
    "wide as the score: the {n_target} {target_rows} vary too much by "
    "themselves{of_all}",
    "width_of_all": "; labels of all of them would leave it {width_of_all:.0%} as wide",
    # -- monitor: what to do about an alert -------------------------------------------
    "stop_uncovered": "stop: {uncovered:.0%} of the rows lie where the reference has "
    "none; the model has not learned what they are",
    "label_uncovered": {
        "python": "label rows: {uncovered:.0%} of the rows lie where the reference has "
        "hardly any; select_rows_to_label says which to label before adapting again",
        "terminal": "label rows: {uncovered:.0%} of the rows lie where the reference "
        "has hardly any; counterpoise label says which to label before adapting again",
    },
    "adapt_inputs": "adapt again: the inputs have changed and the estimated risk has "
    "risen",
    "nothing_inputs": "nothing: the inputs have changed, and the estimated risk has "
    "not; look at the columns",
    "adapt_estimate": "adapt again: the estimate has risen with the inputs; labels of "
    "rows drawn by chance would tell whether it is right",
    "adapt_risk": "adapt again: the inputs have changed, and the risk has risen with "
    "them",
    "label_risk": "label rows: the risk has risen without a change of the inputs, so "
    "that p(y | x) has changed; weights do not mend that, a fit to newly labeled "
    "rows does",
    # -- adaptation and weights: warnings and refusals --------------------------------
    "far_target": {
        "python": "every column of X_target lies outside the range of X by more than "
        "{times:g} times the distance of its quartiles: was X transformed and "
        "X_target not? A pipeline hands its last step the target untransformed; put "
        "the pipeline inside, Adapted(make_pipeline(...)), or set "
        'transform_input=["X_target"]',
        "terminal": "every column of the target lies outside the range of the source "
        "by more than {times:g} times the distance of its quartiles: is one of the "
        "files in other units, or transformed already?",
    },
    "time_order": {
        "python": "neighboring rows of X are near-duplicates, as in a time series: "
        'folds drawn by chance flatter every model. cv="blocks" holds out runs of '
        "neighboring rows",
        "terminal": "neighboring training rows are near-duplicates, as in a time "
        "series: folds drawn by chance flatter every model. --time COLUMN holds out "
        "runs of neighboring rows",
    },
    "not_converged": {
        "python": "{estimator}: {solution}; raise max_iter or max_time, or accept a "
        "larger tol",
        "terminal": "{estimator}: {solution}; another --weight-estimator may do better",
    },
    "uneven_scales": {
        "python": "the scales of the columns go from {smallest:.3g} to {largest:.3g} "
        "and standardize is False: the column with the largest numbers decides",
        "terminal": "the scales of the columns go from {smallest:.3g} to "
        "{largest:.3g}: the column with the largest numbers decides",
    },
    "heavy_row": {
        "python": "row {row} of X_target has {share:.0%} of the target's squared norm: "
        "the weights chase its direction alone; look at that row, or scale or clip "
        "its columns",
        "terminal": "row {row} of the new data has {share:.0%} of their squared norm: "
        "the weights chase its direction alone; look at that row, or scale or clip "
        "its columns",
    },
    "flat_in_source": "hardly varies in {the_source} but does in {the_target}: "
    "{columns:join, }",
    "weights_refused": "{share:.1%} {of_target_rows} {how}{auc}: no weights make "
    "{the_source} stand for them. {columns}--allow-no-overlap goes on all the same.",
    "beyond_source_scores": "lie where only the outermost {source_rows} are",
    "beyond_kernel": "have no {source_rows} within reach of the kernel",
    "auc_of_samples": " (AUC of {the_source} against {the_target} {auc:.3f})",
}
