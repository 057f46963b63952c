"""Answers for people: records, pages, text and numbers to track."""

from functools import cache

from registry import answer, answers, without_times
from samples_at_hand import classes, mixed, numbers, of_mixed, row_weights
from sklearn.linear_model import LogisticRegression, Ridge

import counterpoise as cp
from counterpoise import Report


@cache
def _adapted(kind):
    pair = {"classes": classes, "mixed": mixed, "response": numbers}[kind]()
    estimator = Ridge() if kind == "response" else LogisticRegression()
    if kind == "mixed":
        estimator = of_mixed(estimator)
    model = cp.Adapted(estimator, random_state=0)
    model.fit(pair.X, pair.y, X_target=pair.X_target)
    worth = cp.estimate_performance(model, *pair[:3], random_state=0)
    return Report.from_estimator(model, worth)


def _weighter(weight_estimator):
    pair = numbers()
    return Report.from_estimator(weight_estimator.fit(pair.X, X_target=pair.X_target))


def _path():
    pair = classes(80, 40)
    model = cp.svm.WeightedSVC().fit(pair.X, pair.y)
    return Report.from_estimator(
        model.path(row_weights(80), X_val=pair.X_target, y_val=pair.y_target)
    )


def _diagnosis():
    pair = mixed()
    return Report.from_estimator(cp.diagnose(pair.X, pair.X_target, random_state=0))


RECORDS = {
    "classes": lambda: _adapted("classes"),
    "mixed": lambda: _adapted("mixed"),
    "response": lambda: _adapted("response"),
    "KLIEP": lambda: _weighter(cp.KLIEP(gamma=0.5)),
    "DiscrepancyWeights": lambda: _weighter(cp.DiscrepancyWeights()),
    "AutoWeights": lambda: _weighter(cp.AutoWeights(random_state=0)),
    "path": _path,
    "diagnosis": _diagnosis,
}


def _still(record):
    """Return a record without what tells times."""
    return Report.from_dict(without_times(record.to_dict()))


@answers("record", RECORDS)
def _record(make):
    still = _still(make())
    return {"sections": still.to_dict(), "json": still.to_json()}


@answers("metrics of a record", RECORDS)
def _metrics(make):
    return _still(make()).metrics()


@answers("page", RECORDS)
def _page(make):
    page = cp.report.render(_still(make()))
    return {"text": page.text(), "html": page.html}


@answer("comparison of records")
def _comparison():
    found = cp.compare(_still(_adapted("classes")), _still(_adapted("mixed")))
    return {"text": found.text(), "html": found.html}
