"""Fitted estimators to and from a file that holds JSON and plain arrays, never pickled code."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final

from sklearn.base import BaseEstimator

from edgewise._core.errors import EdgewiseError, InputError
from edgewise._core.plain_values import ARCHIVED, KIND, PlainReader, PlainWriter
from edgewise._core.typing import AnyArray
from edgewise._version import __version__
from edgewise.io.archive import DAMAGE, read_archive, write_archive

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
        raise InputError(f"{path} does not hold an estimator. Was it written by its save method?")
    version = document.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            f"{path} was written by edgewise {document.get('edgewise')}, in format {version!r}; "
            f"this is edgewise {__version__}, which reads up to format {FORMAT_VERSION}. "
            "Install the newer version."
        )
    try:
        estimator = _Reader(arrays).decode(document["estimator"])
    except EdgewiseError:
        raise
    except (AttributeError, *DAMAGE) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}.") from error
    if not isinstance(estimator, BaseEstimator):
        raise InputError(f"{path} does not hold an estimator.")
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
            raise InputError(
                f"The file holds a {name!r}, which is not an estimator of edgewise {__version__}."
            )
        parameters = {key: self.decode(item) for key, item in value["parameters"].items()}
        estimator = found(**parameters)
        for key, item in value["fitted"].items():
            if not is_fitted_name(key):
                raise InputError(f"The file holds an attribute {key!r} that no estimator has.")
            setattr(estimator, key, self.decode(item))
        return estimator


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that ``fit`` sets: public, with a trailing underscore."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")
