"""Worlds for intervals: inputs of three laws, three kinds of shift, small learners.

p(y | x) never changes. Inputs are normal, skewed (lognormal) or heavy-tailed (Student's
t of 3 to 6 degrees of freedom); the target is moved along a direction, selected by a
logistic curve, or widened and moved. Responses have kinks, a product and a wave that
the linear learners do not know, and grow no faster than the inputs; every other
classification has 3 to 5 % positives.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

INPUTS = ("normal", "skewed", "heavy-tailed")
METRICS = {
    "regression": ("neg_mean_squared_error",),
    "classification": ("accuracy", "neg_log_loss", "roc_auc", "f1"),
}


@dataclass(eq=False)
class World:
    """One law of source and target, and a learner; all chance comes from `seed`."""

    seed: int
    rng: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rng = self.rng = np.random.default_rng([20, 7, self.seed])
        self.inputs = INPUTS[self.seed % 3]
        self.kind = ("regression", "classification")[self.seed // 3 % 2]
        self.rare = self.kind == "classification" and self.seed // 6 % 2 == 1
        self.d = int(rng.integers(2, 8))
        self.n, self.m = (int(rng.choice([500, 1000, 2000])) for _ in range(2))
        if self.rare:
            self.n = int(rng.choice([600, 1000, 1500]))
        self.shift = str(rng.choice(["moved", "selected", "widened"]))
        self.strength = rng.uniform(0.2, 1.2)
        self.freedom, self.sigma = int(rng.integers(3, 7)), rng.uniform(0.4, 0.9)
        used = min(self.d, 2 + int(rng.integers(0, 2)))
        self.direction = np.zeros(self.d)
        self.direction[:used] = rng.normal(size=used)
        self.direction /= np.linalg.norm(self.direction)
        self.slopes = rng.normal(size=self.d)
        self.kinks = 0.6 * rng.normal(size=self.d) * (rng.random(self.d) < 0.5)
        self.wave, self.growth = rng.uniform(0, 1.5), rng.uniform(0, 0.4)
        self.linear = rng.random() >= 0.35
        share = rng.uniform(0.03, 0.05) if self.rare else rng.uniform(0.2, 0.6)
        z = self._law(self._inputs(40_000, target=False))
        self.middle, self.spread, self.offset = z.mean(), z.std(), 0.0
        if self.kind == "classification":
            z = 1.5 * (z - self.middle) / self.spread
            self.offset = brentq(lambda c: expit(z + c).mean() - share, -15, 15)

    def draw(self, n: int, *, target: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their responses or classes."""
        X = self._inputs(n, target=target)
        z = (self._law(X) - self.middle) / self.spread
        if self.kind == "classification":
            return X, (self.rng.random(n) < expit(1.5 * z + self.offset)).astype(int)
        noise = 0.4 * np.exp(np.clip(self.growth * X[:, 0], -3, 3))
        return X, z + noise * self.rng.normal(size=n)

    def model(self) -> Any:
        """Return a learner fitted to rows of the source."""
        X, y = self.draw(self.n, target=False)
        options = {"max_depth": 5, "min_samples_leaf": 20, "random_state": 0}
        if self.kind == "regression":
            model = Ridge() if self.linear else DecisionTreeRegressor(**options)
        elif self.linear:
            # Without it a rare class is never predicted, and F1 is zero.
            balance = "balanced" if self.rare else None
            model = LogisticRegression(class_weight=balance)
        else:
            model = DecisionTreeClassifier(**options | {"max_depth": 4})
        return make_pipeline(StandardScaler(), model).fit(X, y)

    def _law(self, X: np.ndarray) -> np.ndarray:
        return (
            X @ self.slopes
            + np.abs(X) @ self.kinks
            + self.wave * np.sin(2 * X[:, 0])
            + X[:, 0] * np.tanh(X[:, 1])
        )

    def _inputs(self, n: int, *, target: bool) -> np.ndarray:
        if target and self.shift == "selected":
            Z = self._selected(n)
        else:
            Z = self._latent(n)
            if target and self.shift == "moved":
                Z = Z + 1.4 * self.strength * self.direction
            elif target:
                Z = Z * (1 + 0.35 * self.strength * (self.direction != 0))
                Z = Z + 0.5 * self.strength * self.direction
        if self.inputs == "skewed":
            # Lognormal columns of mean zero and variance one in the source.
            mean = np.exp(self.sigma**2 / 2)
            Z = (np.exp(self.sigma * Z) / mean - 1) / np.sqrt(np.expm1(self.sigma**2))
        return Z

    def _latent(self, n: int) -> np.ndarray:
        if self.inputs != "heavy-tailed":
            return self.rng.normal(size=(n, self.d))
        scale = np.sqrt(self.freedom / (self.freedom - 2))
        return self.rng.standard_t(self.freedom, size=(n, self.d)) / scale

    def _selected(self, n: int) -> np.ndarray:
        parts: list[np.ndarray] = []
        while sum(map(len, parts)) < n:
            Z = self._latent(4 * n)
            chance = expit(4 * self.strength * (Z @ self.direction) - 1)
            parts.append(Z[self.rng.random(len(Z)) < chance])
        return np.concatenate(parts)[:n]
