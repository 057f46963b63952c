"""How do time and memory of every weight estimator grow, beside adapt's and skada's?

Rows of each sample beside ten columns, columns beside a thousand rows. With the
defaults, which choose widths by themselves; "one width": given, as the peers have it.
"""

import environments
from environments import MissingPeerError
from methods_at_hand import OURS, PEERS
from reporting import left_out, table
from sizes_apart import HEADER, grown


def run(quick: bool) -> dict:
    methods, python = list(OURS), {}
    try:
        peers = environments.environment("weights")
    except MissingPeerError as error:
        left_out(str(error))
    else:
        methods += PEERS
        python = dict.fromkeys(PEERS, peers)
    found = grown(methods, quick, python=python)
    return {"table": table("Weight estimators", HEADER, found), "bars": []}
