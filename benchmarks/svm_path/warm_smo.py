"""The competitor: sequential minimal optimization, started from the last solution.

After LIBSVM: second-order choice of the pair, shrinking, gradients rebuilt; in double
precision with the Gram matrix in memory and a bound a row. No package offers a warm
start with instance weights, so it is written out here.
"""

import numpy as np
from numba import njit


@njit(fastmath=True, cache=True)
def _gradient(K, k, s, p, a, G):
    nv = a.shape[0]
    n = K.shape[0]
    f = np.zeros(n)
    for i in range(nv):
        if a[i] != 0.0:
            c = s[i] * a[i]
            r = K[k[i]]
            for j in range(n):
                f[j] += c * r[j]
    for i in range(nv):
        G[i] = s[i] * f[k[i]] - p[i]


@njit(fastmath=True, cache=True)
def smo(K, k, s, p, u, a, tol, max_iter, shrink=True):
    """Minimize a'Qa/2 - p'a over 0 <= a <= u, s'a kept; a is changed in place."""
    nv = a.shape[0]
    G = np.empty(nv)
    _gradient(K, k, s, p, a, G)
    act = np.arange(nv)
    na = nv
    it = 0
    tau = 1e-12
    gap = 1e300
    qd = np.empty(nv)
    for i in range(nv):
        qd[i] = K[k[i], k[i]]
    counter = min(nv, 1000)
    unshrunk = False
    while it < max_iter:
        counter -= 1
        if shrink and counter == 0:
            counter = min(nv, 1000)
            g1 = -np.inf
            g2 = -np.inf
            for q in range(na):
                t = act[q]
                v = -s[t] * G[t]
                if (s[t] > 0 and a[t] < u[t]) or (s[t] < 0 and a[t] > 0.0):
                    g1 = max(g1, v)
                if (s[t] > 0 and a[t] > 0.0) or (s[t] < 0 and a[t] < u[t]):
                    g2 = max(g2, -v)
            if not unshrunk and g1 + g2 <= tol * 10:
                unshrunk = True
                if na < nv:
                    _gradient(K, k, s, p, a, G)
                    for q in range(nv):
                        act[q] = q
                    na = nv
            w = 0
            for q in range(na):
                t = act[q]
                v = -s[t] * G[t]
                drop = False
                if a[t] >= u[t]:
                    drop = (v > g1) if s[t] > 0 else (-v > g2)
                elif a[t] <= 0.0:
                    drop = (-v > g2) if s[t] > 0 else (v > g1)
                if not drop:
                    act[w] = t
                    w += 1
            na = w
        gmax = -np.inf
        i = -1
        for q in range(na):
            t = act[q]
            if s[t] > 0:
                if a[t] < u[t] and -G[t] > gmax:
                    gmax = -G[t]
                    i = t
            else:
                if a[t] > 0.0 and G[t] > gmax:
                    gmax = G[t]
                    i = t
        gmax2 = -np.inf
        best = np.inf
        j = -1
        if i >= 0:
            Ki = K[k[i]]
            qii = qd[i]
            for q in range(na):
                t = act[q]
                if s[t] > 0:
                    if a[t] > 0.0:
                        gt = G[t]
                        if gt > gmax2:
                            gmax2 = gt
                        d = gmax + gt
                        if d > 0:
                            qq = qii + qd[t] - 2.0 * Ki[k[t]]
                            if qq <= 0:
                                qq = tau
                            o = -d * d / qq
                            if o < best:
                                best = o
                                j = t
                else:
                    if a[t] < u[t]:
                        gt = G[t]
                        if -gt > gmax2:
                            gmax2 = -gt
                        d = gmax - gt
                        if d > 0:
                            qq = qii + qd[t] - 2.0 * Ki[k[t]]
                            if qq <= 0:
                                qq = tau
                            o = -d * d / qq
                            if o < best:
                                best = o
                                j = t
            gap = gmax + gmax2
        if i < 0 or j < 0 or gap < tol:
            if na < nv:
                _gradient(K, k, s, p, a, G)
                for q in range(nv):
                    act[q] = q
                na = nv
                counter = 1
                gap = 1e300
                g1 = -np.inf
                g2 = -np.inf
                for t in range(nv):
                    v = -s[t] * G[t]
                    if (s[t] > 0 and a[t] < u[t]) or (s[t] < 0 and a[t] > 0.0):
                        g1 = max(g1, v)
                    if (s[t] > 0 and a[t] > 0.0) or (s[t] < 0 and a[t] < u[t]):
                        g2 = max(g2, -v)
                gap = g1 + g2
                if gap < tol:
                    break
                continue
            break
        it += 1
        Kj = K[k[j]]
        qq = qii + qd[j] - 2.0 * Ki[k[j]]
        if qq <= 0:
            qq = tau
        step = (-s[i] * G[i] + s[j] * G[j]) / qq
        step = min(step, u[i] - a[i]) if s[i] > 0 else min(step, a[i])
        step = min(step, a[j]) if s[j] > 0 else min(step, u[j] - a[j])
        ai = a[i] + s[i] * step
        aj = a[j] - s[j] * step
        if ai < 1e-15 * u[i]:
            ai = 0.0
        if ai > u[i] * (1 - 1e-15):
            ai = u[i]
        if aj < 1e-15 * u[j]:
            aj = 0.0
        if aj > u[j] * (1 - 1e-15):
            aj = u[j]
        di = s[i] * (ai - a[i])
        dj = s[j] * (aj - a[j])
        a[i] = ai
        a[j] = aj
        for q in range(na):
            t = act[q]
            kt = k[t]
            G[t] += s[t] * (di * Ki[kt] + dj * Kj[kt])
    if na < nv:
        _gradient(K, k, s, p, a, G)
    nf = 0
    sb = 0.0
    ub = np.inf
    lb = -np.inf
    for t in range(nv):
        yg = s[t] * G[t]
        if a[t] >= u[t]:
            if s[t] < 0:
                ub = min(ub, yg)
            else:
                lb = max(lb, yg)
        elif a[t] <= 0.0:
            if s[t] > 0:
                ub = min(ub, yg)
            else:
                lb = max(lb, yg)
        else:
            nf += 1
            sb += yg
    rho = sb / nf if nf > 0 else (ub + lb) / 2
    return -rho, it, gap


def seed_alpha(a, s, uold, unew):
    """Alpha seeding: at a bound stays at it, else clipped; the equality is repaired.

    Free variables take part first, then all that have room.
    """
    at = (a >= uold * (1 - 1e-12)) & (uold > 0)
    a = np.where(at, unew, np.minimum(a, unew))
    r = s @ a
    if r != 0:
        room = np.where(s * r > 0, a, unew - a)
        free = (a > 0) & (a < unew)
        rf = room * free
        if rf.sum() >= abs(r):
            a = a - np.sign(r) * s * rf * (abs(r) / rf.sum())
        else:
            tot = room.sum()
            a = a - np.sign(r) * s * room * min(abs(r) / tot, 1.0)
    return np.clip(a, 0, unew)
