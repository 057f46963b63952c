"""A scikit-learn script, and the same with a target."""


def plain(X, y):
    """Return a search as it is usually written."""
    # the call
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipe = make_pipeline(StandardScaler(), Ridge())
    search = GridSearchCV(
        pipe, {"ridge__alpha": [0.1, 10.0, 1000.0]}, scoring="neg_mean_squared_error"
    )
    search.fit(X, y)
    # the end
    return search


def ours(X, y, X_target):
    """Return the same search for the target."""
    # our call
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from counterpoise import Adapted, target_scorer

    pipe = make_pipeline(StandardScaler(), Ridge())
    search = GridSearchCV(
        Adapted(pipe, random_state=0),
        {"estimator__ridge__alpha": [0.1, 10.0, 1000.0]},
        scoring=target_scorer("neg_mean_squared_error"),
    )
    search.fit(X, y, X_target=(X_target,))
    # our end
    return search
