"""Drawings of the report: pictures with explanation, caption and data."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from counterpoise.figures.canvas import SMALL_WIDTH, short_names, svg
from counterpoise.figures.draw import (
    BALANCE_DRAWN,
    ESTIMATE_NAMES,
    chunk_rows,
    draw_adapted,
    draw_balance,
    draw_calibration,
    draw_candidates,
    draw_class_shares,
    draw_clipping,
    draw_column,
    draw_coverage,
    draw_drift,
    draw_estimates,
    draw_gap,
    draw_guard,
    draw_histogram,
    draw_lorenz,
    draw_metric,
    draw_objective,
    draw_overlap,
    draw_roc,
    draw_slices,
    draw_spectrum,
    draw_widths,
    known_estimates,
    largest_classes,
)
from counterpoise.figures.methods import draw_curve, loss_name
from counterpoise.messages import message
from counterpoise.messages.numbers import metric_name
from counterpoise.performance.result import leading_of
from counterpoise.report.formatting import (
    Cell,
    Drawing,
    Name,
    Sentence,
    ShownNumber,
    Table,
    columns,
    count,
    figures,
    four_figures,
    joined,
    optional,
    part_cell,
    part_name,
    sentence,
    share,
    thinned,
)
from counterpoise.report.key_questions import (
    beside_the_score,
    is_contradicted,
    is_withdrawn,
    source_rows,
)
from counterpoise.report.report import Report
from counterpoise.shift.diagnosis_text import NEARLY_ALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Section = Mapping[str, Any]


def _picture(
    draw: Callable[["Axes", Any], object], section: object, name: str, **size: float
) -> str:
    """Return the drawing of a section as SVG."""
    return svg(lambda ax: draw(ax, section), name, **size)


# -----------------------------------------------------------------------------
# The shift.
# -----------------------------------------------------------------------------


# A share of the largest difference that is hardly worth weights.
HARDLY_ANY = 0.05
# Of a difference less than this share of it is next to nothing.
NEXT_TO_NOTHING = 1e-3


def roc_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the domain classifier."""
    overlap = record.at("overlap")
    if overlap is None or not overlap.get("roc"):
        return None
    rows = columns((share, overlap["roc"]["source"]), (share, overlap["roc"]["target"]))
    return Drawing(
        "roc",
        "Can a model tell new rows from training rows?",
        "A classifier was asked to sort rows it had not seen into “training” and "
        "“new”. The further its curve rises above the dashed line, the more the "
        "two differ.",
        sentence(
            "Area under the curve (AUC) {overlap.auc}, between {overlap.auc_low} and "
            "{overlap.auc_high} with 95 % confidence; 0.5 is guessing, 1 is perfect.",
            record,
        ),
        [_picture(draw_roc, overlap, "roc")],
        Table(("training rows mistaken", "new rows recognized"), thinned(rows)),
    )


def from_the_top(spectrum: Section, key: str) -> list[float]:
    """Return the eigenvalues from the largest to the smallest, signs and all."""
    return sorted(spectrum.get(key) or [], reverse=True)


def spectrum_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the discrepancy's eigenvalues."""
    spectrum = record.at("shift.spectrum")
    if not spectrum or not spectrum.get("before"):
        return None
    before, after = (from_the_top(spectrum, key) for key in ("before", "after"))
    rows: list[tuple[Cell, ...]] = [
        (
            str(k + 1),
            figures(before[k]) if k < len(before) else None,
            figures(after[k]) if k < len(after) else None,
        )
        for k in range(max(len(before), len(after)))
    ]
    return Drawing(
        "spectrum",
        "In which directions do the data spread differently?",
        "Each point is a combination of columns; its height says how much more the "
        "new data spread along it than the training data, below zero how much "
        "less. All points at zero: no difference that a linear model could notice.",
        joined(spectrum_sentences(record)),
        [svg(lambda ax: draw_spectrum(ax, before, after), "spectrum")],
        Table(("direction", "before weighting", "after weighting"), thinned(rows)),
    )


