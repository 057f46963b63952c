"""The models that `--estimator` offers: pipelines that take mixed tables."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from counterpoise.cli.exits import WrongUse
from counterpoise.cli.reading.labels import CLASSIFICATION, REGRESSION
from counterpoise.cli.reading.saved_estimator import is_saved, saved_estimator
from counterpoise.tables.kinds import CATEGORIES, DATES, NUMBERS

# A category of fewer rows has no coefficient of its own.
_ROWS_OF_A_CATEGORY = 10

ONLY = {"logistic": CLASSIFICATION, "bayes": CLASSIFICATION, "ridge": REGRESSION}


def build_estimator(
    name: str,
    task: str,
    kinds: Mapping[str, str],
    seed: int,
    crowded: Collection[str] = (),
) -> Any:
    """Return a pipeline of scikit-learn, not fitted.

    Missing values, categories, also new ones, and dates are dealt with inside.

    Parameters
    ----------
    name : str
        One of those that `--estimator` lists, or a file of a saved model.
    task : {"classification", "regression"}
    kinds : mapping
        What each column holds, in the order of the table.
    seed : int
    crowded : strings
        Columns with more categories than trees can tell apart: the rarer ones share a
        place.
    """
    from sklearn.pipeline import Pipeline

    from counterpoise.learners.boosting import boosting_of

    if is_saved(name):
        return saved_estimator(Path(name), task)
    if ONLY.get(name, task) != task:
        wanted = "classes" if ONLY[name] == CLASSIFICATION else "numbers"
        raise WrongUse(
            f"--estimator {name} predicts {wanted}, and the label is for {task}: take "
            "linear"
        )
    if name == "boosting":
        classes = task == CLASSIFICATION
        return boosting_of(kinds, classes=classes, seed=seed, crowded=crowded)
    columns = _for_trees(kinds) if name in ("forest", "tree") else _for_lines(kinds)
    return Pipeline([("columns", columns), ("model", _model(name, task, seed))])


def kinds_of(model: Any) -> dict[str, str] | None:
    """Return what each column of a saved model holds; None if another built it."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    inner = getattr(model, "estimator_", None)
    names = getattr(inner, "feature_names_in_", None)
    if not isinstance(inner, Pipeline) or names is None:
        return None
    columns = inner.steps[0][1]
    if not isinstance(columns, ColumnTransformer):
        return None
    found = {
        str(name): kind
        for kind, _, group in columns.transformers
        if kind in (NUMBERS, CATEGORIES, DATES)
        for name in group
    }
    if set(found) != set(names):
        return None
    return {str(name): found[name] for name in names}


def _for_trees(kinds: Mapping[str, str]) -> Any:
    """Return columns as numbers for trees, which find their own thresholds."""
    from counterpoise.learners.boosting import category_codes, columns_of
    from counterpoise.learners.dates import DateNumbers

    return columns_of(kinds, "passthrough", category_codes(), DateNumbers())


def _for_lines(kinds: Mapping[str, str]) -> Any:
    """Return columns on a common scale, without gaps, a column a category."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from counterpoise.learners.boosting import columns_of
    from counterpoise.learners.dates import DateNumbers

    def scaled() -> list[tuple[str, Any]]:
        fill = SimpleImputer(strategy="median", add_indicator=True)
        return [("fill", fill), ("scale", StandardScaler())]

    ones = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_ROWS_OF_A_CATEGORY,
        sparse_output=False,
    )
    dates = Pipeline([("numbers", DateNumbers()), *scaled()])
    return columns_of(kinds, Pipeline(scaled()), ones, dates)


def _model(name: str, task: str, seed: int) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC, SVR
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if name == "linear":
        name = "logistic" if task == CLASSIFICATION else "ridge"
    classes = task == CLASSIFICATION
    forest = {"n_estimators": 200, "min_samples_leaf": 3, "random_state": seed}
    tree = {"min_samples_leaf": 20, "random_state": seed}
    makers = {
        "logistic": lambda: LogisticRegression(max_iter=1000),
        "ridge": lambda: Ridge(),
        "forest": lambda: (
            RandomForestClassifier(**forest)
            if classes
            else RandomForestRegressor(**forest)
        ),
        "tree": lambda: (
            DecisionTreeClassifier(**tree) if classes else DecisionTreeRegressor(**tree)
        ),
        "svm": lambda: SVC(random_state=seed) if classes else SVR(),
        "bayes": lambda: GaussianNB(),
        "constant": lambda: DummyClassifier() if classes else DummyRegressor(),
    }
    return makers[name]()
