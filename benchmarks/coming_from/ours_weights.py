"""Our call beside adapt's and skada's."""


def ours(X, y, X_target):
    """Return a fitted model and the weights behind it."""
    # the call
    from sklearn.linear_model import LinearRegression

    from counterpoise import KLIEP, Adapted

    model = Adapted(
        LinearRegression(), weight_estimator=KLIEP(random_state=0), random_state=0
    )
    model.fit(X, y, X_target=X_target)
    weights = model.weights_
    # the end
    return model, weights
