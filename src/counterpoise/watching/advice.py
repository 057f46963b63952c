"""What to do about an alarm."""

from counterpoise.samples.coverage.thin_by_chance import THIN_ABOVE
from counterpoise.samples.overlap_verdict import NO_OVERLAP_ABOVE
from counterpoise.watching.looks import ESTIMATE, INPUTS

_NOTHING, _ADAPT, _LABEL, _STOP = "nothing", "adapt again", "label rows", "stop"


def advice(
    kind: str, *, inputs_changed: bool, estimate_rose: bool, covered: float | None
) -> str:
    """Return what to do, beginning with one of four words.

    ==============  ==================================================================
    stop            more than half of the chunk lies where the reference has no rows
    label rows      more than 5 % of it does; or the risk has risen and the inputs have
                    not changed, so that p(y | x) has: weights do not mend that
    adapt again     the inputs have changed, and with them the measured or estimated
                    risk
    nothing         the inputs have changed, and the estimated risk has not
    ==============  ==================================================================

    Parameters
    ----------
    kind : {"inputs", "risk", "estimate"}
    inputs_changed : bool
        Whether an alarm about the inputs stands.
    estimate_rose : bool
        Whether the corrected interval of the estimate lies above the tolerance.
    covered : float or None
        Share of the chunk that lies where the reference has rows.
    """
    covered = 1.0 if covered is None else covered
    thin = 1.0 - covered
    if covered < 1.0 - NO_OVERLAP_ABOVE:
        return (
            f"{_STOP}: {thin:.0%} of the rows lie where the reference has none; the "
            "model has not learned what they are"
        )
    if covered < 1.0 - THIN_ABOVE:
        return (
            f"{_LABEL}: {thin:.0%} of the rows lie where the reference has hardly any; "
            "which_rows_to_label says which to label before adapting again"
        )
    if kind == INPUTS:
        if estimate_rose:
            return f"{_ADAPT}: the inputs have changed and the estimated risk has risen"
        return (
            f"{_NOTHING}: the inputs have changed, and the estimated risk has not; "
            "look at the columns"
        )
    if kind == ESTIMATE:
        return (
            f"{_ADAPT}: the estimate has risen with the inputs; labels of rows drawn "
            "by chance would tell whether it is right"
        )
    if inputs_changed:
        return f"{_ADAPT}: the inputs have changed, and the risk has risen with them"
    return (
        f"{_LABEL}: the risk has risen without a change of the inputs, so that "
        "p(y | x) has changed; weights do not mend that, a fit to newly labelled rows "
        "does"
    )
