"""Networks learned to tell classes apart: the paper's experiments on public data sets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from edgewise import InputError
from studies.classify import accuracy, connectivity
from studies.classify.accuracy import BRAIN, BREAST
from studies.classify.data import breast_cancer, fingerprint, two_groups, young_and_old
from studies.study import Study


def with_table(path: Path, by: str | None = None, lobes: Path | None = None) -> Study:
    """Add the parts on a table of brains.

    Parameters
    ----------
    path : Path
        A table with a row per person and a column for each region; ``dataset`` and ``group`` of
        young and old people unless ``by`` is given.
    by : str, optional
        A column with the two groups of any other table.
    lobes : Path, optional
        A table with the columns ``part`` and ``lobe``: the first part that the name of a region
        contains decides its lobe.

    Returns
    -------
    Study
    """
    where = None if lobes is None else lobes.resolve()
    load = partial(young_and_old, path.resolve())
    if by is not None:
        load = partial(two_groups, path.resolve(), by, where)
    elif lobes is not None:
        raise InputError("--lobes goes with --by.")
    load()
    digest = fingerprint(path) + (f" by {by}" if by else "")
    brains = accuracy.part_of(BRAIN, load, digest=digest)
    return replace(STUDY, parts=(*STUDY.parts, brains, connectivity.part_of(load, digest=digest)))


STUDY = Study(
    name="discriminative",
    title="Networks learned to tell classes apart",
    reference=(
        "L. Zhou, L. Wang, L. Liu, P. Ogunbona and D. Shen (2016), Learning discriminative "
        "Bayesian networks from high-dimensional continuous neuroimaging data, IEEE Transactions "
        "on Pattern Analysis and Machine Intelligence 38, 2269-2283. "
        "https://doi.org/10.1109/TPAMI.2015.2511754"
    ),
    version=2,
    parts=(accuracy.part_of(BREAST, breast_cancer),),
    with_table=with_table,
)
