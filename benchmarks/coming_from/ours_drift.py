"""Our call beside evidently's."""


def ours(X, X_target, folder):
    """Return the diagnosis and its page."""
    # the call
    from counterpoise import Report, diagnose
    from counterpoise.report import render

    diagnosis = diagnose(X, X_target, random_state=0)
    page = render(Report.from_estimator(diagnosis))
    page.save(folder / "shift.html")
    # the end
    return diagnosis
