"""Our call beside evidently's."""


def ours(X, X_target, folder):
    """Return the diagnosis and its page."""
    # the call
    from counterpoise import Record, diagnose, render

    diagnosis = diagnose(X, X_target, random_state=0)
    page = render(Record.from_estimator(diagnosis))
    page.save(folder / "shift.html")
    # the end
    return diagnosis
