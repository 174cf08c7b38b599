"""Tables that are summed up some rows at a time, because they may not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from edgewise._core.errors import InputError
from edgewise.cli._confidence import Confidence
from edgewise.cli._tables import Source, choose_columns, fingerprint, refuse_single_column
from edgewise.cli.learn.learning import Settings


def without_rows(settings: Settings, **others: Any) -> Settings:
    """Refuse options that need all rows at once, or again; leave out confidence unasked for."""
    asked = {
        "--confidence": settings.confidence.is_asked,
        f"--alpha {settings.alpha}": settings.alpha in ("cv", "stars"),
        f"--missing {settings.missing}": settings.missing != "error",
        f"--covariance {settings.covariance}": settings.covariance
        not in ("correlation", "empirical"),
        **{f"--{name} {value}": value is not None for name, value in others.items()},
    }
    for option, is_given in asked.items():
        if is_given:
            raise InputError(
                f"{option} needs all rows at once, and --stream reads them piece by piece. Leave "
                "one of the two out; for strengths, pass numbers or --alpha ebic."
            )
    return replace(settings, confidence=Confidence())


def stream_source(
    path: Path, *, columns: Sequence[str], drop: Sequence[str], is_discrete: bool
) -> Source:
    """Sum up the rows of a file, or of all files of a folder."""
    from edgewise.io.chunks import read_chunks, table_files
    from edgewise.stats import stream_counts, stream_covariance

    chunks = read_chunks(path)
    first = next(chunks)
    chosen, notes = choose_columns(first, columns, drop)
    refuse_single_column(chosen, was_wider=len(first.names) > 1)
    kept = (choose_columns(chunk, columns, drop)[0] for chunk in chain([first], chunks))
    found = stream_counts(kept) if is_discrete else stream_covariance(kept)
    if found.n_samples < 2:
        raise InputError(f"Found 1 sample (row of the table) in {path}; at least 2 are needed.")
    return Source(
        frame=found,
        fingerprint=fingerprint(table_files(path), path, found.n_samples, chosen.names),
        notes=(*notes, "summed up piece by piece, as --stream asks"),
        is_discrete=is_discrete,
    )
