"""
What do weights bring to poses of another motion?
=================================================

Poses from silhouettes of another motion, subject or camera.
Every scenario of the simulated chain of six limbs, with one camera and with three, by
the true ratio of poses where there is one; POSER where COUNTERPOISE_DATA has it.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from counterpoise import KLIEP, flatten_weights
from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import TwinGP, WeightedGPR

KINDS = ("none", "motion", "motion-far", "blur", "selection", "subject", "camera")


def joint_errors(answers, poses):
    """Return how far every joint of every row is off."""
    return np.linalg.norm((answers - poses).reshape(len(poses), -1, 3), axis=2)


def weights_of(shift):
    """Return weights of the source rows, of mean one, and where they come from."""
    if shift.ratio is not None:
        return shift.ratio / shift.ratio.mean(), "true ratio"
    kliep = KLIEP(random_state=0, allow_no_overlap=True)
    found = kliep.fit(shift.X, X_target=shift.X_target)
    return flatten_weights(found.weights_, 0.5), "root of KLIEP's"


def tuned(make, cameras):
    """Return a model with the numbers that a search finds where nothing shifts."""
    shift = make_articulated_pose("none" + cameras, 200, 1, random_state=1)
    found = make(search="holdout", random_state=0).fit(shift.X, shift.y)
    names = [name for name in found.get_params() if hasattr(found, f"{name}_")]
    return make(**{name: getattr(found, f"{name}_") for name in names})


print("Joint errors in mm: GPR, twin GP, twin GP with weights")
for cameras in ("", "3"):
    gpr, twin = tuned(WeightedGPR, cameras), tuned(TwinGP, cameras)
    for kind in KINDS:
        shift = make_articulated_pose(kind + cameras, 200, 150, random_state=0)
        weights, source = weights_of(shift)
        line = f"  {kind + cameras:12}"
        for model, w in ((gpr, None), (twin, None), (twin, weights)):
            answers = model.fit(shift.X, shift.y, w).predict(shift.X_target)
            line += f"{joint_errors(answers, shift.y_target).mean():6.0f}"
        print(f"{line}  ({source})")

# Pictures: three skeletons with both answers, each joint's error, error by certainty.
shift = make_articulated_pose("none", 1000, 200, random_state=0)
answers, nats = TwinGP().fit(shift.X, shift.y).predict(shift.X_target, True)
means = WeightedGPR(ridge_x=1e-2).fit(shift.X, shift.y).predict(shift.X_target)
far, far_mean = (joint_errors(a, shift.y_target) for a in (answers, means))
figure, axes = plt.subplots(1, 5, figsize=(16, 3.6), layout="constrained")
for ax, row in zip(axes, np.argsort(nats)[[10, 100, 190]], strict=False):
    for poses, name in ((shift.y_target, "truth"), (answers, "twin"), (means, "GPR")):
        chain = np.vstack([np.zeros(3), poses[row].reshape(-1, 3)])
        ax.plot(chain[:, 2], chain[:, 1], marker="o", label=name)
    ax.set(title=f"from the side, {nats[row]:.2g} nats", xlabel="mm")
axes[0].legend()
axes[3].plot(far.mean(axis=0), "C1o-", far_mean.mean(axis=0), "C2o-")
axes[3].set(title="error of each joint, mm", xlabel="joint", ylim=0)
axes[4].scatter(nats, far.mean(axis=1), s=8, color="C1")
axes[4].set(title="error by uncertainty, mm", xlabel="nats")
plt.show()
folder = Path(os.environ.get("COUNTERPOISE_DATA", "none")) / "poser_silhouette_pose"
if folder.is_dir():
    data = dict(np.load(folder / "silhouette_pose.npz"))
    model = TwinGP(divergence="kl", gamma_y=1.5e-3, ridge_x=1e-2, ridge_y=1.0)
    model.fit(data["X_train"], data["Y_train"][:, 6:])
    far = joint_errors(model.predict(data["X_test"]), data["Y_test"][:, 6:])
    print(f"POSER, another motion: {far.mean():.2f} (mean pose 6.3)")
else:
    print("POSER left out: COUNTERPOISE_DATA has no folder poser_silhouette_pose")
