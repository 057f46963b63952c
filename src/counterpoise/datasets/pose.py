"""Images of articulated poses with a known shift."""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from counterpoise.datasets.generators import ratio_to_standard
from counterpoise.datasets.loaders import (
    Seed,
    Shift,
    check_count,
    check_nonnegative,
    generator,
)
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array

_LENGTHS = np.array([250.0, 250.0, 200.0, 180.0, 150.0, 100.0])  # millimetres
_JOINTS = len(_LENGTHS)
_LATENT = 3
_FEATURES = 30
_TURNS = {1: (0.0,), 3: (0.0, 1.2, -1.2)}  # radians, a camera each

# Mean and standard deviation of the target's latent motion, the source's N(0, I).
_MOTIONS = {
    "none": ((0.0, 0.0, 0.0), 1.0),
    "motion": ((0.6, 0.3, 0.0), 0.6),
    "motion-far": ((1.2, 0.6, 0.0), 0.4),
    "blur": ((-0.7, 0.0, 0.0), 0.6),
}
# Limb scales of the source and of the target, the motion N(0, 0.8^2 I) in both.
_BODIES = {
    "selection": ((0.85, 1.0, 1.2), 0.85),
    "subject": ((1.0, 1.2), 0.85),
    "camera": ((1.0,), 1.0),
}
_BODY_MOTION = 0.8
_CAMERA_YAW = 0.35  # radians


class _Latent(NamedTuple):
    """What a sample's rows are made from: motions, limb scales, ratio."""

    z: Array
    size: Array
    ratio: Array | None


class _Chain(NamedTuple):
    """The constants of the body and of the cameras."""

    linear: Array
    rest: Array
    wave: Array
    lens: Array
    bias: Array
    lens_of_three: Array


def make_articulated_pose(
    scenario: str = "motion",
    n: int = 500,
    m: int = 300,
    *,
    feature_noise: float = 0.05,
    label_noise: float = 10.0,
    noisy_target: bool = False,
    random_state: Seed = None,
) -> Shift:
    r"""Regression from image features to the 18 coordinates of a pose, in millimetres.

    A latent motion z of three coordinates sets twelve angles,

    .. math:: a = B z + c + \tfrac12 \sin(Q z),

    of which the first six, cumulated, are the azimuths of the limbs, and the others,
    cumulated and halved, their elevations. Limbs of 250, 250, 200, 180, 150 and 100 mm
    times a scale, put end to end, give the positions of six joints, which are the
    labels, with Gaussian noise. The inputs are 30 features

    .. math:: x = \tanh\bigl(\tfrac12 F p / 400 + b\bigr) + N(0, \text{noise}^2)

    of the orthographic projection p of the joints, which loses their depth. B, c, Q,
    F and b are drawn once, from a seed of their own, and are the same in every call.

    Parameters
    ----------
    scenario : str
        What differs between source and target.

        ============== ================================================ ==============
        scenario       source; target                                   ratio
        ============== ================================================ ==============
        ``none``       z from N(0, I) in both                           one
        ``motion``     z from N(0, I); N((.6, .3, 0), .6² I)            of z
        ``motion-far`` z from N(0, I); N((1.2, .6, 0), .4² I)           of z
        ``blur``       z from N(0, I); N((-.7, 0, 0), .6² I), and label of z
                       noise 1 + 14 / (1 + exp(-3 (z_1 - .2))) times
                       as large
        ``selection``  limb scale .85, 1 or 1.2, a third each; .85      3 where the
                                                                        scale is .85,
                                                                        else 0
        ``subject``    limb scale 1 or 1.2, a half each; .85            None
        ``camera``     camera turned by 0; by .35 radians               None
        ============== ================================================ ==============

        In the last three z is from N(0, .8² I) in both. A trailing 3, as in
        ``motion3``, means three cameras, at 0, 1.2 and -1.2 radians, whose features see
        the depth.
    n : int
        Number of source rows.
    m : int
        Number of target rows.
    feature_noise : float
        Standard deviation of the noise of a feature.
    label_noise : float
        Standard deviation of the noise of a label, in millimetres.
    noisy_target : bool
        Whether the target's labels have the noise of the source's (at the same z)
        or are the clean poses; changes nothing else.
    random_state : int, Generator, RandomState or None
        Where the draws come from; the same integer gives the same bytes.

    Returns
    -------
    Shift
        Its ratio is the latent ratio p_target(z) / p_source(z), z with the limb scale,
        exact and of expectation one over the source. None in ``subject``, whose bodies
        do not overlap, and in ``camera``, where p(x given y) changes.

    Notes
    -----
    **The ratio is a function of the pose, not of x.** With one camera x does not
    determine the pose: the ratio is that of the labels (target shift) and differs
    from p_target(x) / p_source(x). With three cameras x all but determines z, and it is
    the ratio of x too, all but exactly.

    References
    ----------
    S. Chapaneri and D. Jayaswal, 2019, for the kinds of transfer that the scenarios
    imitate.

    Examples
    --------
    >>> from counterpoise.datasets import make_articulated_pose
    >>> shift = make_articulated_pose("motion-far3", n=5, m=3, random_state=0)
    >>> shift.X.shape, shift.y.shape, shift.y_target.shape
    ((5, 30), (5, 18), (3, 18))
    """
    kind, cameras = _parse(scenario)
    check_count("n", n)
    check_count("m", m)
    check_nonnegative("feature_noise", feature_noise)
    check_nonnegative("label_noise", label_noise)
    rng = generator(random_state)
    draw = _draw_motions if kind in _MOTIONS else _draw_bodies
    source, target = draw(kind, n, m, rng)
    poses, poses_target = _pose(source), _pose(target)
    yaw = _CAMERA_YAW if kind == "camera" else 0.0
    X = _view(poses, 0.0, cameras, feature_noise, rng)
    X_target = _view(poses_target, yaw, cameras, feature_noise, rng)
    y = _label(poses, _label_scale(kind, source.z, label_noise), rng)
    scale_target = _label_scale(kind, target.z, label_noise if noisy_target else 0.0)
    return Shift(
        X=X,
        y=y,
        X_target=X_target,
        y_target=_label(poses_target, scale_target, rng),
        ratio=source.ratio,
        ratio_target=target.ratio,
    )


