"""The tables whose two classes are to be told apart, and their random splits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.io import quote_names, read_table
from studies.study import load_rows

FRONTAL: Final = "frontal"
PARIETAL: Final = "parietal"
OCCIPITAL: Final = "occipital"
TEMPORAL: Final = "temporal"
INSULA: Final = "insula"
CINGULATE: Final = "cingulate"
SUBCORTICAL: Final = "subcortical"
OTHER: Final = "other"
LOBES: Final = (
    FRONTAL, PARIETAL, OCCIPITAL, TEMPORAL, INSULA, CINGULATE, SUBCORTICAL, OTHER,
)  # fmt: skip


def lobe_of(region: str, lobes: Path | None = None) -> str:
    """Name the lobe of a region, by the first line of ``lobes.csv`` whose part its name contains.

    Parts are those of Destrieux' gyri (G) and sulci (S) and of FreeSurfer's volumes, in lower case.
    A sulcus between two lobes counts to the lobe in front of it, the lateral fissure to the insula
    beneath it; hippocampus and amygdala lie in the temporal lobe.

    Parameters
    ----------
    region : str
        Such as ``lh_G_front_sup`` or ``Left-Amygdala``.
    lobes : Path, optional
        Another file with the columns ``part`` and ``lobe``.

    Returns
    -------
    str
        One of `LOBES`; ``"other"`` for ventricles, cerebellum, brain stem and unknown names.

    Examples
    --------
    >>> lobe_of("lh_S_parieto_occipital"), lobe_of("rh_G_oc-temp_med-Lingual"), lobe_of("CSF")
    ('parietal', 'occipital', 'other')
    """
    name = region.lower()
    table = load_rows(__package__, "lobes.csv") if lobes is None else pd.read_csv(lobes)
    parts = table[["part", "lobe"]].itertuples(index=False)
    return next((lobe for part, lobe in parts if part in name), OTHER)


#: Columns of the brain table that are no regions: who somebody is, and means over all regions.
PERSON: Final = ("dataset", "subject", "group", "age", "sex", "eTIV")
MEANS: Final = ("lh_MeanThickness", "rh_MeanThickness")
DATASET: Final = "ds000222"
GROUPS: Final = ("OLD", "YOUNG")
N_REGIONS: Final = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledTable:
    """Rows of two classes, and how they are split.

    Attributes
    ----------
    values : ndarray of shape (n, m)
    labels : ndarray of shape (n,)
        0 or 1.
    names : tuple of str
        Of the columns.
    classes : tuple of str
        Names of the classes 0 and 1.
    n_train, n_test : int
        Rows of the parts of a split.
    n_chosen : int, optional
        How many columns are used, those that differ most between the classes of the training part;
        by default all.
    lobes : Path, optional
        Which lobe a column belongs to, see `lobe_of`.
    """

    values: FloatArray
    labels: IntArray
    names: tuple[str, ...]
    classes: tuple[str, str]
    n_train: int
    n_test: int
    n_chosen: int | None = None
    lobes: Path | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Both parts of a table, standardised by the training part."""

    train: FloatArray
    train_labels: IntArray
    test: FloatArray
    test_labels: IntArray


#: Loads a table.
Loader = Callable[[], LabelledTable]


@cache
def breast_cancer() -> LabelledTable:
    """Load 30 measures of cell nuclei in 569 tumours, malignant or benign."""
    data = load_breast_cancer()
    return LabelledTable(
        values=data.data,
        labels=data.target.astype(np.int64),
        names=tuple(data.feature_names.tolist()),
        classes=("malignant", "benign"),
        n_train=60,
        n_test=200,
    )