def spectrum_sentences(record: Report) -> list[Sentence]:
    """Return what the eigenvalues say."""
    spectrum = record["shift"]["spectrum"]
    largest = _largest_difference(spectrum, "discrepancy", "before")
    if not spectrum.get("after"):
        return [sentence("The largest difference is {largest}.", largest=largest)]
    left = _largest_difference(spectrum, "least", "after")
    ends = "{left} after weighting"
    if abs(left.value) < NEXT_TO_NOTHING * abs(largest.value):
        ends = "next to nothing after weighting"
    template = f"The largest difference is {{largest}}, and {ends}."
    sentences = [sentence(template, largest=largest, left=left)]
    removable = spectrum.get("removable")
    if removable is None:
        return sentences
    whose = "Weighting" if spectrum.get("weight_estimator") else "The best weighting"
    template = f"{whose} removes {{shift.spectrum.removable:share}} of it."
    sentences.append(sentence(template, record))
    if removable < HARDLY_ANY:
        sentences.append(
            sentence(
                "So these weights do next to nothing about what a linear model could "
                "notice; whether they help your model is asked of its own loss."
            )
        )
    direction = spectrum.get("direction") or []
    if direction and removable < NEARLY_ALL:
        wider = "new" if spectrum.get("target_varies_more") else "training"
        sentences.append(
            sentence(
                "What is left lies mostly along {column} "
                "({shift.spectrum.direction.0.share:share} of that direction), where "
                "the {wider} data spread more.",
                record,
                column=Name(str(direction[0]["name"])),
                wider=wider,
            )
        )
    return sentences


def _largest_difference(spectrum: Section, key: str, values: str) -> ShownNumber:
    """Return a discrepancy, or the eigenvalue behind it."""
    if spectrum.get(key) is not None:
        return figures(spectrum[key], f"shift.spectrum.{key}")
    return figures(spectrum[values][0], f"shift.spectrum.{values}.0")


def overlap_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the densities of the domain scores."""
    section = record.at("overlap")
    if section is None or not section.get("densities"):
        return None
    densities = section["densities"]
    weighted = densities.get("weighted") or [None] * len(densities["source"])
    rows = columns(
        (figures, densities["edges"][:-1]),
        (figures, densities["edges"][1:]),
        (share, densities["source"]),
        (share, weighted),
        (share, densities["target"]),
    )
    header = ("score from", "to", "training", "training, weighted", "new")
    return Drawing(
        "overlap",
        "Do the new data lie where you have training data?",
        "Where the curves of training and new rows lie over each other, the "
        "training data can speak for the new. Right of the dotted line live only "
        "the outermost 0.5 % of the training rows.",
        sentence(
            "{overlap.uncovered_fraction:share} of the new rows lie right of the "
            "dotted line, at a score of {overlap.threshold}: thinly covered.",
            record,
        ),
        [_picture(draw_overlap, section, "overlap")],
        Table(header, thinned(rows)),
    )


def classes_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the classes of the new data."""
    section = record.at("classes")
    if section is None:
        return None
    order = largest_classes(section)
    rows = [
        (
            Name(section["names"][k]),
            share(section["prior"][k]),
            figures(section["weight"][k]),
            "absent" if section["absent"][k] else "",
        )
        for k in order
    ]
    height = 1.0 + 0.2 * len(order)
    return Drawing(
        "classes",
        "Which classes do the new data have?",
        "A bar is the share of the new data that a class is estimated to have. "
        "Training rows of classes judged absent are left out; a class of one or "
        "two new rows will be among them.",
        sentence(
            "{classes.n_absent:count} of {n} classes are judged absent.",
            record,
            n=count(len(section["names"])),
        ),
        [_picture(draw_class_shares, section, "classes", height=height)],
        Table(("class", "share", "weight", "judged"), rows),
    )


# -----------------------------------------------------------------------------
# The weights.
# -----------------------------------------------------------------------------


# Columns in the table of the love plot, those that differed most.
BALANCE_LISTED = 50


