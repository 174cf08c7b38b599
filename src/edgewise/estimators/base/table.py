"""Base of the estimators: reading rows and names, saving to a file.

A file holds JSON and plain arrays, never pickled code.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Final

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import validate_data

from edgewise._core.arrays import array_namespace, is_foreign, like, on_host, to_numpy
from edgewise._core.errors import EdgewiseError, InputError
from edgewise._core.memory import MEMORY_ADVICE, Arrays, local_workers, require_memory
from edgewise._core.plain_values import ARCHIVED, KIND, PlainReader, PlainWriter
from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise._version import __version__
from edgewise.data.checks import about_size, check_weights, refuse_covariance
from edgewise.data.table import Table, column_names
from edgewise.graph.graph import card
from edgewise.io.archive import DAMAGE, read_archive, write_archive
from edgewise.io.messages import quote_names
from edgewise.selection.rules import EBIC, Stepwise, needs_rows, rule_name
from edgewise.stats import Moments
from edgewise.stats.polychoric import ordinal_columns

RANKS: Final = ("nonparanormal", "spearman", "kendall")
LATENT: Final = ("polychoric", "auto")
#: Attribute of an estimator whose columns of ordered answers are settled.
DECIDED: Final = "_decided_kinds"
#: Covariances whose unit is that of latent normal variables, not of the columns.
ON_LATENT_SCALE: Final = (*RANKS, *LATENT)
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
    """Describe the duality gap of a convex fit."""
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
        and not math.isnan(value)
    }
    rule = rule_name(getattr(estimator, "alpha", None))
    if rule and math.isnan(np.max(getattr(estimator, "alpha_", 0.0))):
        figures["graph"] = f"chosen by {rule.upper()}, without a penalty"
    if rule and MAIN_FIGURES["alpha_"] in figures:
        figures[MAIN_FIGURES["alpha_"]] += f", chosen by {rule.upper()}"
    # What was resampled has the certificate.
    fit = getattr(estimator, "estimator_", estimator)
    if hasattr(fit, "gap_"):
        figures["certificate"] = describe_gap(fit)
    elif hasattr(fit, "converged_"):
        figures["search"] = "converged" if fit.converged_ else "stopped early: see the warning"
    pattern = getattr(fit, "cpdag_", None)
    return card(graph, type(estimator).__name__, figures, pattern=pattern) + box


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
        table.refuse_text(allows_order=getattr(self, "covariance", None) in LATENT)
        # The rows of a fit are looked through once they are known to be finite.
        if not reset and (error := about_size(table.values, table.names, least=0.0)):
            raise error
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
                "missing_values_where", n_missing=np.count_nonzero(is_missing), which=which
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
            advice=f"{MEMORY_ADVICE} Or lower n_jobs." if workers > 1 else MEMORY_ADVICE,
            workers=workers,
        )


def note_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Note number and names of the columns of a sound table, or compare them with those noted."""
    names = column_names(X)
    is_text = [isinstance(name, str) for name in names]
    if any(is_text) and not all(is_text) and not hasattr(X, "column_names"):
        other = next(name for name in names if not isinstance(name, str))
        raise InputError("column_names_not_text", other=other)
    if names and all(is_text):
        # It depends on versions off whose data frames scikit-learn reads names; pandas is safe.
        X = named(np.empty((0, len(names))), names)
    try:
        validate_data(estimator, X if names else to_numpy(X), reset=reset, skip_check_array=True)
    except ValueError as error:
        raise InputError("columns_of_fit", error=str(error).rstrip()) from error


def followed(X: Any) -> Any:
    """Return an empty array of the library and on the device that a fit to ``X`` follows, or None.

    With scikit-learn's ``array_api_dispatch`` a fit to an array of another library than numpy is
    solved where that is, and answers with arrays like it.
    """
    X = X.scatter if isinstance(X, Moments) else X
    if not (is_foreign(X) and get_config()["array_api_dispatch"]):
        return None
    xp = array_namespace(X)
    return xp.empty(0, dtype=xp.float64, device=X.device)


def follow(estimator: Any, model: Any, *names: str) -> None:
    """Bring fitted arrays to where ``model``, which `followed` returned, is."""
    for name in names if model is not None else ():
        setattr(estimator, name, like(getattr(estimator, name), model))


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
    raise InputError("unknown_columns_listed", found=found, names=names, n_names=len(names) - 1)


