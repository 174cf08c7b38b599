"""Files in and out: tables, archives and the safe way to write. Arrays and plain dicts only.

None of it is public: estimators and graphs read and write themselves.
"""

from edgewise.io.archive import (
    atomic_path as atomic_path,
    read_archive as read_archive,
    write_archive as write_archive,
)
from edgewise.io.messages import quote_names as quote_names
from edgewise.io.tables import (
    RawTable as RawTable,
    read_chunks as read_chunks,
    read_table as read_table,
)

__all__: list[str] = []