def weights_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the weights themselves."""
    section = record.at("weights")
    if section is None or not section.get("histogram") or not section.get("lorenz"):
        return None
    if section.get("weight_estimator") is None:
        return None
    edges = section["histogram"]["edges"]
    rows = columns(
        (figures, edges[:-1]),
        (figures, edges[1:]),
        (count, section["histogram"]["rows"]),
    )
    return Drawing(
        "weights",
        "How much does each training row count?",
        "A weight above 1 lets a row count more because rows like it are more "
        "common in the new data, one below 1 less. First: how many rows have which "
        "weight. Then: how evenly the weight is spread; the deeper the curve "
        "hangs, the fewer rows carry it.",
        sentence(
            "Weights from {weights.smallest} to {weights.largest}. The heaviest 1 % of "
            "the rows carry {weights.share_of_top_percent:share} of all weight; "
            "together the rows are worth {weights.effective_size:count} of "
            "{weights.rows:count} equal ones.",
            record,
        ),
        [
            _picture(draw_histogram, section, "weights"),
            _picture(draw_lorenz, section, "lorenz"),
        ],
        Table(("weight from", "to", "training rows"), thinned(rows)),
    )


def balance_drawing(record: Report) -> Drawing | None:
    """Return the love plot."""
    section = record.at("balance")
    if section is None or not section.get("features"):
        return None
    listed, total = section["features"][:BALANCE_LISTED], section["columns"]
    note = f"The {BALANCE_LISTED} of {total:,} that differed most."
    some = f" The picture has the {BALANCE_DRAWN} columns that differed most."
    rows = [
        (Name(one["name"]), figures(one["before"]), figures(one["after"]))
        for one in listed
    ]
    height = 1.1 + 0.24 * max(min(BALANCE_DRAWN, len(listed)), 4)
    return Drawing(
        "balance",
        "Do weighted training rows look like the new data?",
        "For every column: how far the training mean is from the mean of the new "
        "data, as the rows are (circle) and weighted (square). Squares left of the "
        f"dashed line at 0.1 are close enough.{some * (total > BALANCE_DRAWN)}",
        sentence(
            "Of {balance.columns:count} columns, {balance.above_before:count} were "
            "further apart than {balance.guide:brief} as they are, and "
            "{balance.above_after:count} are after weighting; the largest difference "
            "goes from {balance.largest_before} to {balance.largest_after}.",
            record,
        ),
        [_picture(draw_balance, section, "balance", height=height)],
        Table(
            ("column", "as they are", "weighted"),
            rows,
            note if total > BALANCE_LISTED else "",
        ),
    )


def clipping_drawing(record: Report) -> Drawing | None:
    """Return the drawing of what smaller weights would be worth."""
    section = record.at("weights")
    if section is None or not section.get("clipping"):
        return None
    clipping = section["clipping"]
    rows = columns(
        (figures, [one["bound"] for one in clipping]),
        (share, [one["effective_share"] for one in clipping]),
        (share, [one["moved"] for one in clipping]),
    )
    last, middle = (
        f"weights.clipping.{k}" for k in (len(clipping) - 1, len(clipping) // 2)
    )
    return Drawing(
        "clipping",
        "What if no weight could be large?",
        "Cutting the largest weights keeps more rows in play (blue, steadier) but "
        "moves the picture away from the new data (orange, less faithful).",
        sentence(
            f"Uncut, up to a weight of {{{last}.bound}}, the rows are worth "
            f"{{{last}.effective_share:share}} of their number; cut at "
            f"{{{middle}.bound}} they would be worth "
            f"{{{middle}.effective_share:share}}, but {{{middle}.moved:share}} of the "
            "weight would sit elsewhere.",
            record,
        ),
        [_picture(draw_clipping, section, "clipping")],
        Table(("largest weight allowed", "effective size", "weight taken away"), rows),
    )


def _part_names(parts: Sequence[Section], kind: str) -> list[str]:
    """Return a column's parts for a picture; names from data are cut, ranges not."""
    names = [part_name(part, kind) for part in parts]
    return [
        name if isinstance(name, str) else short_names([name.text])[0] for name in names
    ]


