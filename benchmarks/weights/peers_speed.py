"""Are we faster than other packages on their own problem, and where are they wrong?

Every peer fits KLIEP at a given width on 100 centers of its own choice. Its point is
judged by our certificate on its basis; then we solve the same problem, kernels and
weights included, until we reach its objective, and until the gap is certified to 1e-6.
"""

import numpy as np
import peers
from problems import SIGMA, fit_on_centers, gaussian_pair, judge, nmse
from reporting import bar, left_out, table, timed

PEERS = {
    "adapt": "adapt_kliep.py",
    "skada": "skada_kliep.py",
    "densratio": "densratio_kliep.py",
}
N_CENTERS = 100
# Objectives further apart than this, in nats, are not the same.
WRONG = 0.01


def run(quick: bool) -> dict:
    """Ask every peer at every size."""
    sizes = (500,) if quick else (500, 2000, 20_000)
    rows, bars, missing = [], [], {}
    for name, script in PEERS.items():
        for d in (1, 10, 50):
            for n in sizes:
                if name in missing:
                    continue
                try:
                    rows.append([name, d, n, *_compare(script, d, n)])
                except peers.MissingPeerError as error:
                    missing[name] = str(error)
                    left_out(f"{name} is missing: {error}")
    shown = table(
        "KLIEP on the peer's own 100 centers, end to end (CPU s, objective in nats)",
        "peer | d | n | peer s | ours to its J | ours to 1e-6 | "
        "peer J | best J | short by | certified gap | peer NMSE | our NMSE | wrong",
        rows,
    )
    for name in PEERS:
        mine = [row for row in rows if row[0] == name]
        if mine:
            bars.append(
                bar(
                    f"ours to {name}'s objective / its time, worst size",
                    max(row[4] / row[3] for row in mine),
                    1,
                )
            )
    adapt = [row for row in rows if row[0] == "adapt"]
    if adapt:
        worst = max(row[5] / row[3] for row in adapt)
        bars.append(bar("ours to 1e-6 / adapt's time, worst size", worst, 0.2))
    return {"tables": [shown], "bars": bars, "missing": missing}


def _compare(script: str, d: int, n: int) -> list:
    shift, sigma = gaussian_pair(d, n, n, seed=0), SIGMA[d]
    answer = peers.ask(
        script,
        source=shift.X,
        target=shift.X_target,
        sigma=sigma,
        n_centers=N_CENTERS,
    )
    basis = shift.X, shift.X_target, answer.centers, sigma
    proof = judge(*basis, answer.coef)

    def there(progress) -> bool:
        return progress.objective <= proof.objective

    to_its, _ = timed(lambda: fit_on_centers(*basis, callback=there))
    to_tol, (best, weights) = timed(lambda: fit_on_centers(*basis))
    short = proof.objective - best.certificate.objective
    return [
        answer.seconds,
        to_its,
        to_tol,
        -proof.objective,
        -best.certificate.objective,
        short,
        proof.gap,
        nmse(answer.weights, shift.ratio),
        nmse(weights, shift.ratio),
        "yes" if short > WRONG or not np.isfinite(proof.gap) else "no",
    ]