@cache
def young_and_old(path: Path) -> LabelledTable:
    """Read thickness and volume of brain regions of young and old people.

    Parameters
    ----------
    path : Path
        A table with a row per person: `PERSON`, then a column for each region.

    Returns
    -------
    LabelledTable
    """
    raw = read_table(path)
    if missing := [name for name in ("dataset", "group") if name not in raw.names]:
        raise InputError(
            f"{path} has no column {quote_names(missing)}. The table needs a row per person with "
            f"'dataset', 'group' and the measures of brain regions."
        )
    columns = dict(zip(raw.names, raw.columns, strict=True))
    group = columns["group"]
    is_used = (columns["dataset"] == DATASET) & np.isin(group.astype(str), GROUPS)
    n_train, n_test = 50, 29
    if np.count_nonzero(is_used) < n_train + n_test or len(set(group[is_used])) < len(GROUPS):
        raise InputError(
            f"{path} has {np.count_nonzero(is_used)} rows of dataset '{DATASET}' in the groups "
            f"{quote_names(GROUPS)}; {n_train + n_test} of both are needed."
        )
    values, names = _regions(path, columns, is_used)
    return LabelledTable(
        values=values,
        labels=(group[is_used] == GROUPS[1]).astype(np.int64),
        names=names,
        classes=GROUPS,
        n_train=n_train,
        n_test=n_test,
        n_chosen=min(N_REGIONS, len(names)),
    )


@cache
def two_groups(path: Path, by: str, lobes: Path | None = None) -> LabelledTable:
    """Read the measures of two groups of people, as a column names them.

    Parameters
    ----------
    path : Path
        A table with a row per person: ``by``, then a column for each region; `PERSON` is passed
        over.
    by : str
        A column with two different values.
    lobes : Path, optional
        Which lobe a region belongs to, see `lobe_of`.

    Returns
    -------
    LabelledTable
        Five rows of eight are to learn from, as of young and old people.
    """
    raw = read_table(path)
    columns = dict(zip(raw.names, raw.columns, strict=True))
    if by not in columns:
        raise InputError(f"{path} has no column {quote_names([by])}.")
    group = columns[by].astype(str)
    first, *others = np.unique(group).tolist()
    if len(others) != 1:
        raise InputError(
            f"{path} has {1 + len(others)} different values in {quote_names([by])}; the study "
            "compares two. Leave only the rows of two groups in the table."
        )
    columns.pop(by)
    values, names = _regions(path, columns, np.ones(len(group), dtype=bool))
    n_train = round(0.63 * len(group))
    return LabelledTable(
        values=values,
        labels=(group == others[0]).astype(np.int64),
        names=names,
        classes=(str(first), str(others[0])),
        n_train=n_train,
        n_test=len(group) - n_train,
        n_chosen=min(N_REGIONS, len(names)),
        lobes=lobes,
    )


def _regions(
    path: Path, columns: Mapping[str, AnyArray], is_used: BoolArray
) -> tuple[FloatArray, tuple[str, ...]]:
    """Take the measures of the regions out of a table, of some of its rows."""
    names = [name for name in columns if name not in (*PERSON, *MEANS)]
    if text := [name for name in names if columns[name].dtype.kind not in "iuf"]:
        raise InputError(f"{path} has no numbers in {quote_names(text)}. Drop those columns.")
    values = np.column_stack([columns[name][is_used] for name in names]).astype(np.float64)
    is_whole = np.asarray(np.isfinite(values).all(axis=0))
    if not is_whole.all():
        bad = [names[column] for column in np.flatnonzero(~is_whole)]
        raise InputError(f"{path} has missing values in {quote_names(bad)}. Drop those columns.")
    return values, tuple(names)


def fingerprint(path: Path) -> str:
    """Short digest of a file, so that results of another table are not taken for those of this."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def choose_columns(table: LabelledTable, rows: IntArray) -> IntArray:
    """List the columns whose means differ most between the classes of some rows, in their order."""
    if table.n_chosen is None:
        return np.arange(table.values.shape[1])
    difference, _ = f_classif(table.values[rows], table.labels[rows])
    return np.sort(np.argsort(-difference, kind="stable")[: table.n_chosen])


def split_table(table: LabelledTable, rng: np.random.Generator) -> Split:
    """Split at random with the same shares of both classes, and standardise."""
    train, test = train_test_split(
        np.arange(len(table.labels)),
        train_size=table.n_train,
        test_size=table.n_test,
        stratify=table.labels,
        random_state=int(rng.integers(2**31)),
    )
    columns = choose_columns(table, train)
    own, other = (table.values[np.ix_(rows, columns)] for rows in (train, test))
    mean, scale = own.mean(axis=0), own.std(axis=0)
    return Split(
        train=(own - mean) / scale,
        train_labels=table.labels[train],
        test=(other - mean) / scale,
        test_labels=table.labels[test],
    )
