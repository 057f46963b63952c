"""
What does it cost to promise something about the rare class?
============================================================

One class in eight is rare. A network that lowers the mean loss gives it up; one with a
bound on the rare class's misfit may not. Down a list of bounds the loss rises, and the
price of a bound is the slope: what a little more promise costs. A bound that cannot be
kept is an error that says so, and held-out rows tell what the promise is worth there.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.networks import ConvexNetworkClassifier, InfeasibleConstraintError
from counterpoise.plot import plot_trade_off

rng = np.random.default_rng(0)
X = rng.standard_normal((480, 3))
score = X[:, 0] + X[:, 1] ** 2 + 0.8 * rng.standard_normal(480)
y = np.where(score > np.quantile(score, 0.875), "rare", "usual")

plain = ConvexNetworkClassifier(
    hidden_layer_sizes=(4,),
    certify_rounds=False,
    tol=1e-4,
    max_iter=200,
    random_state=0,
).fit(X[:240], y[:240])
found = (plain.predict(X[240:]) == "rare")[y[240:] == "rare"].mean()
print(f"without a bound {found:.0%} of the rare rows held out are found")

net = ConvexNetworkClassifier(
    hidden_layer_sizes=(4,),
    tol=1e-3,
    max_iter=100,
    validation_fraction=0.25,
    random_state=0,
)
curve = net.trade_off(
    X[:240], y[:240], [0.6, 0.4, 0.3, 0.2], constraint="class_error_bound['rare']"
)
for bound, loss, price in zip(curve.bounds, curve.loss, curve.price, strict=True):
    fitted = curve.at(bound)
    found = (fitted.predict(X[240:]) == "rare")[y[240:] == "rare"].mean()
    (excess,) = fitted.feasibility_["validation"].values()
    print(
        f"misfit at most {bound:.1f}: loss {loss:.3f}, price {price:.3f}, {found:.0%} "
        f"found; on rows held out the bound is exceeded by {excess:.2f}"
    )

try:
    net.set_params(hidden_layer_sizes=(), class_error_bound=0.05).fit(X[:240], y[:240])
except InfeasibleConstraintError as error:
    print(error)

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
plot_trade_off(curve, ax=ax)
plt.show()
