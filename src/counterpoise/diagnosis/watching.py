"""The words about a model that is watched: new rows beside the new data of its fit."""

import re

from counterpoise.samples.overlap_verdict import (
    COVERED,
    NO_OVERLAP,
    NO_SHIFT,
    SMALL_SHIFT,
    THIN_IN_PART,
    TOO_FEW,
)

COMPARED = "Compared with the new data of the fit: "
MEANING = {
    NO_SHIFT: "no change was found.",
    SMALL_SHIFT: "there is a small change, and today's rows lie where the fit had "
    "some.",
    COVERED: "today's rows have changed, but they lie where the fit had some.",
    THIN_IN_PART: "today's rows have changed, and a part of them, {thin}, lies where "
    "the fit had next to none.",
    NO_OVERLAP: "these are other rows: {thin} of them lie where the fit had next to "
    "none.",
    TOO_FEW: "there are too few rows to tell.",
}
NEXT = {
    NO_SHIFT: "Next: nothing needs to be done. What was estimated at the fit is still "
    "the best guess.",
    SMALL_SHIFT: "Next: go on, and look again soon. What was estimated at the fit may "
    "be a little off.",
    COVERED: "Next: estimate the score on today's rows; what was estimated at the fit "
    "is not about them. Fit again with them as the target if it has become worse.",
    THIN_IN_PART: "Next: do not trust predictions in the part that is new before some "
    "of its rows have labels; fit again with today's rows as the target, and see what "
    "the training data cover.",
    NO_OVERLAP: "Next: do not rely on this model there. Fit again with today's rows as "
    "the target: whether the training data cover them is told then.",
    TOO_FEW: "Next: come back with more rows, 100 if you can.",
}
_QUOTED = re.compile(r"((?<!\w)'.*?'(?!\w))")
_TODAY, _FIT = "today's rows", "the rows of the fit"
# From the longest to the shortest, so that no part of a longer one is taken.
_WORDS = (
    (r"\b[Tt]arget rows with\b", "Of today's rows those with"),
    (r"(?<=\d) target rows\b", " of today's rows"),
    (r"\b(?:the )?source rows\b", _FIT),
    (r"\b(?:the )?target rows\b", _TODAY),
    (r"\bthe target's\b", "today's"),
    (r"\bThe target seems\b", "Today's rows seem"),
    (r"\bThe source\b", "The rows of the fit"),
    (r"\bthe source has\b", "the rows of the fit have"),
    (r"\bthe source\b", _FIT),
    (r"\bthe target\b", _TODAY),
    (r"\bAUC of source against target\b", "AUC of the fit's rows against today's"),
    (r"\bsource\b", "at the fit"),
    (r"\btarget\b", "today"),
)


def as_watched(words: str) -> str:
    """Return words about source and target as words about the fit and today.

    What is quoted is somebody's own name, and stays.

    Examples
    --------
    >>> as_watched("'the source' differs: 5 % of the target rows")
    "'the source' differs: 5 % of today's rows"
    """
    parts = _QUOTED.split(words)
    for k in range(0, len(parts), 2):
        for pattern, put in _WORDS:
            parts[k] = re.sub(pattern, put, parts[k])
    return "".join(parts)
