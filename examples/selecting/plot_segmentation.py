"""
Into how many segments does a photograph fall?
==============================================

Nobody says how many: few words stand for all regions of the photograph, and their
number follows from one convex problem, whose answer is proved. `sparsity` makes words
dearer, from which a family of segmentations follows, coarse to fine. Run with the name
of a picture as argument to keep it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import coffee

from counterpoise.plot import plot_segments
from counterpoise.selection import segment, segmentation_scores

photograph = coffee()
sparsities = [0.5, 0.2, 0.02]
record = segment(photograph, sparsity=sparsities, random_state=0, return_record=True)

figure, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
for ax, sparsity, labels in zip(axes, sparsities, record.labels, strict=True):
    plot_segments(photograph, labels, ax=ax)
    ax.set_title(f"sparsity {sparsity:g}: {ax.get_title()}")
    print(f"sparsity {sparsity:4}: {np.unique(labels).size} segments")
if len(sys.argv) == 2 and sys.argv[1].endswith((".png", ".svg", ".jpg")):
    figure.savefig(sys.argv[1], dpi=100)

print(f"regions: {record.regions.max() + 1}, proof: {record.selector.solution_}")
coarse, fine = record.labels[0], record.labels[2]
scores = segmentation_scores(coarse, fine)
print(f"coarse beside fine: {scores.variation_of_information:.2f} bits apart")
plt.show()
