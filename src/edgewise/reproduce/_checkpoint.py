"""What a finished task leaves on disk, so that it never has to run again."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewise._core.errors import DataWarning
from edgewise.io import atomic_path


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The rows of one task in a file of its own, whole or not there at all.

    Attributes
    ----------
    path : Path
        The file.
    key : dict
        All that decides the rows. It is part of the name and of the file, so that the rows of
        another run are never taken for those of this one.
    """

    path: Path
    key: dict[str, Any]

    @classmethod
    def of(cls, folder: Path, key: dict[str, Any]) -> Checkpoint:
        """Name the file of a task by its part, its position and a digest of the whole key."""
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        return cls(path=folder / f"{key['part']}-{key['position']:04d}-{digest}.json", key=key)

    def read(self) -> list[dict[str, Any]] | None:
        """Return the rows, or None where there are none that can be used."""
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            document = None
        if not self._fits(document):
            warnings.warn(
                f"The checkpoint '{self.path}' is damaged; its task runs again.",
                DataWarning,
                stacklevel=2,
            )
            return None
        rows: list[dict[str, Any]] = document["rows"]
        return rows

    def _fits(self, document: Any) -> bool:
        return (
            isinstance(document, dict)
            and document.get("key") == self.key
            and isinstance(document.get("rows"), list)
        )

    def write(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Keep the rows, and return them as a later run will read them."""
        text = json.dumps({"key": self.key, "rows": rows}, allow_nan=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.path) as draft:
            draft.write_text(text + "\n", encoding="utf-8")
        kept: list[dict[str, Any]] = json.loads(text)["rows"]
        return kept