def worst_columns_drawing(record: Report) -> Drawing | None:
    """Return the distributions of the columns that differ most."""
    worst = record.at("balance.worst")
    if not worst:
        return None
    pictures = []
    for k, one in enumerate(worst):
        names = _part_names(one["parts"], one["kind"])
        height = 1.3 + 0.25 * max(len(names), 3)
        draw = partial(draw_column, column=one, names=names)
        pictures.append(svg(draw, f"worst-{k}", width=SMALL_WIDTH, height=height))
    parts = [(one, part) for one in worst for part in one["parts"]]
    rows = [
        (
            Name(one["name"]),
            part_cell(part, one["kind"]),
            *(optional(part[key], share) for key in ("source", "weighted", "target")),
        )
        for one, part in parts
    ]
    caption = joined(
        [
            sentence(
                f"{{name}}: the means are {{balance.worst.{k}.before}} standard "
                f"deviations apart as they are, {{balance.worst.{k}.after}} weighted.",
                record,
                name=Name(one["name"]),
            )
            for k, one in enumerate(worst)
        ]
    )
    return Drawing(
        "worst",
        "The columns that differ most, before and after weighting",
        "Bars: how many of the new rows have such a value. Circles: how many of "
        "the training rows, as they are; squares: the same, weighted. Where "
        "weighting works the squares lie at the ends of the bars. What fewer than "
        "5 rows have is not named.",
        caption,
        pictures,
        Table(("column", "value", "as they are", "weighted", "new data"), rows),
    )


# -----------------------------------------------------------------------------
# What was tried, and what was proved.
# -----------------------------------------------------------------------------


_CANDIDATES = {
    "uniform": "equal weights",
    "log-ratio linear": "means",
    "log-ratio diag": "means and spreads",
    "log-ratio full": "products of columns",
    "log-ratio full, ridge 0.1": "products, shrunk",
    "two Gaussians": "two normal laws",
    "two Gaussians of ranks": "normal laws of ranks",
    "logistic": "linear classifier",
    "logistic on squares": "classifier of squares",
    "logistic on products, C = 0.01": "classifier of products",
    "logistic on products, C = 0.1": "the same, shrunk less",
    "boosted": "boosted trees",
}


def candidate_name(name: str) -> str:
    """Return what a candidate is called on the page.

    Examples
    --------
    >>> candidate_name("kernel 0.18 median"), candidate_name("boosted")
    ('kernels, width 0.18', 'boosted trees')
    """
    kernel = re.fullmatch(r"kernel (\S+) median", name)
    return f"kernels, width {kernel[1]}" if kernel else _CANDIDATES.get(name, name)


def drawn_candidates(candidates: Sequence[Section]) -> Sequence[Section]:
    """Return those with a bar, and the chosen one; equal weights are where bars begin.

    All where none has.
    """
    scored = [one for one in candidates if one["score"] is not None] or candidates
    # What rounding makes of the score of equal weights is nothing to see.
    drawn = [one for one in scored if one["chosen"] or abs(one["score"] or 0.0) > 1e-9]
    return drawn or scored


def draw_choice(ax: "Axes", candidates: Sequence[Section]) -> None:
    """Draw the candidates that were tried, by their names on the page."""
    drawn = drawn_candidates(candidates)
    draw_candidates(
        ax, drawn, short_names([candidate_name(c["candidate"]) for c in drawn])
    )


def validation_drawing(record: Report) -> Drawing | None:
    """Return the drawing of what was tried: how much of which weights."""
    parts = [
        part
        for part in (
            _guard_part(record),
            _candidates_part(record) or _widths_part(record),
        )
        if part is not None
    ]
    if not parts:
        return None
    return Drawing(
        "validation",
        "What was tried, and what was chosen?",
        "Weights are used only as far as they help. Everything is judged on rows "
        "held out from the fit; the diamond marks what was taken, the bars what "
        "chance may do.",
        joined([caption for _, caption, _ in parts]),
        [picture for picture, _, _ in parts],
        Table(
            ("tried", "score or loss", "standard error"),
            [row for *_, rows in parts for row in rows],
        ),
    )