def _parse(scenario: str) -> tuple[str, int]:
    kinds = [*_MOTIONS, *_BODIES]
    kind = str(scenario).removesuffix("3")
    if kind not in kinds:
        raise InvalidInputError(
            f"scenario must be one of {', '.join(kinds)}, "
            f"or one of these with a trailing 3, got {scenario!r}"
        )
    return kind, 1 if kind == scenario else 3


@cache
def _chain() -> _Chain:
    rng = np.random.default_rng(12345)
    angles = 2 * _JOINTS
    return _Chain(
        linear=0.3 * rng.normal(size=(angles, _LATENT)),
        rest=rng.uniform(-0.3, 0.3, angles),
        wave=0.4 * rng.normal(size=(angles, _LATENT)),
        lens=rng.normal(size=(_FEATURES, 2 * _JOINTS)),
        bias=rng.uniform(-1, 1, _FEATURES),
        lens_of_three=rng.normal(size=(_FEATURES, 6 * _JOINTS)) / np.sqrt(3),
    )


def _draw_motions(
    kind: str, n: int, m: int, rng: np.random.Generator
) -> tuple[_Latent, _Latent]:
    mean, scale = np.array(_MOTIONS[kind][0]), _MOTIONS[kind][1]
    z = rng.normal(size=(n, _LATENT))
    z_target = mean + scale * rng.normal(size=(m, _LATENT))
    source, target = (
        _Latent(
            z=motion,
            size=np.ones(len(motion)),
            ratio=ratio_to_standard(motion, mean, scale),
        )
        for motion in (z, z_target)
    )
    return source, target


def _draw_bodies(
    kind: str, n: int, m: int, rng: np.random.Generator
) -> tuple[_Latent, _Latent]:
    sizes, size_target = np.array(_BODIES[kind][0]), _BODIES[kind][1]
    size = sizes[rng.integers(0, len(sizes), n)] if len(sizes) > 1 else np.ones(n)
    z = _BODY_MOTION * rng.normal(size=(n, _LATENT))
    z_target = _BODY_MOTION * rng.normal(size=(m, _LATENT))
    ratio = ratio_target = None
    if kind == "selection":
        ratio = np.where(size == size_target, float(len(sizes)), 0.0)
        ratio_target = np.full(m, float(len(sizes)))
    return (
        _Latent(z, size, ratio),
        _Latent(z_target, np.full(m, size_target), ratio_target),
    )


def _pose(latent: _Latent) -> Array:
    """Positions of the joints in millimetres, of shape (rows, joints, 3)."""
    chain = _chain()
    swing = 0.5 * np.sin(latent.z @ chain.wave.T)
    angles = latent.z @ chain.linear.T + chain.rest + swing
    azimuth = np.cumsum(angles[:, :_JOINTS], axis=1)
    elevation = 0.5 * np.cumsum(angles[:, _JOINTS:], axis=1)
    flat = np.cos(elevation)
    directions = np.stack(
        [flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=2
    )
    lengths = latent.size[:, None] * _LENGTHS
    return np.cumsum(directions * lengths[:, :, None], axis=1)


def _view(
    poses: Array, yaw: float, cameras: int, noise: float, rng: np.random.Generator
) -> Array:
    """Features of what the cameras see of the poses."""
    chain = _chain()
    seen = []
    for turn in _TURNS[cameras]:
        cos, sin = np.cos(yaw + turn), np.sin(yaw + turn)
        seen += [poses[..., 0] * cos + poses[..., 2] * sin, poses[..., 1]]
    lens = chain.lens if cameras == 1 else chain.lens_of_three
    clean = np.tanh(0.5 * (np.concatenate(seen, axis=1) / 400.0) @ lens.T + chain.bias)
    features: Array = clean + noise * rng.normal(size=clean.shape)
    return features


def _label_scale(kind: str, z: Array, noise: float) -> Array:
    if kind == "blur":
        scale: Array = noise * (1 + 14 * expit(3 * (z[:, 0] - 0.2)))
        return scale
    return np.full(len(z), noise)


def _label(poses: Array, scale: Array, rng: np.random.Generator) -> Array:
    clean = poses.reshape(len(poses), -1)
    labels: Array = clean + scale[:, None] * rng.normal(size=clean.shape)
    return labels
