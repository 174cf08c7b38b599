"""Fitted estimators to and from a file that holds JSON and plain arrays, never pickled code."""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray
from edgewise._version import __version__
from edgewise.estimators._tree_nodes import Covariate, Split, TreeNode
from edgewise.graph import Graph
from edgewise.io.archive import read_archive, write_archive
from edgewise.selection import PairSelection, Selection

FORMAT: Final = "edgewise estimator"
FORMAT_VERSION: Final = 1
#: The only classes a file can name, all of them public names of the package.
ESTIMATORS: Final = (
    "BayesNetClassifier",
    "BlanketBayesNet",
    "BootstrapGraph",
    "ConditionalGraph",
    "DTraceChange",
    "DiscreteMarkovNet",
    "FusedNetworkChange",
    "GaussianBayesNet",
    "GaussianGraph",
    "GraphTree",
    "KernelGraph",
    "LocallyConstantGraph",
    "NeighborhoodGraph",
    "NetworkChange",
    "SeparateNetworkChange",
    "StabilitySelection",
)
#: The only result classes, by name: frozen dataclasses of values that can be saved.
RESULTS: Final = {
    result.__name__: result
    for result in (Covariate, Graph, PairSelection, Selection, Split, TreeNode)
}
#: Marks a JSON object that stands for something JSON has no type for.
KIND: Final = "edgewise type"


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
        With the parameters and the fitted attributes it was saved with.

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
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}.") from error
    if type(estimator).__name__ not in ESTIMATORS:
        raise InputError(f"{path} does not hold an estimator.")
    return estimator


class _Writer:
    """Turns values into JSON, putting arrays aside under numbered names."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}

    def encode(self, value: Any, label: str) -> Any:
        """Return what JSON can carry, or name the part that cannot be saved."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return self.encode(value.item(), label)
        if isinstance(value, np.ndarray):
            return self._encode_array(value, label)
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{label}[{k}]") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {KIND: "tuple", "items": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            entries = {key: self.encode(item, f"{label}[{key!r}]") for key, item in value.items()}
            return {KIND: "dict", "items": entries}
        if type(value) in RESULTS.values():
            fields = {
                field.name: self.encode(getattr(value, field.name), f"{label}.{field.name}")
                for field in dataclasses.fields(value)
            }
            return {KIND: type(value).__name__, "fields": fields}
        if type(value).__name__ in ESTIMATORS and hasattr(value, "get_params"):
            return self._encode_estimator(value)
        raise InputError(
            f"{label} is a {type(value).__name__}, which cannot be saved without pickling it. "
            "Set it to a number, text or array first."
        )

    def _encode_array(self, value: AnyArray, label: str) -> dict[str, Any]:
        if value.dtype.kind == "O":
            if not all(isinstance(item, str) for item in value.flat) or value.ndim != 1:
                raise InputError(f"{label} holds Python objects, which cannot be saved.")
            return {KIND: "names", "items": value.tolist()}
        name = f"a{len(self.arrays)}"
        self.arrays[name] = value
        return {KIND: "array", "name": name}

    def _encode_estimator(self, estimator: Any) -> dict[str, Any]:
        name = type(estimator).__name__
        fitted = {key: value for key, value in vars(estimator).items() if is_fitted_name(key)}
        parameters = estimator.get_params(deep=False)
        return {
            KIND: "estimator",
            "class": name,
            "parameters": {k: self.encode(v, f"{name}.{k}") for k, v in parameters.items()},
            "fitted": {k: self.encode(v, f"{name}.{k}") for k, v in fitted.items()},
        }


class _Reader:
    """Builds values from JSON and arrays; every class it can build is named here."""

    def __init__(self, arrays: dict[str, AnyArray]) -> None:
        self.arrays = arrays

    def decode(self, value: Any) -> Any:
        """Return the value that `_Writer.encode` was given."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value[KIND]
        if kind == "array":
            return self.arrays[value["name"]]
        if kind == "names":
            return np.array(value["items"], dtype=object)
        if kind == "tuple":
            return tuple(self.decode(item) for item in value["items"])
        if kind == "dict":
            return {str(key): self.decode(item) for key, item in value["items"].items()}
        if kind in RESULTS:
            fields = {name: self.decode(item) for name, item in value["fields"].items()}
            return RESULTS[kind](**fields)
        if kind == "estimator":
            return self._decode_estimator(value)
        raise InputError(f"The file holds a {kind!r}, which this version does not know.")

    def _decode_estimator(self, value: dict[str, Any]) -> Any:
        name = value["class"]
        if name not in ESTIMATORS:
            raise InputError(
                f"The file holds a {name!r}, which is not an estimator of edgewise {__version__}."
            )
        parameters = {key: self.decode(item) for key, item in value["parameters"].items()}
        estimator = getattr(importlib.import_module("edgewise"), name)(**parameters)
        for key, item in value["fitted"].items():
            if not is_fitted_name(key):
                raise InputError(f"The file holds an attribute {key!r} that no estimator has.")
            setattr(estimator, key, self.decode(item))
        return estimator


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that ``fit`` sets: public, with a trailing underscore."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")
