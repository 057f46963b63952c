"""A record in words for a person: verdict first, then numbers, then the rest."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from counterpoise.cli.terminal import Block, cells
from counterpoise.evaluation.performance import ESTIMATES
from counterpoise.report.answers import is_contradicted
from counterpoise.report.metric_names import metric_in_words
from counterpoise.report.record import Record
from counterpoise.report.verdict import verdict_of
from counterpoise.report.wording import chance, for_a_person, share, told
from counterpoise.samples.overlap_verdict import THIN_IN_PART

# Features that are listed, those that moved most.
_COLUMNS_LISTED = 5
# Shares that differ by less are one number.
_ROUNDING = 1e-9


def of_record(record: Record) -> Iterator[Block]:
    """Return the verdict, the numbers, what moved, what was chosen, what to do next."""
    verdict = verdict_of(record)
    lead = (told(verdict.lead),) if verdict.lead else ()
    answers = tuple(
        f"{one.question} {one.short}. {told(one.told)} {told(one.sure)}".rstrip()
        for one in verdict.answers
    )
    word = record.at("shift.verdict")
    yield Block(f"Verdict: {word}" if word else "Verdict", (verdict.title, *lead))
    if answers:
        yield Block("Why", answers)
    numbers = tuple(
        (one.label, "" if one.value is None else str(one.value), told(one.beside))
        for one in verdict.numbers
    )
    if numbers:
        yield Block("In numbers", rows=numbers)
    yield from _performance(record)
    yield from _moved(record)
    yield from _chosen(record)
    steps = tuple(told(step) for step in verdict.steps)
    if steps:
        yield Block("What to do next", steps)


def of_end(reasons: Collection[str], files: Collection[Path] = ()) -> Iterator[Block]:
    """Return why the exit code is not zero, and which files were written."""
    if reasons:
        yield Block("Not fine", tuple(reasons))
    if files:
        yield Block("Written", tuple(str(path) for path in files))


def _performance(record: Record) -> Iterator[Block]:
    """Return the estimates of the score on the new data side by side."""
    performance = record.at("performance")
    if performance is None:
        return
    contradicted = is_contradicted(record)
    yield from _estimates(performance["metrics"], "the new data", contradicted)
    covered = performance["covered"]
    thin = record.at("shift.verdict") == THIN_IN_PART and not contradicted
    if covered is not None and thin:
        part = f"the covered {share(covered['share'])} of the new data"
        if abs(covered["share"] - record.at("shift.covered", 0.0)) > _ROUNDING:
            # The rims of holes are left out as well.
            part = f"the {share(covered['share'])} of the new data away from all holes"
        yield from _estimates(covered["metrics"], part)


def _estimates(
    metrics: dict[str, Any], where: str, contradicted: bool = False
) -> Iterator[Block]:
    """Return a table a metric, of estimates that labelled rows do not contradict."""
    for name, one in metrics.items():
        rows = tuple(
            (
                "training data" if kind == "source" else kind.replace("_", " "),
                *(_number(one[kind][key]) for key in ("value", "low", "high")),
                for_a_person(one[kind]["assumption"]),
            )
            for kind in ESTIMATES
            if one[kind] is not None
            and not (contradicted and kind not in ("source", "labelled"))
        )
        guess = one.get("baseline")
        if guess is not None:
            said = f"every row gets the {guess['prediction']}; the model is "
            said += guess["verdict"]
            rows += (("guessing", _number(guess["value"]), "", "", said),)
        better = "higher" if one["higher_is_better"] else "lower"
        check = () if one["check"] is None else (for_a_person(one["check"]["words"]),)
        title = f"{metric_in_words(name).name} on {where} ({better} is better)"
        header = ("estimate", "value", "low", "high", "right if")
        yield Block(f"{title[0].upper()}{title[1:]}", check, header, rows)


def _moved(record: Record) -> Iterator[Block]:
    features = record.at("shift.features", [])
    order = sorted(features, key=lambda one: -(one["effect"] or 0.0))[:_COLUMNS_LISTED]
    rows = tuple(
        cells(
            one["name"],
            one["effect"],
            one["smd"],
            one["ks"] if one["ks"] is not None else one["total_variation"],
            100 * (one["target_missing"] - one["source_missing"]) or None,
            100 * one["new_share"] or None,
            _chance(one["adjusted_p_value"]),
        )
        for one in order
    )
    header = (
        "column",
        "effect (SD)",
        "mean (SD)",
        "distance",
        "missing (points)",
        "new (%)",
        "p",
    )
    if rows:
        yield Block("Moved most (SD: standard deviations)", (), header, rows)


def _chance(p: float | None) -> str | None:
    return None if p is None else str(chance(p))


def _chosen(record: Record) -> Iterator[Block]:
    lines = []
    weights, model, guard = (record.at(key) for key in ("weights", "model", "guard"))
    if weights is not None and weights["weighter"] is not None:
        why = ""
        if len(weights["candidates"]) == 1:
            why = ", for there are too few rows to choose by cross-validation"
        elif weights["candidates"]:
            why = (
                ", the simplest that is as good as the best of "
                f"{len(weights['candidates'])} by held-out score"
            )
        lines.append(f"weights: {weights['chosen']}{why}")
        if weights["certificate"] is not None:
            lines.append(_proof(weights))
    if guard is not None:
        lines.append(f"how much of them: {guard['reason']}")
    if model is not None:
        used = "fitted to rows without weights"
        if model["adapted"] and model.get("mixing", 1.0) < 1.0:
            used = f"fitted to {model['mixing']:.3g} of the weights, beside equal ones"
        elif model["adapted"]:
            used = f"fitted to weights to the power {model['exponent']:g}"
        lines.append(f"model: {model['type']}, {used}")
    if lines:
        yield Block("Chosen", tuple(lines))


def _proof(weights: dict[str, Any]) -> str:
    proof = weights["certificate"]
    if proof["kind"] != "none":
        holds = "holds" if proof["holds"] else "DOES NOT HOLD"
        return f"proof {holds}: {proof['words']}"
    if weights["chosen"] == "UniformWeights":
        return "nothing is proved: all weights are one, nothing was minimised"
    return (
        "nothing is proved for this method; held-out log-loss of training against "
        f"new rows {_number(proof['objective'])}"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
