"""
Have the inputs moved, or the shares of the classes?
====================================================

A disease became rarer; its patients look as ever. Inputs have moved then, too, but
weighing by inputs is the long way round. `Adapted` tells whether classes in other
shares explain the shift, and `weight_estimator="labels"` makes up for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from counterpoise import Adapted


def draw(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 3)) + np.outer(y, [1.2, -0.6, 0.4]), y


rng = np.random.default_rng(0)
X, y = draw(rng, 1500, 0.5)
X_target, y_target = draw(rng, 1000, 0.1)

losses = {}
for name, weight_estimator in (
    ("as it is", None),
    ("by inputs", "auto"),
    ("by labels", "labels"),
):
    model = Adapted(
        LogisticRegression(), weight_estimator=weight_estimator, random_state=0
    )
    model.fit(X, y, X_target=X_target)
    losses[name] = log_loss(y_target, model.predict_proba(X_target))
    print(f"{name}: log-loss {losses[name]:.3f} on labels that no fit has seen")
print(model.label_shift_.words)

shares = model.label_shift_.shares
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for k, (told, values) in enumerate(
    {"training": [0.5, 0.5], "estimated": shares, "true": [0.9, 0.1]}.items()
):
    axes[0].bar(np.arange(2) + 0.25 * k, values, 0.22, label=told)
axes[0].set(xticks=[0.25, 1.25], xticklabels=["healthy", "ill"], ylabel="share")
axes[0].legend()
axes[1].bar(list(losses), list(losses.values()), color="tab:blue")
axes[1].set_ylabel("log-loss on the new data")
plt.show()
