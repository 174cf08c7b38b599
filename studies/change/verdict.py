"""Whether networks differ: level and power of the verdict on known changes and in designs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from edgewise._core.typing import AnyArray, FloatArray
from edgewise.data.dependence import block_length
from edgewise.inference import Design, compare_networks
from studies.figures import standard_error
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import fill, markdown_table, verdict as verdict_of

LEVEL: Final = 0.05
N_PERMUTATIONS: Final = 199
#: Tables of a task.
N_TABLES: Final = 20
#: Single tests that the verdict is held against: two of each kind of correlations.
FAMILIES: Final = ("correlations", "partial correlations", "magnitudes", "curves")
SINGLE: Final = tuple(f"{family}, {what}" for family in FAMILIES for what in ("largest", "many"))
#: Points of power that the verdict may have less than the best of them.
MARGIN: Final = 10.0

#: Correlations of the first group and of the second.
Pair = tuple[FloatArray, FloatArray]


class Kind(NamedTuple):
    """A kind of change: its form, columns, rows of both groups, strength, and how many it is of."""

    form: str
    p: int
    n: tuple[int, int]
    size: float
    number: int = 1


def from_partial(P: FloatArray) -> FloatArray:
    """Correlations of columns with partial ones in proportion to those given."""
    largest = float(np.abs(np.linalg.eigvalsh(P)).max())
    Sigma = np.linalg.inv(np.eye(len(P)) - P * min(1.0, 0.9 / max(largest, 1e-12)))
    root = np.sqrt(np.diagonal(Sigma))
    return np.asarray(Sigma / np.outer(root, root))


def draw_links(p: int, number: int, size: float, rng: np.random.Generator) -> FloatArray:
    """Link pairs of columns at random, with either sign."""
    i, j = np.triu_indices(p, 1)
    chosen = rng.choice(len(i), size=min(number, len(i)), replace=False)
    links = np.zeros((p, p))
    links[i[chosen], j[chosen]] = size * rng.choice([-1.0, 1.0], size=len(chosen))
    return links + links.T


def equal(p: int, r: float) -> FloatArray:
    """Correlations that are all the same."""
    return (1 - r) * np.eye(p) + r


def more_links(kind: Kind, rng: np.random.Generator) -> Pair:
    """Add links to a sparse network."""
    base = draw_links(kind.p, kind.p // 2, 0.3, rng)
    new = draw_links(kind.p, kind.number, kind.size, rng)
    return from_partial(base), from_partial(np.where(new != 0, new, base))


def all_slightly(kind: Kind, rng: np.random.Generator) -> Pair:
    """Move every correlation a little, up or down."""
    signs = np.triu(rng.choice([-1.0, 1.0], size=(kind.p, kind.p)), 1)
    return np.eye(kind.p), np.eye(kind.p) + kind.size * (signs + signs.T)


def all_up(kind: Kind, rng: np.random.Generator) -> Pair:
    """Raise every correlation, from 0.2."""
    del rng
    return equal(kind.p, 0.2), equal(kind.p, 0.2 + kind.size)


def a_block(kind: Kind, rng: np.random.Generator) -> Pair:
    """Correlate some columns, which were not."""
    after = from_partial(draw_links(kind.p, kind.p // 2, 0.3, rng))
    before = after.copy()
    inside = slice(0, kind.number)
    before[inside, kind.number :] = after[inside, kind.number :] = 0.0
    before[kind.number :, inside] = after[kind.number :, inside] = 0.0
    before[inside, inside] = np.eye(kind.number)
    after[inside, inside] = equal(kind.number, kind.size)
    return before, after


def flipped_signs(kind: Kind, rng: np.random.Generator) -> Pair:
    """Turn the signs of half of the links."""
    links = draw_links(kind.p, kind.p, kind.size, rng)
    turn = np.triu(rng.random((kind.p, kind.p)) < 0.5, 1)
    return from_partial(links), from_partial(np.where(turn | turn.T, -links, links))


def a_hub(kind: Kind, rng: np.random.Generator) -> Pair:
    """Link one column to some of the others."""
    base = draw_links(kind.p, kind.p // 2, 0.3, rng)
    after = base.copy()
    after[0, 1 : 1 + kind.number] = after[1 : 1 + kind.number, 0] = kind.size
    return from_partial(base), from_partial(after)


def other_links(kind: Kind, rng: np.random.Generator) -> Pair:
    """Replace all links by others."""
    before, after = (from_partial(draw_links(kind.p, kind.p, kind.size, rng)) for _ in range(2))
    return before, after


def links_lost(kind: Kind, rng: np.random.Generator) -> Pair:
    """Lose the links of a chain: the first few, or all."""
    del rng
    links = np.diag(np.full(kind.p - 1, kind.size), 1)
    left = links.copy()
    left[: kind.number] = 0.0
    return from_partial(links + links.T), from_partial(left + left.T)


def near_copies(kind: Kind, rng: np.random.Generator) -> Pair:
    """Link a column with what tells two apart that are nearly the same."""
    del rng
    mix = np.eye(kind.p)
    mix[1, :2] = 0.95, np.sqrt(1 - 0.95**2)
    after = mix.copy()
    after[2, [1, 2]] = kind.size, np.sqrt(1 - kind.size**2)
    return mix @ mix.T, after @ after.T


GAUSSIAN: Final[dict[str, Callable[[Kind, np.random.Generator], Pair]]] = {
    "links added": more_links,
    "all edges slightly": all_slightly,
    "all correlations up": all_up,
    "a block": a_block,
    "signs flipped": flipped_signs,
    "a hub": a_hub,
    "other links": other_links,
    "links of a chain lost": links_lost,
    "near copies": near_copies,
}


def curved(X: FloatArray, kind: Kind, rng: np.random.Generator, *, is_after: bool) -> FloatArray:
    """Let columns depend on the squares of others, or only have the shape of those that do."""
    for k in range(kind.number):
        source = X[:, 2 * k] if is_after else rng.normal(size=len(X))
        X[:, 2 * k + 1] += kind.size * (source**2 - 1)
    return X


def spread(X: FloatArray, kind: Kind, rng: np.random.Generator, *, is_after: bool) -> FloatArray:
    """Let columns share how large their entries are, or have a size each."""
    shape = (len(X), 1 if is_after else kind.number)
    X[:, : kind.number] *= np.exp(kind.size * rng.normal(size=shape))
    return X


def two_ways(X: FloatArray, kind: Kind, rng: np.random.Generator, *, is_after: bool) -> FloatArray:
    """Let pairs be correlated, up or down from row to row."""
    for k in range(kind.number if is_after else 0):
        sign = rng.choice([-1.0, 1.0], size=len(X))
        noise = np.sqrt(1 - kind.size**2)
        X[:, 2 * k + 1] = kind.size * sign * X[:, 2 * k] + noise * X[:, 2 * k + 1]
    return X


NOT_GAUSSIAN: Final[dict[str, Callable[..., FloatArray]]] = {
    "curves": curved,
    "magnitudes": spread,
    "either sign": two_ways,
}
KINDS: Final = {
    "one edge, 5 columns": Kind("links added", 5, (50, 50), 0.56),
    "one edge, 20 columns": Kind("links added", 20, (100, 100), 0.55),
    "one edge, 40 columns": Kind("links added", 40, (150, 150), 0.46),
    "one edge, 300 rows": Kind("links added", 10, (300, 300), 0.27),
    "one edge, 40 rows beside 160": Kind("links added", 10, (40, 160), 0.55),
    "a link of a chain": Kind("links of a chain lost", 20, (150, 150), 0.45),
    "a link between near copies": Kind("near copies", 10, (100, 100), 0.6),
    "ten edges, 20 columns": Kind("links added", 20, (100, 100), 0.27, 10),
    "ten edges, 40 columns": Kind("links added", 40, (150, 150), 0.28, 10),
    "ten edges, 10 columns": Kind("links added", 10, (60, 60), 0.25, 10),
    "all edges slightly, 10 columns": Kind("all edges slightly", 10, (100, 100), 0.12),
    "all edges slightly, 20 columns": Kind("all edges slightly", 20, (100, 100), 0.085),
    "all edges slightly, 300 rows": Kind("all edges slightly", 20, (300, 300), 0.047),
    "all correlations up, 5 columns": Kind("all correlations up", 5, (60, 60), 0.29),
    "all correlations up, 10 columns": Kind("all correlations up", 10, (100, 100), 0.18),
    "all correlations up, 15 rows": Kind("all correlations up", 10, (15, 15), 0.48),
    "a block of 4 of 10": Kind("a block", 10, (40, 40), 0.5, 4),
    "a block of 5 of 20": Kind("a block", 20, (80, 80), 0.38, 5),
    "a block of 8 of 40": Kind("a block", 40, (100, 100), 0.28, 8),
    "signs flipped, 10 columns": Kind("signs flipped", 10, (50, 50), 0.25),
    "signs flipped, 20 columns": Kind("signs flipped", 20, (100, 100), 0.165),
    "a hub of 6 of 10": Kind("a hub", 10, (60, 60), 0.28, 6),
    "a hub of 8 of 20": Kind("a hub", 20, (100, 100), 0.26, 8),
    "a hub of 10 of 40": Kind("a hub", 40, (120, 120), 0.22, 10),
    "other links, 20 columns": Kind("other links", 20, (80, 80), 0.2),
    "all links of a chain lost": Kind("links of a chain lost", 10, (60, 60), 0.3, 9),
    "one curve, 5 columns": Kind("curves", 5, (60, 60), 0.75),
    "three curves, 20 columns": Kind("curves", 20, (100, 100), 0.6, 3),
    "magnitudes of 10 columns": Kind("magnitudes", 10, (80, 80), 0.38, 10),
    "magnitudes of 5 of 20 columns": Kind("magnitudes", 20, (120, 120), 0.65, 5),
    "one pair of either sign": Kind("either sign", 10, (120, 120), 0.75),
}


class Null(NamedTuple):
    """Groups with one network: columns, rows, correlations, spread of the second, tails."""

    p: int
    n: tuple[int, int]
    r: float
    spread: float = 1.0
    freedom: int = 0


NULLS: Final = {
    "independent columns": Null(20, (100, 100), 0.0),
    "correlated columns": Null(20, (100, 100), 0.5),
    "20 rows beside 200": Null(20, (20, 200), 0.3),
    "standard deviations 1 to 4 times as large": Null(10, (100, 100), 0.3, 4.0),
    "the same, 40 rows beside 120": Null(10, (40, 120), 0.3, 4.0),
    "t with 3 degrees of freedom": Null(10, (100, 100), 0.3, freedom=3),
    "15 rows in each group": Null(10, (15, 15), 0.3),
}


def list_tasks(quick: bool) -> list[Row]:
    """List the kinds with blocks of tables of each: more of those where nothing differs."""
    if quick:
        names = ["one edge, 5 columns", "one curve, 5 columns", "15 rows in each group"]
        return combinations(kind=names, draw=[0])
    return [
        *combinations(kind=list(NULLS), draw=range(1000 // N_TABLES)),
        *combinations(kind=list(KINDS), draw=range(200 // N_TABLES)),
    ]


def run_task(rng: np.random.Generator, *, kind: str, draw: int) -> list[Row]:
    """Give the verdict on some tables of a kind."""
    del draw
    rows = []
    for _ in range(N_TABLES):
        X, y = draw_rows(kind, rng)
        test = compare_networks(X, y, n_permutations=N_PERMUTATIONS, random_state=rng)
        pvalues = {name: test.pvalues.get(name, 1.0) for name in SINGLE}
        rows.append({"differs": kind in KINDS, "verdict": test.pvalue, **pvalues})
    return rows


def draw_rows(name: str, rng: np.random.Generator) -> tuple[FloatArray, AnyArray]:
    """Draw the rows of two groups, and which rows are whose."""
    kind = KINDS.get(name)
    if kind is None:
        null = NULLS[name]
        X = rng.multivariate_normal(np.zeros(null.p), equal(null.p, null.r), size=sum(null.n))
        if null.freedom:
            X /= np.sqrt(rng.chisquare(null.freedom, size=(len(X), 1)) / null.freedom)
        X[null.n[0] :] *= np.linspace(1.0, null.spread, null.p)
        return X, np.repeat([0, 1], null.n)
    groups = []
    both = np.eye(kind.p), np.eye(kind.p)
    if kind.form in GAUSSIAN:
        both = GAUSSIAN[kind.form](kind, rng)
    for k, (R, n) in enumerate(zip(both, kind.n, strict=True)):
        X = rng.multivariate_normal(np.zeros(kind.p), R, size=n)
        if kind.form in NOT_GAUSSIAN:
            X = NOT_GAUSSIAN[kind.form](X, kind, rng, is_after=k == 1)
        groups.append(X)
    return np.concatenate(groups), np.repeat([0, 1], kind.n)


def report(frame: pd.DataFrame) -> Report:
    """Set out how often the verdict is that networks differ, and the best single test beside it."""
    shares = frame.assign(**{name: 100.0 * (frame[name] <= LEVEL) for name in ("verdict", *SINGLE)})
    same, other = (shares[shares["differs"] == differs] for differs in (False, True))
    rows, gaps = [], []
    for kind, tables in other.groupby("kind", sort=False):
        means = tables[list(SINGLE)].mean()
        gaps.append(means.max() - tables["verdict"].mean())
        best = f"{means.max():.0f}, {means.idxmax()}"
        rows.append([str(kind), _share(tables["verdict"]), best, f"{gaps[-1]:+.0f}"])
    levels = [
        [str(kind), str(len(tables)), _share(tables["verdict"])]
        for kind, tables in same.groupby("kind", sort=False)
    ]
    n_within = sum(gap <= MARGIN for gap in gaps)
    return Report(
        fill(
            __package__,
            "verdict",
            n_permutations=N_PERMUTATIONS,
            levels=markdown_table(["rows", "tables", "verdict, %"], levels),
            powers=markdown_table(["change", "verdict, %", "best single test, %", "less"], rows),
            n_tables=len(other) // max(len(rows), 1),
        ),
        (
            Claim(
                f"Within {MARGIN:g} points of the best single test on every kind of change.",
                f"{n_within} of {len(gaps)} kinds; {np.mean(gaps):.1f} points less on average.",
                verdict_of([[gap <= MARGIN for gap in gaps]]),
            ),
        ),
    )


def _share(values: pd.Series) -> str:
    """Write a share in per cent with its standard error."""
    return f"{values.mean():.1f} ± {standard_error(values):.1f}"


class Sample(NamedTuple):
    """Rows of three groups, their labels and design, and pairs of groups that do not differ."""

    X: FloatArray
    y: AnyArray
    design: Design | None = None
    same: tuple[tuple[int, int], ...] = ((0, 1), (0, 2), (1, 2))
    block_length: int = 1


#: Columns of every sample of a design, and rows of a group where groups are of one size.
N_COLUMNS, N_ROWS = 8, 60


def gaussian_rows(rng: np.random.Generator, n: int) -> FloatArray:
    """Draw rows whose correlations are 0.3."""
    return rng.multivariate_normal(np.zeros(N_COLUMNS), equal(N_COLUMNS, 0.3), size=n)


def unequal_groups(rng: np.random.Generator) -> Sample:
    """Draw groups of 15, 45 and 135 rows."""
    return Sample(gaussian_rows(rng, 195), np.repeat([0, 1, 2], [15, 45, 135]))


def heavy_tails(rng: np.random.Generator) -> Sample:
    """Draw rows from a t distribution with three degrees of freedom."""
    X = gaussian_rows(rng, 3 * N_ROWS)
    X /= np.sqrt(rng.chisquare(3, size=(len(X), 1)) / 3)
    return Sample(X, np.repeat([0, 1, 2], N_ROWS))


def clustered(rng: np.random.Generator, lengths: AnyArray) -> Sample:
    """Draw rows of subjects, 10 in each group; half of the variance is between subjects."""
    subject = np.repeat(np.arange(30), lengths)
    X = gaussian_rows(rng, 30)[subject] + gaussian_rows(rng, len(subject))
    return Sample(X, subject // 10, Design(clusters=subject))


def even_clusters(rng: np.random.Generator) -> Sample:
    """Draw six rows of every subject."""
    return clustered(rng, np.full(30, 6))


def uneven_clusters(rng: np.random.Generator) -> Sample:
    """Draw two to ten rows of every subject."""
    return clustered(rng, rng.integers(2, 11, size=30))


def rows_alone(rng: np.random.Generator) -> Sample:
    """Draw clustered rows and leave their clusters out of the design."""
    return even_clusters(rng)._replace(design=None)


def pairs_of_rows(rng: np.random.Generator) -> Sample:
    """Draw subjects with a row in every group, half of the variance between subjects."""
    subject = np.tile(np.arange(40), 3)
    X = gaussian_rows(rng, 40)[subject] + gaussian_rows(rng, 120)
    return Sample(X, np.repeat([0, 1, 2], 40), Design(paired=subject))


def sites(rng: np.random.Generator) -> Sample:
    """Draw rows of four sites with means of their own and other shares of the groups."""
    site = np.repeat(np.arange(4), 45)
    y = rng.permuted(np.repeat([0, 1, 2], 15 * 4))
    y[site == 0] = rng.choice([0, 1, 2], p=[0.6, 0.3, 0.1], size=45)
    X = gaussian_rows(rng, 180) + 2 * rng.normal(size=(4, N_COLUMNS))[site]
    return Sample(X, y, Design(blocks=site))


def with_age(rng: np.random.Generator) -> Sample:
    """Draw columns that follow an age, which varies more in some groups."""
    y = np.repeat([0, 1, 2], N_ROWS)
    age = rng.normal(size=len(y)) * np.array([0.3, 1.0, 2.0])[y]
    return Sample(gaussian_rows(rng, len(y)) + age[:, None], y, Design(covariates=age[:, None]))


def one_differs(rng: np.random.Generator) -> Sample:
    """Draw two groups with one network, and a third with another."""
    y = np.repeat([0, 1, 2], N_ROWS)
    X = gaussian_rows(rng, len(y))
    X[y == 2, 1] += 2 * X[y == 2, 0]
    return Sample(X, y, same=((0, 1),))


def in_time(rng: np.random.Generator) -> Sample:
    """Draw groups of 200 rows one after the other, each 0.8 times the row before and noise."""
    X = np.concatenate(
        [lfilter([1.0], [1.0, -0.8], gaussian_rows(rng, 250), axis=0)[50:] for _ in range(3)]
    )
    return Sample(X, np.repeat([0, 1, 2], 200), block_length=block_length(0.8, 200))


DESIGNS: Final[dict[str, Callable[[np.random.Generator], Sample]]] = {
    "15, 45 and 135 rows": unequal_groups,
    "t with 3 degrees of freedom": heavy_tails,
    "clusters of 6 rows": even_clusters,
    "clusters of 2 to 10 rows": uneven_clusters,
    "pairs": pairs_of_rows,
    "blocks": sites,
    "a covariate": with_age,
    "clusters of 6 rows, permuted freely": rows_alone,
    "one of three groups differs": one_differs,
    "rows in time": in_time,
}
#: The designs in which the level is not to hold, or networks do differ.
FREE, ONE_DIFFERS = "clusters of 6 rows, permuted freely", "one of three groups differs"
#: The design that came later, at the end so that others keep their draws.
IN_TIME = "rows in time"
#: Changes on which the verdict is held against single statistics of a whole network.
CHANGES: Final = (
    "one edge, 5 columns",
    "ten edges, 10 columns",
    "all correlations up, 10 columns",
    "a block of 4 of 10",
    "a hub of 6 of 10",
    "all links of a chain lost",
)


def list_designs(quick: bool) -> list[Row]:
    """List the designs with blocks of tables of each, and changes between two groups."""
    if quick:
        return combinations(kind=[FREE, CHANGES[0]], draw=[0], n_tables=[4])
    first = [kind for kind in DESIGNS if kind != IN_TIME]
    return [
        *combinations(kind=first, draw=range(1000 // N_TABLES), n_tables=[N_TABLES]),
        *combinations(kind=list(CHANGES), draw=range(200 // N_TABLES), n_tables=[N_TABLES]),
        *combinations(kind=[IN_TIME], draw=range(1000 // N_TABLES), n_tables=[N_TABLES]),
    ]


def run_design(rng: np.random.Generator, *, kind: str, draw: int, n_tables: int) -> list[Row]:
    """Test some tables of a design: all groups, pairs of them, and whole-network statistics."""
    del draw
    rows = []
    for _ in range(n_tables):
        options: dict[str, Any] = {"n_permutations": N_PERMUTATIONS, "random_state": rng}
        if kind in DESIGNS:
            sample = DESIGNS[kind](rng)
            options |= {"design": sample.design, "block_length": sample.block_length}
            several = compare_networks(sample.X, sample.y, **options)
            pairs = several.groups.set_index(["first", "second"])["pvalue_holm"]
            test, familywise = several, float(pairs.loc[list(sample.same)].min())
        else:
            test = compare_networks(*draw_rows(kind, rng), **options)
            familywise = test.pvalue
        row = {"omnibus": test.pvalue, "familywise": familywise}
        rows.append({**row, "largest": test.partial.pvalue, "strength": test.pvalue_strength})
    return rows


def report_designs(frame: pd.DataFrame) -> Report:
    """Set out how often groups are said to differ that do not, and the power of statistics."""
    measures = ["omnibus", "familywise", "largest", "strength"]
    shares = frame.assign(**{name: 100.0 * (frame[name] <= LEVEL) for name in measures})
    levels, powers, is_kept = [], [], []
    for kind, tables in shares.groupby("kind", sort=False):
        found = [_share(tables[name]) for name in measures]
        if kind in CHANGES:
            powers.append([str(kind), str(len(tables)), found[0], *found[2:]])
            continue
        levels.append([str(kind), str(len(tables)), *found[:2]])
        if kind != FREE:
            counted = ["familywise"] if kind == ONE_DIFFERS else measures[:2]
            # Two standard errors of a share of 5 %.
            bound = 5.0 + 200 * np.sqrt(LEVEL * (1 - LEVEL) / len(tables))
            is_kept.append([bool(tables[name].mean() <= bound) for name in counted])
    return Report(
        fill(
            __package__,
            "designs",
            n_permutations=N_PERMUTATIONS,
            levels=markdown_table(["design", "tables", "all groups, %", "any pair, %"], levels),
            powers=markdown_table(
                ["change", "tables", "verdict, %", "largest edge, %", "global strength, %"], powers
            ),
        ),
        (
            Claim(
                "Tests of all groups and of pairs of groups keep their level in every design.",
                f"{sum(map(all, is_kept))} of {len(is_kept)} designs within two standard errors.",
                verdict_of(is_kept),
            ),
        ),
    )


STUDY = Study(
    name="verdict",
    title="Whether two networks differ: level and power of the verdict",
    reference="none; simulated kinds of change",
    version=1,
    parts=(
        Part(name="verdict", tasks=list_tasks, run=run_task, report=report),
        Part(name="designs", tasks=list_designs, run=run_design, report=report_designs),
    ),
)
