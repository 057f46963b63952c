"""
How do I show a colleague what was found?
=========================================

One page without scripts, to be opened, mailed or printed, and the same as text.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import Adapted, Report
from counterpoise.datasets import load_breast_cancer_shift
from counterpoise.plot import plot_overlap
from counterpoise.report import render

shift = load_breast_cancer_shift()
estimator = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
model = Adapted(estimator, random_state=0)
model.fit(shift.X, shift.y, X_target=(shift.X_target,))

record = Report.from_estimator(model)
page = render(record)
print(page.text().partition("Column by column")[0])

folder = Path(mkdtemp())
page.save(folder / "report.html")
record.save(folder / "report.json")
print(f"The page, with its pictures: {folder / 'report.html'}")

# Every picture of the page can be had by itself, from the model or the record.
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
plot_overlap(record, ax=ax)
plt.show()
