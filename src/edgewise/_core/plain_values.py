"""Serialisation of values as JSON and plain arrays, instead of pickles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from edgewise._core.arrays import is_foreign, to_numpy
from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray

#: Marks a JSON object that stands for something JSON has no type for.
KIND: Final = "edgewise type"
#: Classes of results that a model file may hold, by name.
ARCHIVED: Final[dict[str, type]] = {}

Result = TypeVar("Result", bound=type)


def archived(result: Result) -> Result:
    """Register a frozen dataclass of plain values, so that model files may hold it."""
    ARCHIVED[result.__name__] = result
    return result


class PlainWriter:
    """Turns values into JSON, putting arrays aside under numbered names.

    Parameters
    ----------
    name_of : callable
        Name under which a reader knows a class of results (a dataclass or a named tuple), or
        None where it knows none.
    """

    def __init__(self, name_of: Callable[[type], str | None]) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self._name_of = name_of

    def encode(self, value: Any, label: str) -> Any:
        """Return what JSON can carry, or name the part that cannot be saved."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return self.encode(value.item(), label)
        if isinstance(value, np.ndarray) or is_foreign(value):
            return self._encode_array(to_numpy(value), label)
        if (name := self._name_of(type(value))) is not None:
            fields = {
                field: self.encode(getattr(value, field), f"{label}.{field}")
                for field in _fields(type(value))
            }
            return {KIND: name, "fields": fields}
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{label}[{k}]") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {KIND: "tuple", "items": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            entries = {key: self.encode(item, f"{label}[{key!r}]") for key, item in value.items()}
            return {KIND: "dict", "items": entries}
        return self.encode_other(value, label)

    def encode_other(self, value: Any, label: str) -> Any:
        """Encode what is neither plain nor a result: a hook for subclasses, the base raises."""
        raise InputError("needs_pickling", label=label, type=type(value).__name__)

    def _encode_array(self, value: AnyArray, label: str) -> dict[str, Any]:
        if value.dtype.kind == "O":
            if not all(isinstance(item, str) for item in value.flat) or value.ndim != 1:
                raise InputError("python_objects_not_saved", label=label)
            return {KIND: "names", "items": value.tolist()}
        name = f"a{len(self.arrays)}"
        self.arrays[name] = value
        return {KIND: "array", "name": name}


class PlainReader:
    """Builds values from JSON and arrays.

    Parameters
    ----------
    arrays : dict
        By the names that the writer gave them.
    class_of : callable
        The class behind a name, or None; nothing else is ever built.
    """

    def __init__(self, arrays: dict[str, AnyArray], class_of: Callable[[str], type | None]) -> None:
        self.arrays = arrays
        self._class_of = class_of

    def decode(self, value: Any) -> Any:
        """Return the value that `PlainWriter.encode` was given."""
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
        if (result := self._class_of(kind)) is not None:
            fields = {name: self.decode(item) for name, item in value["fields"].items()}
            return result(**fields)
        return self.decode_other(kind, value)

    def decode_other(self, kind: str, value: dict[str, Any]) -> Any:
        """Decode what is neither plain nor a result: a hook for subclasses, the base raises."""
        raise InputError("unknown_archived_kind", kind=kind)


def _fields(result: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(result):
        return tuple(field.name for field in dataclasses.fields(result))
    names: tuple[str, ...] = getattr(result, "_fields", ())
    return names