_TriedPart = tuple[str, Sentence, list[tuple[Cell, ...]]]


def _guard_part(record: Report) -> _TriedPart | None:
    guard = record.at("guard")
    if guard is None:
        return None
    is_mixing = guard.get("kind") == "mixing"
    if guard["chosen"] == 0:
        last = f"guard.values.{len(guard['values']) - 1}"
        caption = sentence(
            "The model uses no weights: it is estimated at {guard.values.0} without "
            f"them and at {{{last}}} with all of them.",
            record,
        )
    else:
        used = "the weights to the power {guard.chosen:brief}"
        if is_mixing:
            used = "{guard.chosen:brief} of the weights, beside equal ones"
        caption = sentence(
            f"The model uses {used}: {{guard.gain}} better than without weights, give "
            "or take {guard.gain_error}.",
            record,
        )
    amount = "share of the weights" if is_mixing else "weights to the power"
    rows: list[tuple[Cell, ...]] = [
        (f"{amount} {exponent:g}", figures(value), figures(error))
        for exponent, value, error in zip(
            guard["exponents"], guard["values"], guard["errors"], strict=True
        )
    ]
    return _picture(draw_guard, guard, "validation"), caption, rows


def _candidates_part(record: Report) -> _TriedPart | None:
    candidates = record.at("weights.candidates", [])
    if not candidates:
        return None
    chosen = next(one["candidate"] for one in candidates if one["chosen"])
    template = (
        "Of {n} ways to weigh, {chosen} was taken: the simplest whose held-out score "
        "is as good as the best."
        if len(candidates) > 1
        else "There were too few rows to choose weights by cross-validation: {chosen} "
        "was taken."
    )
    caption = sentence(
        template, n=str(len(candidates)), chosen=Name(candidate_name(chosen))
    )
    rows: list[tuple[Cell, ...]] = [
        (
            Name(candidate_name(one["candidate"])),
            optional(one["score"]) or "not tried",
            optional(one["standard_error"]),
        )
        for one in candidates
    ]
    height = 1.2 + 0.24 * len(drawn_candidates(candidates))
    return _picture(draw_choice, candidates, "selection", height=height), caption, rows


def _widths_part(record: Report) -> _TriedPart | None:
    widths = record.at("solver.widths", [])
    if not widths:
        return None
    chosen = next(k for k, one in enumerate(widths) if one["chosen"])
    caption = sentence(
        f"Of {{n}} widths of the kernel, {{solver.widths.{chosen}.width}} was taken.",
        record,
        n=str(len(widths)),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            f"kernel of width {one['width']:g}",
            optional(one["score"]),
            optional(one["standard_error"]),
        )
        for one in widths
    ]
    return _picture(draw_widths, widths, "selection"), caption, rows


def path_drawing(record: Report) -> Drawing | None:
    """Return the drawing of a path's curve, where the record has one."""
    curve = record.at("path.curve")
    if curve is None:
        return None
    longest = max(curve["optimal_intervals"], key=lambda one: one[1] - one[0])
    at = f"path.curve.optimal_intervals.{curve['optimal_intervals'].index(longest)}"
    rows = columns((figures, curve["thetas"]), (figures, curve["values"]))
    return Drawing(
        "path",
        "How does the error change along the path?",
        "Every model between two ends is known exactly. The line is its error on "
        "rows held out, and the shade is where that is smallest.",
        sentence(
            "Its least value is {path.curve.best}, on the longest stretch from "
            f"{{{at}.0}} to {{{at}.1}}.",
            record,
        ),
        [_picture(draw_curve, curve, "path")],
        Table(("from", loss_name(curve["loss"])), thinned(rows), "Some of the pieces."),
    )


