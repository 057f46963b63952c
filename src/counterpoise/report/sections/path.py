"""A path of models: what moved, how exact it is, and the curve of its error."""

from typing import Any

from counterpoise.learners import SVMPath
from counterpoise.learners.svm import ValidationCurve

# Pieces of a curve that a picture can show.
PIECES_OF_A_PATH = 400


def path_section(path: SVMPath) -> dict[str, Any]:
    """Return the path without its models: its ends, its proof and its curve.

    Both ends are proved from scratch, and the best theta where there is a curve; the
    running residual is the largest of all breakpoints.
    """
    told = path.to_dict()
    curve = path.validation_error if path.curves is not None else None
    thetas = [told["start"], told["stop"]]
    if curve is not None:
        thetas.append(curve.best_theta)
    proofs = [path.certify(theta) for theta in thetas]
    return {
        "parameter": path.parameter,
        "model": type(path.estimator).__name__,
        "start": told["start"],
        "stop": told["stop"],
        "events": told["n_events"],
        "breakpoints": int(path.thetas.size),
        "jumps": int(path.jumps.size),
        "machines": len(told["machines"]),
        "largest_margin": max(
            max(one["margin"], default=0) for one in told["machines"]
        ),
        "running_residual": max(one["residual"] for one in told["machines"]),
        "proved_at": thetas,
        "residual": max(proof.residual or 0.0 for proof in proofs),
        "curve": None if curve is None else curve_section(curve, path.parameter),
    }


def curve_section(curve: ValidationCurve, parameter: str) -> dict[str, Any]:
    """Return a curve in few pieces, with all intervals on which it is least."""
    thin = curve.thinned(PIECES_OF_A_PATH)
    return {
        "parameter": parameter,
        "loss": curve.loss,
        "thetas": thin.thetas.tolist(),
        "values": thin.values.tolist(),
        "slopes": thin.slopes.tolist(),
        "stop": float(thin.stop),
        "best": curve.minimum,
        "optimal_intervals": [list(one) for one in curve.optimal_intervals],
    }
