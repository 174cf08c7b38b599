"""Files in and out: tables, archives and the safe way to write. Arrays and plain dicts only."""

from edgewise.io.archive import atomic_path, read_archive, write_archive
from edgewise.io.messages import quote_names
from edgewise.io.tables import RawTable, read_chunks, read_table

__all__ = [
    "RawTable",
    "atomic_path",
    "quote_names",
    "read_archive",
    "read_chunks",
    "read_table",
    "write_archive",
]
