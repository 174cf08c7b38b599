"""Networks learned to tell classes apart: the paper's experiments on public data sets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from edgewise import InputError
from studies.classify import accuracy, connectivity
from studies.classify.accuracy import BREAST
from studies.classify.data import Loader, brains, breast_cancer, fingerprint, sets_of, two_groups
from studies.study import Study


def with_table(path: Path, by: str | None = None, lobes: Path | None = None) -> Study:
    """Add the parts on a table of brains.

    Parameters
    ----------
    path : Path
        A table with a row per person and a column for each region; ``dataset`` and ``group`` of
        the sets of `data.SETS` unless ``by`` is given.
    by : str, optional
        A column with the two groups of any other table.
    lobes : Path, optional
        A table with the columns ``part`` and ``lobe``: the first part that the name of a region
        contains decides its lobe.

    Returns
    -------
    Study
    """
    path, where = path.resolve(), None if lobes is None else lobes.resolve()
    loaders: dict[str, Loader]
    if by is not None:
        loaders = {f"by {by}": partial(two_groups, path, by, where)}
    elif lobes is not None:
        raise InputError("--lobes goes with --by.")
    else:
        loaders = {name: partial(brains, path, name) for name in sets_of(path)}
    digest = fingerprint(path)
    parts = [accuracy.part_of(BREAST, breast_cancer, also=tuple(loaders))]
    for load in loaders.values():
        load()
    parts += [accuracy.part_of(name, load, digest=digest) for name, load in loaders.items()]
    parts += [connectivity.part_of(name, load, digest=digest) for name, load in loaders.items()]
    return replace(STUDY, parts=tuple(parts))


STUDY = Study(
    name="discriminative",
    title="Networks learned to tell classes apart",
    reference=(
        "L. Zhou, L. Wang, L. Liu, P. Ogunbona and D. Shen (2016), Learning discriminative "
        "Bayesian networks from high-dimensional continuous neuroimaging data, IEEE Transactions "
        "on Pattern Analysis and Machine Intelligence 38, 2269-2283. "
        "https://doi.org/10.1109/TPAMI.2015.2511754"
    ),
    version=3,
    parts=(accuracy.part_of(BREAST, breast_cancer),),
    with_table=with_table,
)
