"""A weighted SVM on a sliding window."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from counterpoise.data.arrays import estimator_matrix
from counterpoise.data.labels_and_weights import as_classes
from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError
from counterpoise.linalg.arrays import Array, Indices
from counterpoise.optim.quadratic_path.follower import center_bias, crossover
from counterpoise.optim.quadratic_path.problem import DenseRows
from counterpoise.svm.base import (
    ClassifierSVM,
    ClassWeight,
    KernelParameter,
    Layout,
    Machine,
    Target,
    named_kernel,
    solve_first,
)
from counterpoise.svm.path import pairs_of

# Places without a row, so that new rows come in before old ones have gone.
SPARE = 32


class SlidingWindowSVC(ClassifierSVM):
    r"""Support vector classifier on the last rows of a stream, moved exactly.

    .. math:: \min_{f, b} \|f\|^2 / 2
              + C \sum_i v_{y_i} w_i \max(0, 1 - y_i (f(x_i) + b))

    over the rows in the window, with class weights v. In a window of n rows, a row
    after which k others have come has the weight

    .. math:: w = 2 / (1 + \exp(2 s k / n - s)) \quad \text{(logistic)}, \qquad
              w \propto \exp(-s k / n) \quad \text{(exponential, of mean one)},

    so that the newest weighs about :math:`e^s` times the oldest. `partial_fit` takes
    rows in, lets the oldest go and changes all weights, along the exact path between
    both solutions. More than two classes: one against one.

    Parameters
    ----------
    window : int
        How many rows count.
    forgetting : {"logistic", "exponential"}
        How weights fall with age.
    steepness : float
        s, how fast; zero: all rows count the same.
    C : float
        Weight of the loss against the norm.
    kernel : {"rbf", "linear", "poly"} or callable
        Must be positive semidefinite.
    degree, coef0 : int, float
        Of the polynomial kernel.
    gamma : "scale", "auto" or float
        Kernel width: exp(-gamma * dist**2). "scale" uses the weighted variance of the
        rows of the first call, and stays: give a number if these are few.
    tol : float
        Of the first approximate solution, where one is used; the result is exact.
    class_weight : dict, "balanced" or None
        Factors of the classes; "balanced" counts weights, in every window anew.
    cache_size : float
        Megabytes that a Gram matrix may take; above, its rows are computed on demand.
    decision_function_shape : {"ovr", "ovo"}
    max_iter : int
        Most events of an update, more are an error; -1: 50 a row and 2000.

    Attributes
    ----------
    classes_ : array
    X_fit_ : array of shape (n_places, d)
        Where rows are kept: those of the window, and some that have gone.
    window_ : array of int
        The places of the window's rows, the oldest first.
    sample_weight_ : array of shape (n_places,)
        The weights by age, zero where a row has gone.
    support_, support_vectors_, n_support_, dual_coef_, intercept_ : arrays
        As in scikit-learn; `support_` counts places.
    coef_ : array of shape (n_machines, d)
        The same for a linear kernel.
    n_iter_ : array
        Events of the last move of each machine.

    Notes
    -----
    An update of k rows costs k new kernel rows, one product with the Gram matrix, and
    O(n |M|) an event, M the rows on the margin. With exponential forgetting the weights
    fall in proportion first, which needs no product, and then the rows change. A class
    of which no row is left in the window may come back: until then it is never
    predicted.

    References
    ----------
    Karasuyama, Harada, Sugiyama and Takeuchi (2012); Cao and Tay (2003).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> y = X[:, 0] + 0.3 * rng.standard_normal(300) > 0.0
    >>> model = SlidingWindowSVC(window=100).fit(X[:200], y[:200])
    >>> model = model.partial_fit(X[200:], y[200:])
    >>> len(model.window_), model.certify().holds(1e-9)
    (100, True)
    """

    def __init__(
        self,
        *,
        window: int = 500,
        forgetting: str = "logistic",
        steepness: float = 3.0,
        C: float = 1.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        cache_size: float = 200.0,
        decision_function_shape: str = "ovr",
        max_iter: int = -1,
    ) -> None:
        self.window = window
        self.forgetting = forgetting
        self.steepness = steepness
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.decision_function_shape = decision_function_shape
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike) -> "SlidingWindowSVC":
        """Fit the window to the last rows, whatever was there before.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows in the order of time, the oldest first.
        y : array of shape (n,)
        """
        return self._begin(X, y, None)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: Sequence[object] | None = None
    ) -> "SlidingWindowSVC":
        """Move the window over new rows.

        Parameters
        ----------
        X : array of shape (k, d)
            Rows in the order of time, newer than those before.
        y : array of shape (k,)
        classes : array, optional
            All classes that will come, needed by the first call alone; by default those
            of its own labels.

        Raises
        ------
        PathError
            If the path cannot be followed to its end, with the theta reached.
        """
        if not hasattr(self, "solutions_"):
            return self._begin(X, y, classes)
        self._check()
        if classes is not None and set(classes) != set(self.classes_.tolist()):
            raise InvalidInputError(
                f"classes must be those of the first call, {self.classes_.tolist()}, "
                f"got {list(classes)}"
            )
        X = estimator_matrix(self, X, reset=False)
        codes = self._codes(y, len(X))
        before = {k: v for k, v in self.__dict__.items() if k != "machines_"}
        try:
            if len(X) >= self.window:
                self._fill(X[-self.window :], codes[-self.window :])
            else:
                self._slide(X, codes)
        except BaseException:
            # A callable kernel may raise anything, and the user may interrupt.
            self.__dict__.pop("machines_", None)
            self.__dict__.update(before)
            raise
        return self

    def _begin(
        self, X: ArrayLike, y: ArrayLike, classes: Sequence[object] | None
    ) -> "SlidingWindowSVC":
        self._check()
        X = estimator_matrix(self, X, reset=True)
        labels = as_classes(y, len(X))
        self._know_classes(labels if classes is None else np.asarray(classes))
        codes = self._codes(labels, len(X))[-self.window :]
        X = X[-self.window :]
        self.kernel_ = named_kernel(self, X, self._by_age(len(X)))
        self._fill(X, codes)
        return self

    def _check(self) -> None:
        super()._check()
        check_integer("window", self.window, low=1)
        check_choice("forgetting", self.forgetting, ["logistic", "exponential"])
        check_number("steepness", self.steepness, low=0)
        check_choice(
            "decision_function_shape", self.decision_function_shape, ["ovr", "ovo"]
        )
        if self.kernel == "precomputed":
            raise InvalidInputError(
                "kernel must not be precomputed for a window that moves"
            )

    def _fill(self, X: Array, codes: Indices) -> None:
        """Solve a window of these rows from scratch."""
        n = len(X)
        self.X_fit_ = np.vstack([X, np.repeat(X[:1], SPARE, axis=0)])
        self.codes_ = np.concatenate([codes, np.repeat(codes[:1], SPARE)])
        self.window_ = np.arange(n)
        c = self._set_weights(np.append(self._by_age(n), np.zeros(SPARE)))
        machines = self._unsolved()
        for machine in machines:
            lower, upper = machine.layout.box(c)
            sides = np.unique(machine.layout.sign[upper > 0.0])
            if sides.size == 2:
                solve_first(machine, self.kernel_, self.X_fit_, upper, self.tol)
            else:
                # A single class is always right.
                bias = float(sides[0]) if sides.size else 0.0
                p = machine.layout.p
                crossover(machine.follower, 0.0 * p, bias, p, lower, upper)
        self._keep(machines)

    def _slide(self, X: Array, codes: Indices) -> None:
        """Let rows in, and as many out as are too many, along the path."""
        machines = self._live()
        k, before = len(X), self.sample_weight_
        in_proportion = self.forgetting == "exponential" and np.allclose(
            before[self.window_], self._by_age(self.window_.size), rtol=1e-9, atol=0.0
        )
        places = self._make_room(k)
        self.X_fit_, self.codes_ = self.X_fit_.copy(), self.codes_.copy()
        self.X_fit_[places], self.codes_[places] = X, codes
        machines = self._with_rows(machines, places)
        self.window_ = np.concatenate([self.window_, places])[-self.window :]
        weights = np.zeros(len(self.X_fit_))
        if in_proportion:
            # All bounds fall in proportion: what they do needs no product with K.
            weights[: before.size] = before * np.exp(-self.steepness * k / self.window)
            c = self._bounds(weights)
            for machine in machines:
                machine.reweight(c)
            # What is left of the weights must stay to the bit, for the same reason.
            gone = np.ones(weights.size, dtype=bool)
            gone[self.window_] = False
            weights[gone] = 0.0
            weights[places] = self._by_age(k)
        else:
            weights[self.window_] = self._by_age(self.window_.size)
        c = self._set_weights(weights)
        for machine in machines:
            machine.reweight(c)
            center_bias(machine.follower)
        self._keep(machines)

    def _make_room(self, k: int) -> Indices:
        """Return k places without a row, more of them made if there are too few."""
        size = len(self.X_fit_)
        idle = np.ones(size, dtype=bool)
        idle[self.window_] = False
        places = np.flatnonzero(idle)
        if places.size < k:
            full = max(self.window_.size + k, min(2 * size, self.window + SPARE))
            more = np.repeat(self.X_fit_[:1], full - size, axis=0)
            self.X_fit_ = np.vstack([self.X_fit_, more])
            self.codes_ = np.append(self.codes_, np.zeros(full - size, dtype=np.intp))
            places = np.append(places, np.arange(size, full))
        return places[:k]

    def _with_rows(self, machines: list[Machine], places: Indices) -> list[Machine]:
        """Return the machines with what is now in these places."""
        size = len(self.X_fit_)
        old = np.arange(size)
        old[machines[0].rows.size :] = -1
        old[places] = -1
        known = machines[0].follower.rows
        fits = callable(self.kernel) or 8.0 * size**2 <= self._bytes
        shared = None
        if fits and isinstance(known, DenseRows):
            shared = self._written(known, places)
        return [
            machine.carried_to(layout, shared or self._gram(layout), old)
            for machine, layout in zip(
                machines, self._layouts(self.codes_), strict=True
            )
        ]

    def _written(self, rows: DenseRows, places: Indices) -> DenseRows:
        """Return the Gram matrix of all places; it is copied only if it grows."""
        size = len(self.X_fit_)
        if size > rows.size:
            K = np.zeros((size, size))
            K[: rows.size, : rows.size] = rows.K
            places = np.append(places[places < rows.size], np.arange(rows.size, size))
            rows = DenseRows(K)
        rows.write(places, self.kernel_.matrix(self.X_fit_[places], self.X_fit_))
        return rows

    def _by_age(self, n: int) -> Array:
        """Return the weights of the n newest rows, the oldest first."""
        age = np.arange(n - 1, -1, -1) / self.window
        if self.forgetting == "logistic":
            logistic: Array = 2.0 / (1.0 + np.exp(self.steepness * (2.0 * age - 1.0)))
            return logistic
        every = np.exp(-self.steepness * np.arange(self.window) / self.window)
        out: Array = np.exp(-self.steepness * age) / every.mean()
        return out

    def _set_weights(self, weights: Array) -> Array:
        """Set the weights of all places; return their bounds."""
        self.sample_weight_ = weights
        n_classes = len(self.classes_)
        mass = np.bincount(self.codes_, weights=weights, minlength=n_classes)
        self.class_weight_ = self._class_weights(np.asarray(mass, dtype=float))
        return self._bounds(weights)

    def _layouts(self, target: Target) -> list[Layout]:
        rows, one = np.arange(len(target)), np.ones(len(target))
        if len(self.classes_) == 2:
            return [Layout(rows, np.where(target == 1, 1.0, -1.0), one)]
        return [
            Layout(
                rows,
                np.where(target == i, 1.0, -1.0),
                one,
                takes_part=(target == i) | (target == j),
            )
            for i, j in pairs_of(len(self.classes_))
        ]

    def _unsolved(self) -> list[Machine]:
        machines: list[Machine] = []
        for layout in self._layouts(self.codes_):
            # Rows on demand are those of one margin: no other machine may share them.
            gram = machines[0].follower.rows if machines else None
            if not isinstance(gram, DenseRows):
                gram = self._gram(layout)
            follower = layout.follower(gram)
            if self.max_iter > 0:
                follower.max_events = int(self.max_iter)
            machines.append(Machine(layout, follower))
        return machines
