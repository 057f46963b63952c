"""Does adapting help my model, and how good will it be on the target?

A straight line through a curve is the textbook case: it is wrong everywhere a little,
and weights decide where it is wrong. Boosting follows the curve and needs no weights.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from counterpoise import Adapted, estimate_performance
from counterpoise.datasets import make_sinc_shift

shift = make_sinc_shift(n=600, m=400, random_state=0)
fresh = make_sinc_shift(n=600, m=400, random_state=1)

for estimator in (LinearRegression(), HistGradientBoostingRegressor(random_state=0)):
    model = Adapted(estimator, random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    plain = estimator.fit(shift.X, shift.y)
    before, after = (
        float(np.mean((one.predict(fresh.X_target) - fresh.y_target) ** 2))
        for one in (plain, model)
    )
    # Labelled source rows that the model has not seen stand for the target.
    told = estimate_performance(model, fresh.X, fresh.y, shift.X_target, random_state=0)
    print(model.summary())
    print(f"True squared error on the target: plain {before:.4f}, adapted {after:.4f}")
    print(told, end="\n\n")
