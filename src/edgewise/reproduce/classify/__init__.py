"""Networks learned to tell classes apart: the paper's experiments on tables that are to be had."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from edgewise.reproduce.classify import (
    accuracy as splits,
    accuracy_report,
    connectivity,
    connectivity as connectivity_report,
)
from edgewise.reproduce.classify.accuracy_report import BRAIN, BREAST, TITLES
from edgewise.reproduce.classify.data import breast_cancer, fingerprint, young_and_old
from edgewise.reproduce.classify.figures import draw_figures
from edgewise.reproduce.study import Report, Results, Study


def report_all(results: Results) -> Report:
    """Put the reports of the parts together."""
    parts = [accuracy_report.report({name: results[name] for name in TITLES if name in results})]
    if connectivity.NAME in results:
        parts.append(connectivity_report.report(results[connectivity.NAME]))
    return Report(
        text="\n\n".join(part.text for part in parts),
        claims=tuple(claim for part in parts for claim in part.claims),
    )


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
    added = (splits.part_of(BRAIN, load, digest=digest), connectivity.part_of(load, digest=digest))
    return replace(STUDY, parts=(*STUDY.parts, *added))


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
    parts=(splits.part_of(BREAST, breast_cancer),),
    report=report_all,
    figures=draw_figures,
    with_table=with_table,
)