def read_table(
    estimator: Any, X: Any, sample_weight: Any, *, advice: str = ', or alpha="ebic"'
) -> tuple[FloatArray | Moments, FloatArray | None]:
    """Return the data of ``fit`` with the weights of its rows; note the column names.

    Parameters
    ----------
    estimator : TableEstimator
        Its ``covariance`` says what X is; what it takes for ordered answers is noted too.
    X : array-like, data frame or Moments
        Rows, a covariance, or a summary of rows.
    sample_weight : array-like or None
        Weights of the rows.
    advice : str
        What else to pass in place of a rule that resamples rows.
    """
    is_given = estimator.covariance == "precomputed"
    if isinstance(X, Moments) or is_given:
        given = 'covariance="precomputed"' if is_given else "a summary (Moments)"
        for name in ("alpha", "tau"):
            if needs_rows(rule := getattr(estimator, name, None)):
                shown = f'"{rule}"' if isinstance(rule, str) else repr(rule)
                raise InputError(
                    "rule_needs_rows", name=name, shown=shown, given=given, advice=advice
                )
        if sample_weight is not None:
            kind = 'covariance="precomputed"' if is_given else "Moments, which have weights"
            raise InputError("sample_weight_without_rows", kind=kind)
    if isinstance(X, Moments):
        X = on_host(X)
        if estimator.covariance in ON_LATENT_SCALE:
            seen = "ranks" if estimator.covariance in RANKS else "answers"
            raise InputError("moments_without_ranks", covariance=estimator.covariance, seen=seen)
        estimator._as_rows(named(X.scatter, X.names), reset=True)
        return X, None
    if is_given:
        _check_n_samples(estimator)
        return estimator._as_rows(X, reset=True), None
    takes_covariance = "covariance" in estimator.get_params(deep=False)
    way = 'covariance="precomputed"' if takes_covariance else "Moments.from_covariance(S, n)"
    rows = read_rows(estimator, X, sample_weight, f"Pass {way} to use it as one.")
    # What a fit before this one has found has no say.
    vars(estimator).pop("ordinal_", None)
    if estimator.covariance in LATENT and not hasattr(estimator, DECIDED):
        is_auto = estimator.covariance == "auto"
        estimator.ordinal_ = ordinal_columns(X) if is_auto else np.ones(rows[0].shape[1], bool)
    return rows


def decided_kinds(estimator: Any) -> dict[str, Any]:
    """Return which columns are ordered answers, and whether that is settled, for a `Summarizer`.

    It is once the estimator has been fitted, and where `fix_kinds` has said so.
    """
    if estimator.covariance not in LATENT:
        return {}
    if hasattr(estimator, DECIDED):
        return {"ordinal": getattr(estimator, DECIDED), "is_decided": True}
    return {
        "ordinal": getattr(estimator, "ordinal_", None),
        "is_decided": hasattr(estimator, "smallest_p_value_"),
    }


def last_step(estimator: Any) -> Any:
    """Return the estimator that a pipeline ends in, or the estimator itself."""
    while getattr(estimator, "steps", None):
        estimator = estimator.steps[-1][1]
    return estimator


def fix_kinds(estimator: Any, ordinal: BoolArray | None) -> None:
    """Let an estimator that will see parts of the rows take what was decided for the table.

    Which correlations ``covariance="auto"`` takes is a matter of the table, not of chance.
    """
    estimator = last_step(estimator)
    if ordinal is not None and getattr(estimator, "covariance", None) in LATENT:
        setattr(estimator, DECIDED, ordinal)


def read_rows(
    estimator: Any, X: Any, sample_weight: Any, advice: str
) -> tuple[FloatArray, FloatArray | None]:
    """Return the rows of a fit with their weights or None; note the column names."""
    if isinstance(X, Moments):
        raise InputError("needs_rows_not_moments", type=type(estimator).__name__)
    rows = estimator._as_rows(X, reset=True)
    refuse_covariance(rows, advice)
    return rows, None if sample_weight is None else check_weights(sample_weight, len(rows))


def _check_n_samples(estimator: Any) -> None:
    """Refuse a covariance where the EBIC would not know how many rows are behind it."""
    n_samples = getattr(estimator, "n_samples", None)
    rule = rule_name(estimator.alpha)
    if rule in (Stepwise.name, EBIC.name) and n_samples is None:
        raise InputError("rule_needs_n_samples", rule=rule)
    if n_samples is not None and not n_samples > 1:
        raise InputError("n_samples_above_one", n_samples=n_samples)


