"""Are shifts of text found, in wide sparse rows?

Two drawn shifts with known ratios, 1,500 documents a side: ten of 50,000 words 1.6
times as frequent, and four topics in other shares. Real text (COUNTERPOISE_DATA):
newsgroups, reviews and mails, 800 rows a side. The AUC of `domain_auc` is compared with
the best of five pipelines that somebody would write; the weights by how much of the gap
they close between the means of the words that differ most.
"""

import os
from itertools import islice
from pathlib import Path

import numpy as np
from reporting import bar, left_out, table
from scipy import sparse
from sizes import first_and_draws
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import AutoWeights, domain_auc

SEED = 40_000
N_WORDS = 10
# As the trial had it: share of the gap closed by AutoWeights, AUC, weights of topics.
BEFORE = "before: 0.03 of the gap, AUC 0.55; topics 0.7, 1.0, 1.2, 1.7"
TOPIC_RATIOS = (0.25, 2 / 3, 1.5, 4.0)


def run(quick: bool) -> dict:
    """Measure drawn and real text."""
    rows, bars, topics = [], [], []
    first, draws = first_and_draws(quick, 1, 3)
    for seed in range(first, first + draws):
        X, T, truth, words = tilted_words(SEED + seed)
        row, weights = _measured("ten words by 1.6", X, T, seed, words)
        rows.append([*row, _error(weights, truth)])
        X, T, truth, topic = four_topics(SEED + seed)
        row, weights = _measured("four topics", X, T, seed)
        rows.append([*row, _error(weights, truth)])
        topics.append([weights[topic == k].mean() for k in range(4)])
    # A quick run has every third pair.
    n, step = (400, 3) if quick else (800, 1)
    for name, X, T in islice(_real(SEED + first, n), 0, None, step):
        rows.append([*_measured(name, X, T, 0)[0], None])
    shown = table(
        f"Text ({BEFORE})",
        "shift | AUC | best of five | by | gap closed | closed by the best | "
        "chosen | ESS / n | error",
        rows,
    )
    means = np.mean(topics, axis=0)
    told = table(
        "Mean weights of four topics",
        "true | found",
        list(zip(TOPIC_RATIOS, means, strict=True)),
    )
    for row in rows:
        bars.append(
            bar(f"{row[0]}: AUC behind the best of five", row[2] - row[1], 0.03)
        )
    drawn = [row[4] for row in rows if row[-1] is not None]
    bars.append(bar("drawn text: least share of the gap closed", min(drawn), least=0.8))
    return {"tables": [shown, told], "bars": bars}


def tilted_words(seed: int, n: int = 1500, n_words: int = 50_000, length: int = 150):
    """Return documents, ten words of which are 1.6 times as frequent in the target."""
    rng = np.random.default_rng(seed)
    rate = 1.0 / np.arange(1, n_words + 1)
    rate *= length / rate.sum()
    words = rng.choice(np.arange(30, 60), N_WORDS, replace=False)
    more = rate.copy()
    more[words] *= 1.6
    X, T = (_documents(rng, one, n) for one in (rate, more))
    counts = np.asarray(X[:, words].sum(axis=1)).ravel()
    return X, T, 1.6**counts, words


def four_topics(seed: int, n: int = 1500, n_words: int = 20_000):
    """Return documents of four topics, in other shares in the target."""
    rng = np.random.default_rng(seed)
    rates = np.tile(1.0 / np.arange(1, n_words + 1), (4, 1))
    for rate in rates:
        rate[rng.choice(n_words, 2000, replace=False)] *= 6
    rates *= 80 / rates.sum(axis=1, keepdims=True)

    def drawn(shares):
        topic = np.sort(rng.choice(4, n, p=shares))
        parts = [_documents(rng, rates[k], np.sum(topic == k)) for k in range(4)]
        return sparse.vstack(parts, format="csr"), topic

    X, topic = drawn([0.4, 0.3, 0.2, 0.1])
    T, _ = drawn([0.1, 0.2, 0.3, 0.4])
    return X, T, np.array(TOPIC_RATIOS)[topic], topic


def _documents(rng, rate, n):
    """Return n documents whose words are Poisson of these rates."""
    lengths = rng.poisson(rate.sum(), n)
    words = rng.choice(rate.size, size=lengths.sum(), p=rate / rate.sum())
    places = np.repeat(np.arange(n), lengths)
    ones = np.ones(words.size)
    return sparse.csr_array((ones, (places, words)), shape=(n, rate.size))


