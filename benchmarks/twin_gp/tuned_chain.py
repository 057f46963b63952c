"""Tuned and unweighted: do twin GPs beat GPR on the articulated chain?"""

from reporting import bar, table, timed
from scoring import change, joint_error

from counterpoise import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN
from counterpoise.datasets import make_articulated_pose

METHODS = {
    "GPR": WeightedGPR,
    "weighted k-NN": WeightedKNN,
    "direct TGP": DirectTwinGP,
    "KLTGP": lambda **how: TwinGP(divergence="kl", **how),
    "SMTGP": TwinGP,
}
SETTINGS = [  # scenario, rows, seeds, seeds when quick
    ("none", 500, 8, 3),
    ("none3", 500, 8, 2),
    ("none", 1500, 5, 1),
]


def run(quick):
    rows, bars = [], []
    for scenario, n, many, few in SETTINGS:
        errors, spent, tried = _measure(scenario, n, few if quick else many)
        cameras = "three cameras" if scenario.endswith("3") else "one camera"
        for name, of_seed in errors.items():
            percent, p = change(of_seed, errors["GPR"])
            mean = sum(of_seed) / len(of_seed)
            rows.append([cameras, n, name, tried[name], mean, percent, p, spent[name]])
        bars += _judge(cameras, n, errors)
    header = (
        "cameras | N | method | settings | joint error, mm | against GPR, % | p"
        " | s a seed"
    )
    return {"table": table("Tuned by a held-out quarter", header, rows), "bars": bars}


def _measure(scenario, n, seeds):
    errors = {name: [] for name in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    tried = dict.fromkeys(METHODS, 0)
    for seed in range(seeds):
        shift = make_articulated_pose(scenario, n, 1000, random_state=seed)
        for name, make in METHODS.items():

            def answer(make=make, seed=seed, shift=shift):
                model = make(search="holdout", random_state=seed)
                model.fit(shift.X, shift.y)
                return model, model.predict(shift.X_target)

            seconds, (model, answers) = timed(answer, calls=1)
            spent[name] += seconds / seeds
            tried[name] = max(tried[name], len(model.cv_results_["score"]))
            errors[name].append(joint_error(answers, shift.y_target).mean())
    return errors, spent, tried


def _judge(cameras, n, errors):
    percent = {name: change(of, errors["GPR"]) for name, of in errors.items()}
    where = f"{cameras}, N = {n}"
    if cameras == "three cameras":
        what = f"{where}: SMTGP against GPR, %"
        return [bar(what, percent["SMTGP"][0], most=0.0)]
    if n == 500:
        return [
            bar(f"{where}: SMTGP against GPR, %", percent["SMTGP"][0], most=-7.0),
            bar(f"{where}: its p", percent["SMTGP"][1], most=0.01),
            bar(f"{where}: KLTGP against GPR, %", percent["KLTGP"][0], most=-4.0),
            bar(f"{where}: its p", percent["KLTGP"][1], most=0.01),
        ]
    return [bar(f"{where}: SMTGP against GPR, %", percent["SMTGP"][0], most=-10.0)]
