"""The score on the target: what is asked of the library."""

from argparse import Namespace
from typing import Any

from counterpoise.cli.pair import Pair


def estimate(model: Any, pair: Pair, options: Namespace, *, cv: Any = None) -> Any:
    """Return the estimates of the score on the target.

    Parameters
    ----------
    model : fitted `Adapted`
    pair : Pair
        With labels of the source, and of target rows where they may be used.
    options : metric, level, weighter and seed
    cv : None, int or "blocks"
        None: the source rows were not fitted to. Else they are those of the fit, and
        the model is fitted again without each fold.
    """
    from counterpoise.adaptation.performance import estimate_performance

    labelled: dict[str, Any] = {}
    if pair.y_target is not None and pair.labelled.size:
        rows = pair.X_target.take(pair.labelled).reset_index(drop=True)
        labelled = {"X_lab": rows, "y_lab": pair.y_target}
    # Rows of the fit have been weighed already, unless no weights were asked for.
    weighed = cv is not None and options.weighter != "uniform"
    return estimate_performance(
        model,
        pair.X,
        pair.y,
        (pair.X_target,),
        metrics=None if options.metric is None else [options.metric],
        level=options.level,
        weighter="model" if weighed else "auto",
        cv=cv,
        random_state=options.seed,
        **labelled,
    )
