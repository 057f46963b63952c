"""What a tighter bound costs: fits down a list of bounds, each from the last."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from counterpoise.convex.network import Layer
from counterpoise.learners.convex_network.asked import plain, constraint_name
from counterpoise.learners.convex_network.door import read
from counterpoise.learners.convex_network.infeasible import InfeasibleConstraintError
from counterpoise.numerics.arrays import Array
from counterpoise.validation import (
    InvalidInput,
    check_choice,
    check_number,
    warn_user,
)
from counterpoise.validation.warning import held_back


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Fits of one network over descending bounds of one constraint.

    Attributes
    ----------
    constraint : str
        Its name.
    bounds : array of shape (k,)
        Descending.
    objective, loss : arrays of shape (k,)
        Of the fits; NaN where there is none.
    price : array of shape (k,)
        Minus the slope of the objective by the bound: the multiplier, summed over all
        classes where all have the bound.
    feasible : array of bool of shape (k,)
        Whether the bound was met.
    fitted : tuple
        The fitted estimators; None where the bound was not met.
    """

    constraint: str
    bounds: Array
    objective: Array
    loss: Array
    price: Array
    feasible: Any
    fitted: tuple[Any, ...]

    def at(self, bound: float) -> Any:
        """Return the estimator that was fitted with a bound of the list."""
        places = np.flatnonzero(np.isclose(self.bounds, bound, rtol=1e-9, atol=0.0))
        if not places.size:
            raise InvalidInput(
                f"bound must be one of {self.bounds.tolist()}, got {bound}"
            )
        found = self.fitted[int(places[0])]
        if found is None:
            raise InvalidInput(
                f"{self.constraint} = {bound:g} was not met: there is no fit"
            )
        return found


class WithTradeOff:
    """A network that can be fitted down a list of bounds."""

    _constraint_names: tuple[str, ...] = ()

    def trade_off(
        self: Any,
        X: Any,
        y: Any,
        bounds: Any,
        *,
        constraint: str = "class_error_bound",
        sample_weight: Any = None,
        X_target: Any = None,
        groups: Any = None,
    ) -> TradeOff:
        """Return fits over descending bounds of one constraint, each from the last.

        Parameters
        ----------
        X, y, sample_weight, X_target, groups
            As of `fit`.
        bounds : sequence of float
            Values of the constraint; they are tried from the largest on.
        constraint : str
            "class_error_bound" (classifiers alone): the bound of every class; or the
            name of one constraint: "class_error_bound['MIT']",
            "group_means['north']", "target_mean" (one number: the mean).

        Returns
        -------
        TradeOff

        Notes
        -----
        Other constraints stay as they are. Networks are not convex: a tighter bound is
        met at a higher objective as a rule, and not by necessity.
        """
        parameter, key = self._constraint(constraint)
        wanted = np.unique(
            [check_number(f"bounds[{k}]", one) for k, one in enumerate(bounds)]
        )[::-1]
        if not wanted.size:
            raise InvalidInput("bounds is empty: at least one is needed")
        name = parameter if key is None else constraint_name(parameter, key)
        fitted: list[Any] = []
        before: list[Layer] | None = None
        unproved = 0
        others = getattr(self, parameter)
        if parameter == "class_error_bound" and isinstance(others, Real):
            # One number is the bound of every class; the others keep it.
            every = self._alike()
            read(every, X, y, sample_weight, X_target, groups)
            others = dict.fromkeys(map(plain, every.classes_), others)
        for bound in wanted:
            one = self._with_bound(parameter, key, float(bound), others)
            with held_back(ConvergenceWarning):
                given = read(one, X, y, sample_weight, X_target, groups)
                try:
                    one._fit(given, before)
                except InfeasibleConstraintError:
                    fitted.append(None)
                    continue
            unproved += not one.solution_.converged
            before = list(map(Layer, one.coefs_, one.intercepts_))
            fitted.append(one.set_params(infeasible=self.infeasible))
        if unproved:
            warn_user(
                f"trade_off: {unproved} of {len(fitted)} fits have not converged at "
                f"tol {self.tol:g}; raise max_rounds or tol",
                ConvergenceWarning,
            )
        met = [one is not None for one in fitted]

        def each(number: Callable[[Any], float]) -> Array:
            return np.array([np.nan if f is None else number(f) for f in fitted])

        return TradeOff(
            name,
            wanted,
            each(lambda f: f.objective_history_[-1]),
            each(lambda f: f.loss_),
            each(lambda f: _price(f, name)),
            np.array(met),
            tuple(fitted),
        )

    def _constraint(self: Any, constraint: str) -> tuple[str, Any]:
        """Return the parameter and the key that a name speaks of."""
        parts = re.fullmatch(r"(\w+)\[(.*)\]", str(constraint))
        parameter = str(constraint) if parts is None else parts[1]
        check_choice("constraint", parameter, self._constraint_names)
        if parts is None:
            if parameter == "group_means":
                raise InvalidInput(
                    "constraint must name the group: \"group_means['north']\""
                )
            return parameter, None
        return parameter, self._key_named(parameter, parts[2])

    def _key_named(self: Any, parameter: str, text: str) -> Any:
        """Return the class or group whose name is written so."""
        given = getattr(self, parameter)
        if isinstance(given, Mapping):
            for key in given:
                if repr(plain(key)) == text:
                    return plain(key)
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def _with_bound(
        self: Any, parameter: str, key: Any, bound: float, others: Any
    ) -> Any:
        """Return an unfitted copy with that bound, which refuses what cannot be met."""
        value: Any = bound
        if key is not None:
            value = {**(others if isinstance(others, Mapping) else {}), key: bound}
        return self._alike(**{parameter: value, "infeasible": "raise"})


def _price(fitted: Any, name: str) -> float:
    if name in fitted.multipliers_:
        return float(fitted.multipliers_[name])
    own = [p for n, p in fitted.multipliers_.items() if n.startswith(f"{name}[")]
    return float(sum(own))