def read_new_rows(
    estimator: Any, X: Any, sample_weight: Any
) -> tuple[FloatArray, FloatArray | None]:
    """Return rows to be scored, with their weights, or name columns that the fit did not allow."""
    rows = estimator._as_rows(X, reset=False)
    is_bad = ~np.isfinite(rows) if estimator.missing == "error" else np.isinf(rows)
    if is_bad.any():
        which = quote_names(estimator._labels(is_bad.any(axis=0)))
        raise InputError("values_not_finite", which=which)
    return rows, None if sample_weight is None else check_weights(sample_weight, len(rows))


FORMAT: Final = "edgewise estimator"
FORMAT_VERSION: Final = 1
#: Parameters that no result depends on, only how a run goes: they are not saved.
ABOUT_THE_RUN: Final = ("n_jobs", "verbose")


def save_estimator(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator, fitted or not, to one file; `load` is the way back."""
    writer = _Writer()
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "edgewise": __version__,
        "estimator": writer.encode(estimator, type(estimator).__name__),
    }
    write_archive(path, document, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that its ``save`` method wrote.

    Nothing in the file can run code: it holds numbers and text, and only estimators of this
    package are ever built from it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        With the parameters and the fitted attributes it was saved with, but for ``n_jobs`` and
        ``verbose``: these are about a run, not about a model, and have their defaults.

    Raises
    ------
    InputError
        If the file is missing or damaged, holds something else, or was written by a later
        version of the format.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import edgewise
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = edgewise.GaussianGraph(alpha=0.1).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.edgewise")
    ...     again = edgewise.load(f"{folder}/model.edgewise")
    >>> np.array_equal(again.precision_, model.precision_)
    True
    """
    document, arrays = read_archive(path)
    if document.get("format") != FORMAT:
        raise InputError("not_an_estimator_file", path=path)
    version = document.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            "newer_format",
            path=path,
            written_by=document.get("edgewise"),
            version=version,
            version_here=__version__,
            format_version=FORMAT_VERSION,
        )
    try:
        estimator = _Reader(arrays).decode(document["estimator"])
    except EdgewiseError:
        raise
    except (AttributeError, *DAMAGE) as error:
        raise InputError(
            "estimator_file_damaged", path=path, type=type(error).__name__, error=error
        ) from error
    if not isinstance(estimator, BaseEstimator):
        raise InputError("no_estimator_in_file", path=path)
    return estimator


def find_estimator(name: str) -> type[BaseEstimator] | None:
    """Return the public estimator of a name, the only kind of class that files may name."""
    package = importlib.import_module("edgewise")
    found = getattr(package, name) if name in package.__all__ else None
    is_estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if is_estimator else None


class _Writer(PlainWriter):
    """Writes estimators besides plain values and results."""

    def __init__(self) -> None:
        super().__init__(lambda result: result.__name__ if result in ARCHIVED.values() else None)

    def encode_other(self, value: Any, label: str) -> Any:
        """Encode an estimator by its parameters and what ``fit`` has set."""
        name = type(value).__name__
        if find_estimator(name) is not type(value):
            return super().encode_other(value, label)
        fitted = {key: item for key, item in vars(value).items() if is_fitted_name(key)}
        parameters = {
            key: item
            for key, item in value.get_params(deep=False).items()
            if key not in ABOUT_THE_RUN
        }
        return {
            KIND: "estimator",
            "class": name,
            "parameters": {k: self.encode(v, f"{name}.{k}") for k, v in parameters.items()},
            "fitted": {k: self.encode(v, f"{name}.{k}") for k, v in fitted.items()},
        }


class _Reader(PlainReader):
    """Builds estimators besides plain values and results."""

    def __init__(self, arrays: dict[str, AnyArray]) -> None:
        super().__init__(arrays, ARCHIVED.get)

    def decode_other(self, kind: str, value: dict[str, Any]) -> Any:
        """Build a public estimator of this package, never anything else."""
        if kind != "estimator":
            return super().decode_other(kind, value)
        name = value["class"]
        if (found := find_estimator(name)) is None:
            raise InputError("unknown_estimator_in_file", name=name, version=__version__)
        parameters = {key: self.decode(item) for key, item in value["parameters"].items()}
        estimator = found(**parameters)
        for key, item in value["fitted"].items():
            if not is_fitted_name(key):
                raise InputError("unknown_attribute_in_file", key=key)
            setattr(estimator, key, self.decode(item))
        return estimator


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that ``fit`` sets: public, with a trailing underscore."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")
