"""
Which pose does a silhouette show, if it fits two?
==================================================

One camera loses the depth of a chain of six limbs. Regression answers with the mean of
the poses that fit, which is no pose; a twin Gaussian process takes one, and `modes`
names both.
"""

import matplotlib.pyplot as plt
import numpy as np

from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import TwinGP, WeightedGPR


def joint_error(answers, poses):
    apart = (answers - poses).reshape(len(answers), -1, 3)
    return np.linalg.norm(apart, axis=2).mean(axis=1)


def draw(axes, pose, label, **style):
    """Draw the chain from the front, and from the side, which no camera sees."""
    chain = np.vstack([np.zeros(3), pose.reshape(-1, 3)])
    for ax, depth in zip(axes, (0, 2), strict=True):
        ax.plot(chain[:, depth], chain[:, 1], marker="o", label=label, **style)


# An ambiguous silhouette: rows 771 and 3022 look alike and are 858 mm apart.
shift = make_articulated_pose("none", 1000, 4000, random_state=0)
clean = make_articulated_pose("none", 1000, 4000, feature_noise=0, random_state=0)
silhouette = clean.X_target[[771, 3022]].mean(axis=0, keepdims=True)
truths = clean.y_target[[771, 3022]]

twin = TwinGP().fit(shift.X, shift.y)
gpr = WeightedGPR(ridge_x=1e-2).fit(shift.X, shift.y)
(modes,) = twin.modes(silhouette)
mean = gpr.predict(silhouette)
print(f"GPR is {joint_error(mean, truths).min():.0f} mm from the nearer of two poses.")
for truth, name in zip(truths, "AB", strict=True):
    far = joint_error(modes.outputs, truth[None])
    print(f"Pose {name} is one of {len(far)} modes, {far.min():.0f} mm away.")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
draw(axes, truths[0], "pose A", color="0.2", lw=3)
draw(axes, truths[1], "pose B", color="0.6", lw=3)
for k, answer in enumerate(modes.outputs):
    draw(axes, answer, f"mode {k + 1}", ls="--")
draw(axes, mean[0], "GPR: no pose", color="tab:red")
axes[0].set(title="what the camera sees", xlabel="mm", ylabel="mm")
axes[1].set(title="the depth it does not see", xlabel="mm")
for ax in axes:
    ax.set_aspect("equal", "datalim")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()
