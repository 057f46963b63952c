"""Our call beside NannyML's."""


def ours(model, X, y, X_target):
    """Return the estimate and the diagnosis."""
    # the call
    from counterpoise import diagnose, estimate_performance

    estimate = estimate_performance(
        model, X, y, X_target, scoring="neg_mean_squared_error", random_state=0
    )
    diagnosis = diagnose(X, X_target, random_state=0)
    # the end
    return estimate, diagnosis