def convergence_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the search for the weights."""
    section, proof = record.at("solver"), record.at("weights.certificate")
    history = None if section is None else section.get("history")
    if proof is None or not history or len(history["step"]) < 2:
        return None
    rows: list[tuple[Cell, ...]] = [
        (str(step + 1), *(optional(value, four_figures) for value in values))
        for step, *values in zip(
            history["step"], history["objective"], history["gap"], strict=True
        )
    ]
    gap, goal = proof.get("gap"), section["goal"]
    reached: str | ShownNumber = "not bounded"
    if gap is not None:
        reached = ShownNumber(gap, f"{gap:.2g}", "weights.certificate.gap")
    return Drawing(
        "convergence",
        "Were the best weights found?",
        "The weights are the answer to an optimization problem. After every step a "
        "proof says how far from the best possible answer they still can be "
        "(blue); the search ends below the dashed line.",
        sentence(
            "{weights.certificate.steps:count} steps; the weights are proved to be "
            "within {reached} of the optimum, where {goal} was asked for, and the "
            f"proof {'holds' if proof['holds'] else 'does NOT hold'}.",
            record,
            reached=reached,
            goal=ShownNumber(goal, f"{goal:.2g}", "solver.goal"),
        ),
        [
            _picture(draw_gap, section, "convergence"),
            _picture(draw_objective, section, "objective"),
        ],
        Table(("step", "objective", "certified gap"), thinned(rows)),
    )


# -----------------------------------------------------------------------------
# The model on the new data.
# -----------------------------------------------------------------------------


_WITHDRAWN = "withdrawn, for labeled new rows contradict it: right "


def performance_drawing(record: Report) -> Drawing | None:
    """Return the pictures of the estimates, and of the model with and without."""
    metrics, guard = record.at("performance.metrics"), record.at("guard")
    pictures: list[str] = []
    captions: list[Sentence] = []
    rows: list[tuple[Cell, ...]] = []
    if metrics:
        name, first = next(iter(metrics.items()))
        known = known_estimates(first)
        leading = leading_of({**first, **dict(known)})
        height = 1.0 + 0.42 * max(len(known), 2)
        draw = partial(draw_estimates, estimates=first, leading=leading)
        pictures.append(svg(draw, "estimates", height=height))
        captions.append(_estimates_caption(record, name))
        rows = [
            (
                f"{metric_name(metric).name}, {ESTIMATE_NAMES[kind]}",
                *(optional(one.get(key), four_figures) for key in _INTERVAL),
                f"{_WITHDRAWN if is_withdrawn(record, kind) else ''}"
                f"if {message(one.get('assumption', ''), 'page')}",
            )
            for metric, estimates in metrics.items()
            for kind, one in known_estimates(estimates)
        ]
    if guard is not None and guard["chosen"] > 0 and not is_contradicted(record):
        pictures.append(_picture(draw_adapted, guard, "adapted", height=1.9))
        k = guard["exponents"].index(guard["chosen"])
        captions.append(
            sentence(
                "In cross-validation, on rows weighted like the new data, the model "
                f"has {{guard.values.0}} without weights and {{guard.values.{k}}} "
                "adapted; the line beside the first is what chance may do to their "
                "difference.",
                record,
            )
        )
    if not pictures:
        return None
    return Drawing(
        "performance",
        "How good will the model be on the new data?",
        f"The score on {source_rows(record)} (circle) is what is usually "
        "reported. The others estimate the score on the new data without needing "
        "its labels, each in its own way and on its own assumption; the diamond is "
        "the one to go by. Lines are intervals.",
        joined(captions),
        pictures,
        Table(("estimate", *_INTERVAL, "what must be true"), rows),
    )


_INTERVAL = ("value", "low", "high")


def _estimates_caption(record: Report, metric: str) -> Sentence:
    headline, name = record.at("headline"), metric_name(metric).name
    if headline is None or headline.get("value") is None:
        template = "The {name} on the new data cannot be estimated."
        return sentence(template, name=name)
    between: Sentence = ()
    if headline.get("low") is not None:
        between = sentence(", between {headline.low} and {headline.high}", record)
    return sentence(
        f"{{name}}: {{headline.source}} on {source_rows(record)}, {{headline.value}} "
        "expected on the new data{between}{beside}.",
        record,
        name=name[:1].upper() + name[1:],
        between=between,
        beside=beside_the_score(record),
    )


def calibration_drawing(record: Report) -> Drawing | None:
    """Return the drawing of promised against observed probabilities."""
    section = record.at("performance.calibration")
    if section is None or not section.get("bins") or is_contradicted(record):
        return None
    keys = ("predicted", "observed", "low", "high")
    rows = columns(
        *((share, [one.get(key) for one in section["bins"]]) for key in keys)
    )
    return Drawing(
        "calibration",
        "Do the model's probabilities mean what they say?",
        "Of rows that the model gave 70 %, seven in ten should come true: points "
        "on the dashed line. The rows are weighted, so that this speaks for the "
        "new data.",
        sentence(
            "On the average the probabilities are off by "
            "{performance.calibration.error:share}.",
            record,
        ),
        [_picture(draw_calibration, section, "calibration")],
        Table(("promised", *keys[1:]), rows),
    )


_SLICE_HEADER = (
    "column",
    "value",
    "of the new data",
    "effective rows",
    "expected",
    "low",
    "high",
)


def slices_drawing(record: Report) -> Drawing | None:
    """Return the pictures of the loss by slices of the target."""
    section = record.at("performance.slices")
    if section is None or not section.get("columns") or is_contradicted(record):
        return None
    metric, listed = str(section["metric"]), section["columns"]
    metrics = record.at("performance.metrics", {})
    whole = (metrics.get(metric, {}).get("doubly_robust") or {}).get("value")
    known = [
        [part for part in one["parts"] if part.get("estimate") is not None]
        for one in listed
    ]
    pictures = []
    for k, one in enumerate(listed):
        if known[k] or not any(known):
            parts = known[k] or one["parts"]
            draw = partial(
                draw_slices,
                name=one["name"],
                parts=parts,
                names=_part_names(parts, one["kind"]),
                whole=whole,
                metric=metric,
            )
            height = 1.3 + 0.36 * max(len(parts), 2)
            pictures.append(svg(draw, f"slice-{k}", width=SMALL_WIDTH, height=height))
    rows: list[tuple[Cell, ...]] = [
        (
            Name(one["name"]),
            part_cell(part, one["kind"]),
            share(part["share"]),
            count(part["effective_rows"]),
            *(
                ("too few rows", None, None)
                if part.get("estimate") is None
                else (four_figures(part["estimate"][key]) for key in _INTERVAL)
            ),
        )
        for one in listed
        for part in one["parts"]
    ]
    return Drawing(
        "slices",
        "Where will the model do worse, where better?",
        sentence(
            "The new rows in parts, by the columns that moved most. Diamonds: the "
            "{metric} to expect on each part, with its interval; the dashed line: "
            "on all new rows. Orange: the interval does not reach the line. Parts "
            "where training rows are worth fewer than "
            "{performance.slices.fewest:brief} rows are left out.",
            record,
            metric=Name(metric_name(metric).name),
        ),
        _slices_caption(record, metric),
        pictures,
        Table(
            _SLICE_HEADER,
            rows,
            "Effective rows: as how many equally weighted training rows there are for "
            "this part. Intervals hold one by one: of many some miss.",
        ),
    )


def _slices_caption(record: Report, metric: str) -> Sentence:
    """Return the extreme parts in words."""
    listed = record["performance"]["slices"]["columns"]
    known = [
        (part["estimate"]["value"], k, j)
        for k, column in enumerate(listed)
        for j, part in enumerate(column["parts"])
        if part.get("estimate") is not None
    ]
    if not known:
        return sentence("Everywhere there are too few training rows to tell.")
    name = Name(metric_name(metric).name)
    highest, lowest = (
        _slice_where(record, listed[k], k, j) for _, k, j in (max(known), min(known))
    )
    if len(known) == 1:
        template = "The {name} is known on one part alone, {highest}."
        return sentence(template, name=name, highest=highest)
    return sentence(
        "The highest {name} is expected {highest}; the lowest {lowest}.",
        name=name,
        highest=highest,
        lowest=lowest,
    )


def _slice_where(record: Report, column: Section, k: int, j: int) -> Sentence:
    part = part_name(column["parts"][j], column["kind"])
    if part in ("no value", "all others"):
        part = f"({part})"
    value = f"performance.slices.columns.{k}.parts.{j}.estimate.value"
    template = f"where {{name}} is {{part}}: {{{value}}}"
    return sentence(template, record, name=Name(column["name"]), part=part)


# -----------------------------------------------------------------------------
# A monitored model over time.
# -----------------------------------------------------------------------------


_MOST_PICTURES = 3


def monitor_drawing(record: Report) -> Drawing | None:
    """Return the drawing of the metrics over the chunks."""
    section = record.at("monitor")
    if section is None or not section["history"]:
        return None
    names = section["metrics"][:_MOST_PICTURES]
    rows = chunk_rows(section)
    keys = ("estimated", "estimated_low", "estimated_high", "realized")
    table: list[tuple[Cell, ...]] = [
        (
            Name(str(row["time"])),
            *(optional(row.get(key)) for key in keys),
            count(row.get("n_labeled") or 0),
        )
        for row in rows
    ]
    caption = sentence("No chunk was large enough to be judged by itself.")
    judged = [row for row in rows if row.get("estimated") is not None]
    if judged:
        caption = sentence(
            "{name}, last estimated at {time}: {value}; on the reference it was "
            "{reference}.",
            name=metric_name(names[0]).name.capitalize(),
            time=Name(str(judged[-1]["time"])),
            value=figures(judged[-1]["estimated"]),
            reference=figures(section["reference"][names[0]]),
        )
    header = ("chunk", "estimated", "low", "high", "from labels", "labeled rows")
    return Drawing(
        "watch-performance",
        "How good is the model, chunk by chunk?",
        "A dot is the estimate without labels, the band its interval; a diamond is "
        "what labels said. Upright lines are alerts.",
        caption,
        [
            svg(partial(draw_metric, section=section, metric=name), f"watch-metric-{k}")
            for k, name in enumerate(names)
        ],
        Table(header, thinned(table)),
    )


def drift_drawing(record: Report) -> Drawing | None:
    """Return the drawing of how far the chunks are from the reference."""
    section = record.at("monitor")
    if section is None or not section["history"]:
        return None
    rows = chunk_rows(section)
    table: list[tuple[Cell, ...]] = [
        (
            Name(str(row["time"])),
            optional(row.get("auc")),
            optional(row.get("mmd")),
            Name(row["moved"]) if row.get("moved") else None,
        )
        for row in rows
    ]
    return Drawing(
        "watch-drift",
        "Do the rows come from elsewhere than the reference's?",
        "One half: a classifier cannot tell a chunk from the reference. One: it "
        "always can. One chunk above one half is no alert; an upright line is.",
        sentence("{n} chunks were looked at.", n=count(len(rows))),
        [_picture(draw_drift, section, "watch-drift")],
        Table(("chunk", "AUC", "MMD", "columns that moved"), thinned(table)),
    )


def coverage_drawing(record: Report) -> Drawing | None:
    """Return the drawing of what share of the chunks the reference covers."""
    section = record.at("monitor")
    every = [] if section is None else chunk_rows(section)
    rows = [row for row in every if row.get("covered") is not None]
    if not rows:
        return None
    least = min(rows, key=lambda row: row["covered"])
    table = [(Name(str(row["time"])), share(row["covered"])) for row in rows]
    return Drawing(
        "watch-coverage",
        "Does the reference speak for the rows?",
        "The share of each chunk that lies where the reference has rows: of the "
        "rest nothing is known without labels.",
        sentence(
            "Least at {time}: {covered}.",
            time=Name(str(least["time"])),
            covered=share(least["covered"]),
        ),
        [_picture(draw_coverage, section, "watch-coverage")],
        Table(("chunk", "covered"), thinned(table)),
    )
