"""The weighters by their plain names."""

from typing import Any


def build(name: str, *, force: bool, seed: int) -> Any:
    """Return the weighter that `--weighter` names.

    Parameters
    ----------
    name : str
        One of those that `--weighter` lists.
    force : bool
        Whether it goes on where the source does not cover the target.
    seed : int
    """
    from counterpoise import weights

    common: dict[str, Any] = {"force": force, "random_state": seed}
    makers: dict[str, Any] = {
        "auto": lambda: weights.AutoWeights(**common),
        "uniform": lambda: weights.UniformWeights(**common),
        "kliep": lambda: weights.KLIEP(**common),
        "lsif": lambda: weights.LSIF(**common),
        "ulsif": lambda: weights.ULSIF(**common),
        "rulsif": lambda: weights.RULSIF(**common),
        "kmm": lambda: weights.KMM(**common),
        "log-linear": lambda: weights.MixtureKLIEP(statistics="linear", **common),
        "log-quadratic": lambda: weights.MixtureKLIEP(**common),
        "discriminator": lambda: weights.DiscriminatorWeights(**common),
        # Among weights as good, those that leave the most effective rows.
        "discrepancy": lambda: weights.DiscrepancyWeights(spread=0.01, **common),
    }
    return makers[name]()
