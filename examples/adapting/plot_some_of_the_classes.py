"""
The new data have only a few of my classes: what now?
=====================================================

Aligning everything pulls new rows towards classes that are not there. The convex
selection finds the absent classes; their rows are left out, and any classifier is
fitted to the rest and to the new rows with the labels that the selection gave them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from counterpoise import Adapted
from counterpoise.plot import plot_classes

rng = np.random.default_rng(0)
names = np.array([f"species {k}" for k in range(12)])
centers = 2.0 * rng.normal(size=(12, 30))
y = np.arange(600) % 12
X = centers[y] + 3.0 * rng.normal(size=(600, 30))

# The site has four of the twelve, photographed by another camera.
y_target = np.arange(300) % 4
X_target = centers[y_target] + 3.0 * rng.normal(size=(300, 30)) + 1.2

plain = LogisticRegression(C=0.01).fit(X, names[y])
model = Adapted(LogisticRegression(C=0.01), weight_estimator="partial", random_state=0)
model.fit(X, names[y], X_target=X_target)

print(model.summary())
print()
print(f"absent: {', '.join(model.absent_classes_)}")
right = {
    "source alone": plain.predict(X_target),
    "adapted": model.predict(X_target),
    "labels of the selection": model.target_labels_,
}
for name, labels in right.items():
    print(f"{name:<24} {100 * np.mean(labels == names[y_target]):.1f} % right")

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
plot_classes(model, ax=ax)
plt.show()
