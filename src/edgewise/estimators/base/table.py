"""What all estimators of a table of numbers share: rows as floats, names and files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import validate_data

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, local_workers, require_memory
from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise.data.checks import about_size
from edgewise.data.table import Table
from edgewise.estimators.base.archive import save_estimator
from edgewise.graph.graph import card
from edgewise.io.messages import quote_names
from edgewise.selection.rules import needs_rows, rule_name

#: What to do where a table is too large.
MEMORY_ADVICE: Final = (
    "Keep fewer columns, such as those that vary most; take fewer rows; or lower n_jobs, if there "
    "are several processes."
)

#: Gaps below this are nothing but rounding.
ROUNDING: Final = 1e-12
#: What a notebook shows of a fit, where it has it.
MAIN_FIGURES: Final = {
    "alpha_": "penalty alpha",
    "tau_": "penalty tau",
    "bandwidth_": "bandwidth",
    "risk_": "risk",
    "n_resamples": "resamples",
    "false_edge_bound_": "false edges expected, at most",
}


def describe_gap(fit: Any) -> str:
    """Tell how far a convex fit is from the optimum, at most."""
    if not math.isfinite(fit.gap_):
        return "without a certificate, stopped too early: see the warning"
    if not fit.converged_:
        return f"still {fit.gap_:.1g} from the optimum, at most: see the warning"
    if fit.gap_ < ROUNDING:
        return "at the optimum, up to rounding"
    return f"within {fit.gap_:.1g} of the optimum"


def show_fit(estimator: Any) -> str:
    """Write a fit as HTML for notebooks: its network and certificate above scikit-learn's box.

    An estimator that is not fitted shows the box alone.
    """
    box = str(estimator_html_repr(estimator))
    graph = getattr(estimator, "graph_", None)
    if graph is None:
        return box
    figures = {
        words: f"{value:.4g}"
        for name, words in MAIN_FIGURES.items()
        if isinstance(value := getattr(estimator, name, None), (int, float))
    }
    rule = rule_name(getattr(estimator, "alpha", None))
    if rule and MAIN_FIGURES["alpha_"] in figures:
        figures[MAIN_FIGURES["alpha_"]] += f", chosen by {rule.upper()}"
    # What was resampled has the certificate.
    fit = getattr(estimator, "estimator_", estimator)
    if hasattr(fit, "gap_"):
        figures["certificate"] = describe_gap(fit)
    elif hasattr(fit, "converged_"):
        figures["search"] = "converged" if fit.converged_ else "stopped early: see the warning"
    return card(graph, type(estimator).__name__, figures) + box


class TableEstimator(BaseEstimator):
    """Base of the estimators that are fitted to a table of numbers.

    A subclass says what a fit holds at its peak, at least, as measured with a sparse result:
    ``_matrices_held`` arrays of p x p and ``_copies_held`` copies of the table.
    """

    _matrices_held: float = 0.0
    _copies_held: float = 1.0
    _html_repr = show_fit

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, to one file without pickled code.

        Parameters
        ----------
        path : str or path
            File to write, by custom ending in ``.edgewise``; `edgewise.load` reads it.
        """
        save_estimator(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        return tags

    def _as_rows(self, X: Any, *, reset: bool) -> FloatArray:
        """Convert to a float array, or name the columns that hold something else."""
        if reset:
            self._require_memory(X)
        table = Table.from_input(X)
        table.refuse_text()
        # The rows of a fit are looked through once they are known to be finite.
        if not reset and (sentence := about_size(table.values, table.names, least=0.0)):
            raise InputError(sentence)
        note_columns(self, X, reset=reset)
        return table.values

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        """Arrays that a fit holds at its peak, at least."""
        return [
            Arrays(self._matrices_held, (n_features, n_features)),
            Arrays(self._copies_held, (n_rows, n_features)),
        ]

    def _require_memory(self, table: Any, workers: int = 1) -> None:
        """Refuse a table to which a fit would not fit into memory, before anything is done."""
        rules = [getattr(self, name, None) for name in ("alpha", "tau", "bandwidth")]
        if any(needs_rows(rule) for rule in rules):
            workers = max(workers, local_workers(getattr(self, "n_jobs", None)))
        require_fit_memory(self, table, self._arrays_held, workers)

    def _names(self) -> list[str] | None:
        """Names of the columns; None where the data had none."""
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _labels(self, columns: BoolArray) -> list[str]:
        """Names of some columns, for messages."""
        names = self._names() or [f"x{k}" for k in range(len(columns))]
        return [names[k] for k in np.flatnonzero(columns)]

    def _refuse_missing(self, rows: FloatArray) -> None:
        """Name the columns with missing values, for estimators that have no treatment of them."""
        is_missing = np.isnan(rows)
        if is_missing.any():
            which = quote_names(self._labels(np.asarray(is_missing.any(axis=0))))
            raise InputError(
                f"X contains NaN: {np.count_nonzero(is_missing)} missing in {which}. Drop those "
                "rows or columns, or fill them in."
            )


def require_fit_memory(
    estimator: Any,
    table: Any,
    arrays_held: Callable[[int, int], Sequence[Arrays]],
    workers: int = 1,
) -> None:
    """Refuse a fit for which there is not enough memory, if the table says how large it is."""
    shape: tuple[Any, ...] = getattr(table, "shape", ())
    if len(shape) == 2 and all(isinstance(side, Integral) for side in shape):
        require_memory(
            f"A fit of {type(estimator).__name__} to {shape[0]:,} rows and {shape[1]:,} columns",
            arrays_held(*shape),
            advice=MEMORY_ADVICE,
            workers=workers,
        )


def note_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Note number and names of the columns of a sound table, or compare them with those noted."""
    names = list(getattr(X, "columns", ()))
    is_text = [isinstance(name, str) for name in names]
    if any(is_text) and not all(is_text) and not hasattr(X, "column_names"):
        other = next(name for name in names if not isinstance(name, str))
        raise InputError(
            f"Some columns of X have text for a name, and others do not, such as {other!r}. Pass "
            "text for all of them: X.columns = X.columns.astype(str)."
        )
    if names and all(is_text):
        # It depends on versions off whose data frames scikit-learn reads names; pandas is safe.
        X = named(np.empty((0, len(names))), names)
    try:
        validate_data(estimator, X if names else np.asarray(X), reset=reset, skip_check_array=True)
    except ValueError as error:
        raise InputError(f"{str(error).rstrip()} Pass the columns of the fit.") from error


def named(values: AnyArray, names: Sequence[str] | None) -> Any:
    """Return values as a data frame if they have names: scikit-learn reads them off columns."""
    if names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(names))


def column_number(column: Any, names: Sequence[str], parameter: str = "") -> int:
    """Position of a column given by name or number, as a value of a parameter."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    is_number = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if is_number and 0 <= column < len(names):
        return int(column)
    found = f"{parameter} mentions {column!r}, which is no column"
    if not parameter:
        found = f"No column is called {column!r}"
    raise InputError(
        f"{found}. Columns are {quote_names(names)}, or numbers from 0 to {len(names) - 1}."
    )
