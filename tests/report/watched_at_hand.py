"""The record of a monitor, with names that nobody should trust."""

from counterpoise.messages import Finding

HOSTILE = "<script>alert(1)</script> & $x^2$"


def _row(chunk, metric, **more):
    return {
        "chunk": chunk,
        "time": f"2024-{1 + chunk % 12:02d}-01 {HOSTILE if chunk == 3 else ''}",
        "n_rows": 500,
        "metric": metric,
        "estimated": 0.2 + 0.001 * chunk,
        "estimated_low": 0.18,
        "estimated_high": 0.24,
        "realized": 0.21 if chunk % 2 else None,
        "realised_low": 0.15 if chunk % 2 else None,
        "realised_high": 0.25 if chunk % 2 else None,
        "n_labeled": 50 if chunk % 2 else 0,
        "auc": 0.52,
        "auc_low": 0.49,
        "auc_high": 0.55,
        "mmd": 0.03,
        "moved": HOSTILE if chunk == 3 else "",
        "covered": 0.99,
        "notes": HOSTILE if chunk == 3 else "",
        **more,
    }


def watched(n_chunks=12):
    metrics = ["error_rate", "roc_auc"]
    history = [_row(k + 1, name) for k in range(n_chunks) for name in metrics]
    alerts = [
        {
            "kind": kind,
            "time": history[8]["time"],
            "since": history[6]["time"],
            "evidence": {"low": 0.01}
            if kind == "estimate"
            else {"e_value": 80.0, "needed": 50.0},
            "columns": [HOSTILE],
            "finding": Finding("adapt_risk").to_dict(),
            "level": 0.02,
        }
        for kind in ("inputs", "risk", "estimate")
    ]
    return {
        "monitor": {
            "level": 0.95,
            "false_alarm_rate": 0.05,
            "tolerance": 0.0,
            "metrics": metrics,
            "risk_metric": "error_rate",
            "reference": {"error_rate": 0.19, "roc_auc": 0.8},
            "n_looks": n_chunks,
            "history": history,
            "alerts": alerts,
        }
    }
