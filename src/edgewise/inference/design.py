"""Designs of a comparison: which rows may change groups, and all or some of the ways to do so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice, product
from math import comb, lgamma, log, prod
from typing import Any, Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.messages import Note
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import label_codes
from edgewise.data.table import Table, take_rows
from edgewise.io.messages import quote_names
from edgewise.stats.rank import nonparanormal

#: Blocks of shuffles, each with a random stream of its own.
N_BLOCKS: Final = 32
#: Rows of a group that a test of its network needs, and blocks in time.
FEWEST_ROWS: Final = 5
#: What is left of a covariate, as a share of its norm, when the groups explain it.
EXPLAINED: Final = 1e-8
#: Powers of the normal scores of a covariate that are adjusted for, and rows and different values
#: that each takes.
POWERS: Final = 4
ROWS_PER_TERM: Final = 20
VALUES_PER_TERM: Final = 5
#: Level of the decision that sequential stopping is about.
LEVEL: Final = 0.05
#: Rows that blocks must have on average for their means to be taken away.
BLOCK_ROWS: Final = 5


class Shuffles(NamedTuple):
    """Orders of the rows, shape (b, n), group after group, and the sizes of the groups, (b, K)."""

    orders: IntArray
    sizes: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """How the rows of a comparison were collected; every field has an entry per row.

    Attributes
    ----------
    paired : array-like of shape (n,), optional
        The subject of each row, for subjects with rows in every group: before and after, or all
        doses. Labels change places within subjects only. All rows that a subject has in a group
        move together.
    blocks : array-like of shape (n,), optional
        Site, batch or the like. Labels change places within blocks only, and the means of blocks
        of five rows or more on average are taken away, so that differences between blocks do not
        count.
    clusters : array-like of shape (n,), optional
        The subject of each row, for subjects with several rows, all in one group. Whole subjects
        change groups, since rows of a subject are alike.
    covariates : array-like or data frame of shape (n, c), optional
        Numbers or text, such as age and sex. What they explain of each column, in the same way in
        all groups, is taken away, and residuals change places instead of rows (Freedman and Lane
        1983). A number has a linear effect and, where there are rows enough, a smooth one: four
        powers of its normal scores.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import Design, compare_networks
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> design = Design(paired=np.tile(np.arange(20), 2))
    >>> y = np.repeat(["before", "now"], 20)
    >>> compare_networks(X, y, design=design, random_state=0).pvalue > 0.05
    True
    """

    paired: Any = None
    blocks: Any = None
    clusters: Any = None
    covariates: Any = field(default=None, repr=False)

    def take(self, rows: IntArray) -> Design:
        """Return the design of some rows."""
        parts = (self.paired, self.blocks, self.clusters, self.covariates)
        taken = [None if part is None else take_rows(part, rows) for part in parts]
        return Design(paired=taken[0], blocks=taken[1], clusters=taken[2], covariates=taken[3])

    def units(self, classes: Sequence[Any], member: IntArray) -> Units:
        """Sort rows into sets that change groups together, and those into blocks.

        Parameters
        ----------
        classes : sequence
            Labels of the groups.
        member : ndarray of shape (n,)
            Number of each row's group.
        """
        n = len(member)
        if self.paired is not None:
            if self.blocks is not None or self.clusters is not None:
                raise InputError("pairs_and_blocks")
            names, block = _codes(self.paired, n, "paired")
            self._check_pairs(names, block, classes, member)
            return Units.of(block * len(classes) + member, member, block)
        block = np.zeros(n, dtype=np.int64)
        if self.blocks is not None:
            _, block = _codes(self.blocks, n, "blocks")
        unit = np.arange(n)
        if self.clusters is not None:
            names, unit = _codes(self.clusters, n, "clusters")
            _check_nested(names, unit, member, [quote_names([label]) for label in classes])
            _check_nested(names, unit, block, None)
        units = Units.of(unit, member, block)
        if units.n_labelings == 1:
            raise InputError("design_without_permutations")
        return units

    def _check_pairs(
        self, names: list[Any], subject: IntArray, classes: Sequence[Any], member: IntArray
    ) -> None:
        has_row = np.zeros((len(names), len(classes)), dtype=bool)
        has_row[subject, member] = True
        if len(short := np.flatnonzero(~has_row.all(axis=1))):
            one = quote_names([names[short[0]]])
            missing = quote_names([classes[int(k)] for k in np.flatnonzero(~has_row[short[0]])])
            more = len(short) - 1
            others = f", and {more} more {'is' if more == 1 else 'are'} incomplete" if more else ""
            raise InputError("pair_incomplete", one=one, missing=missing, others=others)

    def basis(self, classes: Sequence[Any], member: IntArray) -> FloatArray | None:
        """Orthonormal columns that span blocks and covariates within groups; None without any."""
        columns = self.columns(classes, member)
        return None if columns is None else orthonormal(without_means(columns, member))

    def columns(self, classes: Sequence[Any], member: IntArray) -> FloatArray | None:
        """List what rows are adjusted for: covariates and indicators of blocks; None without any.

        Blocks with means of their own and unequal shares of the groups would make groups differ.
        Blocks of a few rows are left as they are: without their means, little would be left.
        """
        parts = []
        if self.covariates is not None:
            parts.append(self._covariates(classes, member))
        if self.blocks is not None:
            names, block = _codes(self.blocks, len(member), "blocks")
            if len(names) * BLOCK_ROWS <= len(member):
                parts.append(np.eye(len(names))[block])
        return np.concatenate(parts, axis=1) if parts else None

    def _covariates(self, classes: Sequence[Any], member: IntArray) -> FloatArray:
        """Terms of the covariates, of unit norm without their mean."""
        table = Table.from_input(self.covariates)
        if len(table.values) != len(member):
            raise InputError(
                "covariates_row_count", n_values=len(table.values), n_member=len(member)
            )
        if table.missing.any():
            gaps = [
                name for name, gone in zip(table.names, table.missing.T, strict=True) if any(gone)
            ]
            raise InputError("covariates_missing", gaps=gaps)
        names, columns = _terms(table)
        centred = columns - columns.mean(axis=0)
        norm = np.linalg.norm(centred, axis=0)
        names, centred = [names[k] for k in np.flatnonzero(norm > 0)], centred[:, norm > 0]
        centred = centred / norm[norm > 0]
        within = without_means(centred, member)
        rank, kept = (orthonormal(part).shape[1] for part in (centred, within))
        if kept < rank:
            left = np.linalg.norm(within, axis=0)
            named = [name for name, size in zip(names, left, strict=True) if size <= EXPLAINED]
            named = list(dict.fromkeys(named or names))
            finding = Note("covariates_confounded", columns=named)
            raise CollinearError("covariates_collinear", columns=named, finding=finding)
        if kept + len(classes) >= len(member) - 2:
            raise InputError("too_few_rows_to_adjust", n_member=len(member), kept=kept)
        return np.asarray(centred)


class CollinearError(InputError):
    """Covariates that are collinear with the groups."""


def orthonormal(columns: FloatArray) -> FloatArray:
    """Orthonormal columns that span the same."""
    found, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(found[:, sizes > EXPLAINED])


def without_means(columns: FloatArray, member: IntArray) -> FloatArray:
    """Take the mean of its group, numbered by ``member``, away from every row."""
    sizes = np.maximum(np.bincount(member), 1)[:, None]
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, member, columns)
    return np.asarray(columns - (sums / sizes)[member])


def _codes(labels: Any, n: int, what: str) -> tuple[list[Any], IntArray]:
    try:
        return label_codes(labels, n)
    except InputError as error:
        raise InputError(f"In {what} of the design: {error}".replace(" y ", " it ")) from error


def _check_nested(
    names: list[Any], cluster: IntArray, member: IntArray, groups: list[str] | None
) -> None:
    """Raise where a cluster has rows in several groups, or in several blocks."""
    low, high = np.full(len(names), member.max()), np.zeros(len(names), dtype=np.int64)
    np.minimum.at(low, cluster, member)
    np.maximum.at(high, cluster, member)
    if len(across := np.flatnonzero(low != high)):
        one = across[0]
        if groups is None:
            raise InputError("cluster_in_two_blocks", value=[names[one]])
        raise InputError(
            "cluster_in_two_groups",
            value=[names[one]],
            group=groups[low[one]],
            group2=groups[high[one]],
        )


def _terms(table: Table) -> tuple[list[str], FloatArray]:
    """Turn covariates into columns: numbers with powers of their normal scores, levels of text.

    An effect that is not linear would remain in the rows and differ between groups of another age.
    Powers of normal scores follow any smooth effect, and no far value decides them.
    """
    names, columns = [], []
    n_numbers = sum(kind != "categorical" for kind in table.kinds)
    most = len(table.values) // (ROWS_PER_TERM * max(n_numbers, 1))
    for name, kind, column in zip(table.names, table.kinds, table.values.T, strict=True):
        if kind == "categorical":
            found = [(column == level).astype(np.float64) for level in np.unique(column)[1:]]
        else:
            n_powers = min(POWERS, most, len(np.unique(column)) // VALUES_PER_TERM)
            scores = nonparanormal(column[:, None])[:, 0] if n_powers > 0 else column
            found = [column, *(scores**power for power in range(1, 1 + n_powers))]
        names += [name] * len(found)
        columns += found
    return names, np.array(columns).reshape(len(columns), len(table.values)).T.copy()


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """Sets of rows that change groups together, in the order of their groups.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Rows, those of a unit one after the other. Places in this order number the rows below.
    lengths : ndarray of shape (m,)
        Rows of each unit.
    group, block : ndarray of shape (m,)
        Group and block of each unit.
    """

    order: IntArray
    lengths: IntArray
    group: IntArray
    block: IntArray

    @classmethod
    def of(cls, unit: IntArray, member: IntArray, block: IntArray) -> Units:
        """Sort rows by group and unit."""
        order = np.lexsort((np.arange(len(unit)), unit, block, member))
        starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
        return cls(
            order=order,
            lengths=np.diff(np.append(starts, len(unit))),
            group=member[order][starts],
            block=np.unique(block[order][starts], return_inverse=True)[1],
        )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.order)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each group."""
        return np.bincount(np.repeat(self.group, self.lengths))

    @property
    def is_even(self) -> bool:
        """Whether all units have as many rows, so that those of one fit the place of another."""
        return bool((self.lengths == self.lengths[0]).all())

    @property
    def as_given(self) -> Shuffles:
        """The groups as they are."""
        return Shuffles(np.arange(self.n_rows)[None], self.sizes[None])

    @cached_property
    def n_labelings(self) -> float:
        """Ways to deal the labels out within blocks; exact up to a million, else infinite."""
        counts = np.zeros((int(self.block.max()) + 1, self.n_groups), dtype=np.int64)
        np.add.at(counts, (self.block, self.group), 1)
        size = sum(
            lgamma(sum(row) + 1) - sum(lgamma(one + 1) for one in row) for row in counts.tolist()
        )
        if size > log(1e6):
            return float("inf")
        return prod(
            comb(sum(row[: k + 1]), row[k]) for row in counts.tolist() for k in range(len(row))
        )

    def spread_out(self, rows: FloatArray) -> FloatArray:
        """Put units of a block further apart, as far as the means of groups drew them together.

        ``rows`` are without the means of their groups. Where blocks have D units more than there
        are blocks, those means took K - 1 of D degrees of freedom from the differences between
        units of a block. Dealt out anew, these have all of them. Rows within a unit, and blocks,
        keep their distances, so that shuffled groups would be more alike than groups are.
        """
        n_free = len(self.lengths) - int(self.block.max()) - 1
        if not ((self.lengths > 1).any() or self.block.any()) or n_free < self.n_groups:
            return rows
        starts = np.cumsum(self.lengths) - self.lengths
        means = np.add.reduceat(rows, starts, axis=0) / self.lengths[:, None]
        growth = np.sqrt(n_free / (n_free - self.n_groups + 1)) - 1.0
        apart = without_means(means, self.block)
        return np.asarray(rows + growth * np.repeat(apart, self.lengths, axis=0))

    def draw(self, stream: np.random.Generator, n_shuffles: int) -> Shuffles:
        """Deal units out anew within their blocks."""
        m = len(self.group)
        if self.block.any() or not (self.lengths == 1).all():
            drawn = np.argsort(self.block + stream.random((n_shuffles, m)), axis=1)
            taken = np.empty_like(drawn)
            taken[:, np.argsort(self.block, kind="stable")] = drawn
        else:
            taken = stream.permuted(np.tile(np.arange(m), (n_shuffles, 1)), axis=1)
        if self.is_even:
            places = np.arange(self.n_rows).reshape(m, -1)
            return Shuffles(
                places[taken].reshape(n_shuffles, -1), np.tile(self.sizes, (n_shuffles, 1))
            )
        labels = np.empty_like(taken)
        np.put_along_axis(labels, taken, np.tile(self.group, (n_shuffles, 1)), axis=1)
        return self._labelled(labels)

    def _labelled(self, labels: IntArray) -> Shuffles:
        """Sort rows by the labels of their units, of shape (b, m), and by blocks as given rows."""
        rows = np.repeat(labels, self.lengths, axis=1)
        sizes = [np.count_nonzero(rows == k, axis=1) for k in range(self.n_groups)]
        keys = rows * (int(self.block.max()) + 1) + np.repeat(self.block, self.lengths)
        return Shuffles(np.argsort(keys, axis=1, kind="stable"), np.stack(sizes, axis=1))

    def enumerate(self) -> Shuffles:
        """All ways to deal the labels out, but for the one that was found."""
        places = [np.flatnonzero(self.block == k) for k in range(int(self.block.max()) + 1)]
        # Units are in the order of their groups, so that the first way is the one that was found.
        ways = product(*(list(_arrangements(self.group[part].tolist())) for part in places))
        order = np.concatenate(places)
        labels = np.array(
            [[label for part in way for label in part] for way in islice(ways, 1, None)]
        )
        found = np.empty_like(labels)
        found[:, order] = labels
        return self._labelled(found)

    def deals(
        self,
        n_permutations: int,
        random_state: RandomState,
        *,
        block_length: int = 1,
        is_exact: bool = True,
    ) -> list[Callable[[], Shuffles]]:
        """Draw shuffles block by block, or list all that there are if those are few enough."""
        if block_length == 1 and is_exact and self.n_labelings <= n_permutations + 1:
            return [self.enumerate]
        parts = np.array_split(range(n_permutations), N_BLOCKS)
        counts = [len(part) for part in parts if len(part)]
        streams = spawn(as_generator(random_state), len(counts))
        draw = self.draw if block_length == 1 else partial(self._draw_in_time, block_length)
        return [partial(draw, stream, count) for stream, count in zip(streams, counts, strict=True)]

    def _draw_in_time(
        self, block_length: int, stream: np.random.Generator, n_shuffles: int
    ) -> Shuffles:
        """Draw orders of the rows in which those that follow each other in a group stay together.

        One run of rows may be cut, so that groups keep their sizes.
        """
        ends = np.cumsum(self.sizes)
        starts = np.concatenate(
            [
                np.arange(end - size, end, block_length)
                for size, end in zip(self.sizes, ends, strict=True)
            ]
        )
        runs = np.split(np.arange(self.n_rows), starts[1:])
        orders = (stream.permutation(len(runs)) for _ in range(n_shuffles))
        drawn = np.stack([np.concatenate([runs[k] for k in order]) for order in orders])
        return Shuffles(drawn, np.tile(self.sizes, (n_shuffles, 1)))


def _arrangements(labels: list[int]) -> Iterator[list[int]]:
    """All different orders of labels, the sorted one first."""
    if not labels:
        yield []
        return
    for label in sorted(set(labels)):
        rest = labels.copy()
        rest.remove(label)
        for others in _arrangements(rest):
            yield [label, *others]


def is_decided(n_reached: int, n_permutations: int, risk: float) -> bool:
    """Whether a p-value lies on one side of `LEVEL` beyond doubt, at any time with this risk.

    Of shuffles that reach the statistic with probability p, the chance that
    ``(n + 1) * binomial(n_reached; n, p)`` is ever below ``risk`` is at most ``risk`` (Robbins
    1970).
    """
    n, k = n_permutations, n_reached
    chance = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    chance += k * log(LEVEL) + (n - k) * log(1 - LEVEL)
    return log(n + 1) + chance <= log(risk)
