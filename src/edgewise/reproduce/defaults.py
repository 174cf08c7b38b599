"""What the defaults are chosen by: studies on data with a known truth."""

from __future__ import annotations

from edgewise.reproduce import gaussian
from edgewise.reproduce.covariates import partition
from edgewise.reproduce.discrete import ising
from edgewise.reproduce.study import Study

STUDY = Study(
    name="defaults",
    title="What the defaults do, and why",
    reference="none; rules of ours and of other packages on data with a known truth",
    version=1,
    parts=(gaussian.PART, ising.PART, partition.CUTS),
)
