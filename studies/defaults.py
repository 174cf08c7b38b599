"""What the defaults are chosen by: studies on data with a known truth."""

from __future__ import annotations

from studies import gaussian
from studies.covariates import partition
from studies.discrete import ising
from studies.study import Study

STUDY = Study(
    name="defaults",
    title="What the defaults do, and why",
    reference="none; rules of ours and of other packages on data with a known truth",
    version=1,
    parts=(gaussian.PART, ising.PART, partition.CUTS),
)
