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
#: Sets of the brain table: the dataset of OpenNeuro, and the groups that make either class, the
#: class of patients or of the old first.
SETS: Final[dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "young-old": ("ds000222", ("OLD",), ("YOUNG",)),
    "schizophrenia": ("ds000115", ("SCZ",), ("CON", "CON-SIB")),
    "depression": ("ds003653", ("UD",), ("HC",)),
}
N_REGIONS: Final = 40
#: Share of the rows to learn from.
TRAINED: Final = 0.63
#: Lobes of the regions whose networks are compared, as in the paper: the subcortical regions count
#: to the temporal lobe, and the hippocampi are always there.
FOUR_LOBES: Final = (FRONTAL, PARIETAL, OCCIPITAL, TEMPORAL)
HIPPOCAMPUS: Final = "hippocampus"
#: People in a group that make it worth comparing.
FEWEST: Final = 15


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


def sets_of(path: Path) -> list[str]:
    """Name the sets of `SETS` that a table has rows of, in both classes."""
    raw = read_table(path)
    if missing := [name for name in ("dataset", "group") if name not in raw.names]:
        raise InputError(
            f"{path} has no column {quote_names(missing)}. The table needs a row per person with "
            f"'dataset', 'group' and the measures of brain regions."
        )
    columns = dict(zip(raw.names, raw.columns, strict=True))
    dataset, group = (columns[name].astype(str) for name in ("dataset", "group"))
    found = []
    for name, (source, *classes) in SETS.items():
        n_people = [np.count_nonzero((dataset == source) & np.isin(group, one)) for one in classes]
        if min(n_people) >= FEWEST:
            found.append(name)
    if not found:
        sources = [source for source, *_ in SETS.values()]
        raise InputError(
            f"{path} has fewer than {FEWEST} people in a group of each of the datasets "
            f"{quote_names(sources)}. Pass --by to compare the groups of another table."
        )
    return found


@cache
def brains(path: Path, name: str) -> LabelledTable:
    """Read thickness and volume of brain regions of the people of a set.

    Parameters
    ----------
    path : Path
        A table with a row per person: `PERSON`, then a column for each region.
    name : str
        One of `sets_of`.

    Returns
    -------
    LabelledTable
    """
    raw = read_table(path)
    columns = dict(zip(raw.names, raw.columns, strict=True))
    source, first, second = SETS[name]
    group = columns["group"].astype(str)
    is_used = (columns["dataset"].astype(str) == source) & np.isin(group, (*first, *second))
    values, names = _regions(path, columns, is_used)
    return _of_people(
        values, np.isin(group[is_used], second), names, ("+".join(first), "+".join(second))
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
        Five rows of eight are to learn from.
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
    classes = str(first), str(others[0])
    return _of_people(values, group == classes[1], names, classes, lobes)


def _of_people(
    values: FloatArray,
    is_second: BoolArray,
    names: tuple[str, ...],
    classes: tuple[str, str],
    lobes: Path | None = None,
) -> LabelledTable:
    n_train = round(TRAINED * len(values))
    return LabelledTable(
        values=values,
        labels=is_second.astype(np.int64),
        names=names,
        classes=classes,
        n_train=n_train,
        n_test=len(values) - n_train,
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


def choose_by_lobe(table: LabelledTable) -> tuple[IntArray, list[str]]:
    """List as many columns of each lobe, and the lobes they belong to, in the order of columns.

    The hippocampi come first, then the columns whose means differ most between the classes. The
    lobes are those of the paper, or all that there are in a table that lacks one of these.
    """
    found = [lobe_of(name, table.lobes) for name in table.names]
    wanted = tuple(sorted(set(found)))
    if set(FOUR_LOBES) <= set(found):
        wanted = FOUR_LOBES
        found = [TEMPORAL if lobe == SUBCORTICAL else lobe for lobe in found]
    difference, _ = f_classif(table.values, table.labels)
    is_first = np.array([HIPPOCAMPUS in name.lower() for name in table.names])
    order = np.lexsort((-difference, ~is_first)).tolist()
    chosen: list[int] = []
    for lobe in wanted:
        members = [column for column in order if found[column] == lobe]
        chosen += members[: N_REGIONS // len(wanted)]
    chosen.sort()
    return np.array(chosen, dtype=np.int64), [found[column] for column in chosen]


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