def _measured(name, X, T, seed, words=None):
    auc = domain_auc(X, T, random_state=seed)
    aucs, odds = _five(X, T)
    best = max(aucs, key=aucs.get)
    if words is None:
        apart = np.abs(np.asarray(X.mean(axis=0) - T.mean(axis=0)).ravel())
        words = np.argsort(-apart)[:50]
    auto = AutoWeights(random_state=seed, allow_no_overlap=True).fit(X, X_target=T)
    results = auto.cv_results_
    ratio = np.exp(np.clip(odds[best], -6, 6))
    row = [
        name,
        auc,
        aucs[best],
        best,
        _closed(auto.weights_, X, T, words),
        _closed(ratio / ratio.mean(), X, T, words),
        results["candidate"][results["chosen"]][0],
        auto.effective_sample_size_ / X.shape[0],
    ]
    print("  " + " | ".join(str(cell) for cell in row), flush=True)
    return row, auto.weights_


def _closed(weights, X, T, words):
    """Return the share of the gap that weights close, along the gap of the words."""
    source, target = (np.asarray(one[:, words].mean(axis=0)).ravel() for one in (X, T))
    weighted = np.asarray(weights @ X[:, words]).ravel() / weights.sum()
    gap = target - source
    return float((weighted - source) @ gap / (gap @ gap))


def _error(weights, truth):
    truth = truth / truth.mean()
    return float(((weights - truth) ** 2).mean() / (truth**2).mean())


def _five(X, T):
    """Return the AUC and the source's out-of-fold log odds of five pipelines."""
    logistic = LogisticRegression(max_iter=2000)
    components = TruncatedSVD(12, random_state=0)
    pipelines = {
        "counts, C = 0.1": LogisticRegression(C=0.1, max_iter=2000),
        "counts, C = 0.01": LogisticRegression(C=0.01, max_iter=2000),
        "tf-idf": make_pipeline(TfidfTransformer(), logistic),
        "tf-idf, 12 components": make_pipeline(
            TfidfTransformer(), components, StandardScaler(), logistic
        ),
        "naive Bayes": MultinomialNB(),
    }
    both = sparse.vstack([X, T], format="csr")
    labels = np.repeat([0, 1], [X.shape[0], T.shape[0]])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    aucs, odds = {}, {}
    for name, pipeline in pipelines.items():
        p = cross_val_predict(pipeline, both, labels, cv=folds, method="predict_proba")
        aucs[name] = float(roc_auc_score(labels, p[:, 1]))
        p = np.clip(p[: X.shape[0], 1], 1e-9, 1 - 1e-9)
        odds[name] = np.log(p / (1 - p))
    return aucs, odds


def _real(seed, n):
    """Yield pairs of samples of real text."""
    folder = os.environ.get("COUNTERPOISE_DATA")
    if folder is None:
        left_out("real text: COUNTERPOISE_DATA is not set")
        return
    rng = np.random.default_rng(seed)

    def some(rows, where):
        places = np.flatnonzero(where)
        return rows[rng.choice(places, min(n, places.size), replace=False)]

    news, facts = _matrix(folder, "twenty_newsgroups/newsgroups_unigram5000.npz")
    group = facts["group_names"][facts["group"]]
    software = np.isin(group, ["comp.graphics", "comp.os.ms-windows.misc"])
    yield "newsgroups", some(news, software), some(news, _starts(group, "comp.sys"))
    yield "by date", some(news, facts["split"] == 0), some(news, facts["split"] == 1)
    reviews, facts = _matrix(folder, "amazon_reviews/stars_unibigram5000.npz")
    names, stars = facts["domain_names"][facts["domain"]], facts["rating"]
    electronics = names == "electronics"
    yield "products", some(reviews, electronics), some(reviews, names == "kitchen")
    low, high = electronics & (stars < 3), electronics & (stars > 3)
    yield "stars", some(reviews, low), some(reviews, high)
    mails, facts = _matrix(folder, "sms_mail_spam/sms_mail_spam.npz")
    yield "sms, mail", some(mails, facts["domain"] == 0), some(mails, facts["domain"])
    mail, spam = facts["domain"] == 1, facts["spam"] == 1
    rarely = rng.random(spam.size) < 0.3
    yield (
        "spam in mails",
        some(mails, mail & (~spam | rarely)),
        some(mails, mail & (spam | rarely)),
    )


def _starts(names, beginning):
    return np.char.startswith(names.astype(str), beginning)


def _matrix(folder, path):
    facts = np.load(Path(folder) / path)
    parts = facts["data"].astype(float), facts["indices"].astype(int), facts["indptr"]
    return sparse.csr_array(parts, shape=tuple(facts["shape"])), facts
