"""Networks learned to tell classes apart: the paper's experiments on public data sets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from studies.classify import accuracy, connectivity
from studies.classify.accuracy import BRAIN, BREAST
from studies.classify.data import breast_cancer, fingerprint, young_and_old
from studies.study import Study


def with_table(path: Path) -> Study:
    """Add the parts on the brain table.

    Parameters
    ----------
    path : Path
        A table with ``dataset``, ``group`` and the measures of brain regions.

    Returns
    -------
    Study
    """
    load = partial(young_and_old, path.resolve())
    load()
    digest = fingerprint(path)
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
    version=1,
    parts=(accuracy.part_of(BREAST, breast_cancer),),
    with_table=with_table,
)
