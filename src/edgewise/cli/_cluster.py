"""Running on a Dask cluster instead of the cores of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final, TypeAlias

import typer

from edgewise._core.errors import InputError

#: Seconds to wait for a scheduler to answer.
PATIENCE: Final = 10


@contextmanager
def on_cluster(address: str, *, patience: float = PATIENCE) -> Iterator[None]:
    """Send everything that runs in parallel to a Dask scheduler."""
    import joblib

    try:
        import distributed
    except ImportError as error:
        raise InputError(
            "--cluster needs Dask, which is not installed. Run: pip install 'edgewise[dask]'."
        ) from error
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at '{address}'. Give its address as it prints it, as in "
            "--cluster tcp://127.0.0.1:8786."
        ) from error
    with client, joblib.parallel_config("dask", client=client):
        yield


def _use_cluster(context: typer.Context, address: str | None) -> str | None:
    if address is not None:
        context.with_resource(on_cluster(address))
    return address


Cluster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=(
            "Address of a Dask scheduler that resamples, shuffles, folds and tasks are sent to; "
            "its workers need edgewise too. The result does not depend on it."
        ),
        metavar="ADDRESS",
        show_default=False,
        callback=_use_cluster,
    ),
]
