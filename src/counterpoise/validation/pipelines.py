"""Targets that a pipeline hands on without transforming them."""

import sys
from types import FrameType
from typing import Any

from counterpoise.validation.exceptions import InvalidInput

_FITS = ("fit", "fit_transform", "fit_predict")
_TARGET = "X_target"


def refuse_raw_target() -> None:
    """Refuse a target that came past the steps that transformed the source.

    A scikit-learn pipeline transforms `X` and hands `X_target` on as it came, unless
    metadata routing is on and `transform_input` names it; two samples on two scales
    never overlap, or overlap by accident. So where a fit was called by a pipeline that
    was given a target and has steps before its last, that is an error, whatever the
    rows look like.
    """
    module = sys.modules.get("sklearn.pipeline")
    if module is None:
        # Where it was never imported nobody has a pipeline.
        return
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in _FITS:
            pipeline = frame.f_locals.get("self")
            given = frame.f_locals.get("params") or {}
            if isinstance(pipeline, module.Pipeline) and _hands_on(pipeline, given):
                raise InvalidInput(
                    "the pipeline transforms X and hands on X_target as it came: put "
                    "the steps inside, Adapted(make_pipeline(StandardScaler(), "
                    "Ridge())).fit(X, y, X_target=X_target), or, with metadata "
                    "routing on, make_pipeline(..., transform_input=['X_target'])"
                )
        frame = frame.f_back


def _hands_on(pipeline: Any, given: dict[str, object]) -> bool:
    """Tell whether a target goes past steps that transform."""
    targets = [
        value for name, value in given.items() if name.split("__")[-1] == _TARGET
    ]
    if all(value is None for value in targets):
        return False
    if _TARGET in (getattr(pipeline, "transform_input", None) or ()):
        return False
    before = [step for _, step in pipeline.steps[:-1]]
    return any(step is not None and step != "passthrough" for step in before)
