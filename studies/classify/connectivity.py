"""Exp-I and Exp-IV: orders of the columns, and arcs lost and gained between lobes of brains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.estimators import BayesNetClassifier
from edgewise.graph import Graph
from edgewise.plot import plot_matrix
from edgewise.plot.classify import plot_class_networks
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from studies import tables
from studies.classify import accuracy, data
from studies.figures import GREY, panels
from studies.study import Claim, Part, Report, Row, combinations

ALPHA: Final = 0.15
#: Along which networks of one method are compared with the next sparser.
ALPHAS: Final = (0.1, 0.15, 0.2, 0.3)
#: Coefficients below are not counted as arcs.
CUTOFF: Final = 0.01
#: Arcs that move in the example of learning.
N_MOVED: Final = 30
SHUFFLES_PER_TASK: Final = 20
ALL: Final = "all"
INTO: Final = "into "
OUT_OF: Final = "out of "
#: Kinds of rows.
REGION: Final = "region"
ARC: Final = "arc"
ORDER: Final = "order"
CHANGE: Final = "change"
SHUFFLE: Final = "shuffle"
BIAS: Final = "bias"
AVERAGE: Final = "average"
SPARSER: Final = "sparser"
SOLVERS: Final[dict[str, Callable[..., Any]]] = {
    accuracy.OR: order_bayes_net,
    accuracy.H: bcd_bayes_net,
}
ALGORITHMS: Final = {accuracy.OR: "order", accuracy.H: "bcd"}


def list_tasks(quick: bool, **columns: Any) -> list[Row]:
    """List the networks of the groups themselves, and bundles of shuffles."""
    observed = {"n_shuffles": 0, "n_orders": 10 if quick else 100, "bundle": 0}
    numbers = range(1, 1 + (2 if quick else 25))
    bundles = combinations(n_shuffles=[SHUFFLES_PER_TASK], n_orders=[0], bundle=numbers)
    return [{**columns, **task} for task in (observed, *bundles)]


def run_task(
    rng: np.random.Generator,
    *,
    load: data.Loader,
    n_shuffles: int,
    n_orders: int,
    bundle: int,
    **columns: Any,
) -> list[Row]:
    """Learn the networks of both groups, or of groups into which people are shuffled."""
    table = load()
    chosen, lobes = data.choose_by_lobe(table)
    names = [table.names[column] for column in chosen]
    rows = table.values[:, chosen]
    centred = centre(rows, table.labels)
    if not n_shuffles:
        regions = [
            {
                "kind": REGION,
                "source": name,
                "lobe": lobe,
                "first": table.classes[0],
                "second": table.classes[1],
            }
            for name, lobe in zip(names, lobes, strict=True)
        ]
        return [
            *regions,
            *_arcs(table, centred, names),
            *_intercepts(table, rows, centred, names),
            *_orders(centred, table, n_orders, rng),
            *_sparser(centred, table),
            *_changes(table, rows, names),
        ]
    return [
        {"kind": SHUFFLE, "shuffle": shuffle, "block": block, "difference": difference}
        for shuffle in range(n_shuffles)
        for block, difference in differences(
            learn(centred, rng.permutation(table.labels), accuracy.OR), lobes, names
        ).items()
    ]


def centre(rows: FloatArray, labels: IntArray) -> FloatArray:
    """Take the mean of its class off every row: the networks of the classes are compared."""
    centred = rows.copy()
    for c in (0, 1):
        centred[labels == c] -= rows[labels == c].mean(axis=0)
    return centred


def learn(rows: FloatArray, labels: IntArray, method: str) -> BoolArray:
    """Arcs of both classes, of shape (2, m, m)."""
    return np.abs(_coefficients(rows, labels, method)) > CUTOFF


def _coefficients(
    rows: FloatArray, labels: IntArray, method: str, alpha: float = ALPHA
) -> FloatArray:
    model = BayesNetClassifier("generative", alpha=alpha, method=ALGORITHMS[method])
    return model.fit(rows, labels).standard_coef_[:, :-1]


def block_name(lobes: Sequence[str]) -> str:
    """Name what lies within a lobe, or between two of them.

    Examples
    --------
    >>> block_name(["temporal", "frontal"]), block_name(["frontal", "frontal"])
    ('frontal - temporal', 'frontal')
    """
    return " - ".join(sorted(set(lobes)))


def differences(arcs: BoolArray, lobes: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Arcs of the first class less those of the second, in all and by lobes.

    Parameters
    ----------
    arcs : ndarray of bool of shape (2, m, m)
    lobes, names : sequence of str
        Of the m regions.

    Returns
    -------
    dict
        By `block_name`, and `ALL`; of arcs `INTO` and `OUT_OF` each hippocampus, too.
    """
    found = {ALL: int(arcs[0].sum()) - int(arcs[1].sum())}
    difference = arcs[0].astype(int) - arcs[1]
    kinds, number = np.unique(lobes, return_inverse=True)
    member = np.eye(len(kinds), dtype=int)[number]
    between = member.T @ difference @ member
    for i, first in enumerate(kinds.tolist()):
        for j, second in enumerate(kinds.tolist()[: i + 1]):
            both = between[i, j] + (between[j, i] if i != j else 0)
            found[block_name([first, second])] = int(both)
    for k, name in enumerate(names):
        if data.HIPPOCAMPUS in name.lower():
            found[INTO + name] = int(difference[:, k].sum())
            found[OUT_OF + name] = int(difference[k].sum())
    return found


def _arcs(table: data.LabelledTable, centred: FloatArray, names: list[str]) -> list[Row]:
    return [
        {
            "kind": ARC,
            "method": method,
            "group": table.classes[c],
            "source": names[i],
            "target": names[j],
            "after": float(coefs[c, i, j]),
        }
        for method in ALGORITHMS
        for coefs in (_coefficients(centred, table.labels, method),)
        for c, i, j in np.argwhere(np.abs(coefs) > CUTOFF).tolist()
    ]


def _intercepts(
    table: data.LabelledTable, rows: FloatArray, centred: FloatArray, names: list[str]
) -> list[Row]:
    """Free intercepts of both networks, in standard deviations of the regions: the bias node."""
    standard = (rows - rows.mean(axis=0)) / centred.std(axis=0)
    found: list[Row] = []
    for method in ALGORITHMS:
        for c, coef in enumerate(_coefficients(centred, table.labels, method)):
            mean = standard[table.labels == c].mean(axis=0)
            about = {"kind": BIAS, "method": method, "group": table.classes[c]}
            values = (mean - mean @ coef).tolist()
            found += [
                {**about, "target": name, "after": value}
                for name, value in zip(names, values, strict=True)
            ]
    return found


def _orders(
    centred: FloatArray, table: data.LabelledTable, n_orders: int, rng: np.random.Generator
) -> list[Row]:
    """Networks with the columns in random orders.

    The share of the arcs that lead from a column to a later one; and of each method and class, how
    far the mean of the coefficients over all orders is from those of the order in the table.
    """
    standard = centred / centred.std(axis=0)
    groups = [standard[table.labels == c] for c in (0, 1)]
    orders = [rng.permutation(standard.shape[1]) for _ in range(n_orders)]
    rows: list[Row] = []
    for (method, solve), (c, own) in product(SOLVERS.items(), enumerate(groups)):
        S = np.cov(own, rowvar=False, bias=True)
        about = {"method": method, "group": table.classes[c]}
        original = solve(S, ALPHA).value
        total = np.zeros_like(original)
        for order in orders:
            coef = solve(S[np.ix_(order, order)], ALPHA).value
            total[np.ix_(order, order)] += coef
            arcs = np.abs(coef) > CUTOFF
            share = float(np.triu(arcs).sum() / max(int(arcs.sum()), 1))
            rows.append({"kind": ORDER, **about, "upper": share})
        average = total / n_orders
        correlation = float(np.corrcoef(average.ravel(), original.ravel())[0, 1])
        distance = float(np.linalg.norm(average - original))
        rows.append({"kind": AVERAGE, **about, "distance": distance, "correlation": correlation})
    return rows


def _sparser(centred: FloatArray, table: data.LabelledTable) -> list[Row]:
    """How many arcs of a network the one of the next smaller alpha has, in their direction."""
    rows: list[Row] = []
    for method in ALGORITHMS:
        found = [_coefficients(centred, table.labels, method, alpha) for alpha in ALPHAS]
        arcs = [np.abs(coefs) > CUTOFF for coefs in found]
        for alpha, dense, sparse in zip(ALPHAS[1:], arcs[:-1], arcs[1:], strict=True):
            for c, group in enumerate(table.classes):
                joined = dense[c] | dense[c].T
                rows.append(
                    {
                        "kind": SPARSER,
                        "method": method,
                        "group": group,
                        "alpha": alpha,
                        "arcs": int(sparse[c].sum()),
                        "kept": int((sparse[c] & dense[c]).sum()),
                        "joined": int((sparse[c] & joined).sum()),
                    }
                )
    return rows


def _changes(table: data.LabelledTable, rows: FloatArray, names: list[str]) -> list[Row]:
    """List what learning moves, on all rows with their means."""
    people = pd.DataFrame(rows, columns=names)
    groups = np.array(table.classes)[table.labels]
    found: list[Row] = []
    for bias in accuracy.BIASES:
        for method, learning in accuracy.LEARNINGS.items():
            model = BayesNetClassifier(
                learning, alpha=ALPHA, bias=bias, n_edges=N_MOVED, slack=accuracy.SLACK
            ).fit(people, groups)
            changes = model.explain().drop(columns="change").rename(columns={"class": "group"})
            about = {"kind": CHANGE, "bias": bias, "method": method}
            records: Any = changes.to_dict("records")
            found += [{**about, **row} for row in records]
    return found


#: Largest share of shuffles as far apart as what is not put down to chance.
LEVEL: Final = 0.05
#: Changes of coefficients are alike in sign, and networks in arcs, from this share on.
ALIKE: Final = 0.8
#: Of Table 3: distance and correlation between coefficients and their mean over orders.
PUBLISHED_ORDERS: Final = {
    accuracy.OR: ((0.08, 0.9996), (0.18, 0.9981)),
    accuracy.H: ((1.91, 0.6828), (2.06, 0.6396)),
}
REGIONS_OF_NOTE: Final = ("hippocampus", "amygdala")


class Connectivity:
    """Networks of both groups, and what shuffles give."""

    def __init__(self, frame: pd.DataFrame) -> None:
        regions, self._arcs, self.orders, self.changes, shuffled = (
            tables.rows_of(frame, kind=kind) for kind in (REGION, ARC, ORDER, CHANGE, SHUFFLE)
        )
        self._intercepts, self.averages, self.sparser = (
            tables.rows_of(frame, kind=kind) for kind in (BIAS, AVERAGE, SPARSER)
        )
        #: Of the set of people.
        self.name: str = str(frame["table"].iloc[0])
        #: Names of the classes 0 and 1.
        self.groups: tuple[str, str] = (
            str(regions["first"].iloc[0]),
            str(regions["second"].iloc[0]),
        )
        lobes = dict(zip(regions["source"], regions["lobe"], strict=True))
        #: Lobes in the order of tables and figures.
        self.order: list[str] = [*data.LOBES, *sorted(set(lobes.values()) - set(data.LOBES))]
        #: Regions by lobe, as the figures have them.
        self.names: list[str] = sorted(
            lobes, key=lambda name: (self.order.index(lobes[name]), name)
        )
        self.lobes: list[str] = [lobes[name] for name in self.names]
        self.shuffled: pd.DataFrame = shuffled.pivot_table(
            index=["bundle", "shuffle"], columns="block", values="difference"
        )

    def weights(self, method: str, group: str) -> FloatArray:
        """Coefficients of a group's network, regions by lobe."""
        arcs = tables.rows_of(self._arcs, method=method, group=group)
        weights = np.zeros((len(self.names), len(self.names)))
        source, target = (arcs[e].map(self.names.index).to_numpy(int) for e in ("source", "target"))
        weights[source, target] = arcs["after"].to_numpy(dtype=np.float64)
        return weights

    def graph(self, method: str, group: str) -> Graph:
        """Network of a group."""
        return Graph(self.weights(method, group), names=self.names, directed=True)

    def with_bias(self, method: str, group: str) -> Graph:
        """Network of a group with its intercepts, arcs of a last node."""
        m = len(self.names)
        weights = np.zeros((m + 1, m + 1))
        weights[:m, :m] = self.weights(method, group)
        rows = tables.rows_of(self._intercepts, method=method, group=group)
        values = rows["after"].to_numpy(dtype=np.float64)
        weights[m, rows["target"].map(self.names.index).to_numpy(int)] = values
        weights[np.abs(weights) <= CUTOFF] = 0.0
        return Graph(weights, names=[*self.names, BIAS], directed=True)

    def arcs(self, method: str) -> BoolArray:
        """Arcs of both groups, in their order."""
        return np.stack([self.weights(method, group) != 0 for group in self.groups])

    def differences(self) -> dict[str, int]:
        """Arcs of the first group less those of the second, by OR-SGBN."""
        return differences(self.arcs(accuracy.OR), self.lobes, self.names)

    def pvalue(self, block: str) -> float:
        """Share of shuffles at least as far apart, the observation counted in."""
        observed = self.differences()[block]
        far = np.abs(self.shuffled[block].to_numpy()) >= abs(observed)
        return float((1 + far.sum()) / (1 + len(far)))

    def familywise(self) -> dict[str, float]:
        """P-values of all blocks against the largest difference of each shuffle, in its units."""
        observed = self.differences()
        blocks = [name for name in observed if name != ALL and not name.startswith((INTO, OUT_OF))]
        values = self.shuffled[blocks].to_numpy()
        scale = np.maximum(values.std(axis=0), 1e-12)
        largest = np.abs(values / scale).max(axis=1)
        return {
            block: float((1 + (largest >= abs(observed[block]) / unit).sum()) / (1 + len(largest)))
            for block, unit in zip(blocks, scale, strict=True)
        }


def report(frame: pd.DataFrame) -> Report:
    """Set out the arcs by lobes, and judge what the paper says of them."""
    found = Connectivity(frame)
    of_first, of_second = (int(arcs.sum()) for arcs in found.arcs(accuracy.H))
    moved = {
        bias: tables.rows_of(found.changes, bias=bias, method=accuracy.MM)["source"]
        for bias in accuracy.BIASES
    }
    intercepts = {bias: str(int((sources == "bias").sum())) for bias, sources in moved.items()}
    text = tables.fill(
        __package__,
        "connectivity",
        name=found.name,
        n_regions=len(found.names),
        alpha=ALPHA,
        cutoff=CUTOFF,
        table=lobes_table(found),
        directions=_directions(found),
        columnwise=accuracy.H,
        first=found.groups[0],
        second=found.groups[1],
        n_first=of_first,
        n_second=of_second,
        orders=_orders_table(found),
        sparser=_sparser_table(found),
        n_moved=N_MOVED,
        intercepts=tables.listed(intercepts, " and "),
    )
    judged = (_orders_claim, _fewer, _increase, _hippocampi, _stable, _upper, _signs)
    claims = (judge(found) for judge in judged)
    return Report(
        text,
        tuple(replace(claim, published=f"{claim.published} ({found.name})") for claim in claims),
    )


def _orders_table(found: Connectivity) -> str:
    """Lay out Table 3."""
    rows = [
        [
            *(str(row[name]) for name in ("method", "group")),
            f"{row['distance']:.2f} and {row['correlation']:.4f}",
        ]
        for row in found.averages.to_dict("records")
    ]
    for method, pairs in PUBLISHED_ORDERS.items():
        written = "; ".join(f"{distance:.2f} and {value:.4f}" for distance, value in pairs)
        rows.append([f"*published, {method}*", "*both*", f"*{written}*"])
    return tables.markdown_table(["method", "group", "distance and correlation"], rows)


def _sparser_table(found: Connectivity) -> str:
    """Lay out how many arcs are those of a denser network."""
    columns = {
        "method": "{method}",
        "group": "{group}",
        "alpha": "{alpha:g}",
        "arcs": "{arcs:.0f}",
        "in the next denser network": "{kept:.0f}",
        "the same in either direction": "{joined:.0f}",
    }
    return tables.records_table(found.sparser, columns)


def lobes_table(found: Connectivity) -> str:
    """Lay out the arcs within and between lobes, of those that have any."""
    arcs = found.arcs(accuracy.OR)
    old, young = (of_group | of_group.T for of_group in arcs)
    pairs = (young & ~old, old & ~young, old & young)
    familywise = found.familywise()
    rows = []
    for block, member in _blocks(found).items():
        n_old, n_young = arcs[:, member].sum(axis=1).tolist()
        if not n_old + n_young:
            continue
        upper = np.triu(member | member.T)
        counts = (n_young, n_old, *(int(of_kind[upper].sum()) for of_kind in pairs))
        sure = "" if block == ALL else f"{familywise[block]:.2f}"
        difference, pvalue = f"{n_old - n_young:+d}", f"{found.pvalue(block):.3f}"
        rows.append([block, *map(str, counts), difference, pvalue, sure])
    header = [
        "lobes",
        *reversed(found.groups),
        "lost",
        "gained",
        "kept",
        "difference",
        "p",
        "family-wise p",
    ]
    return tables.markdown_table(header, rows)


def _blocks(found: Connectivity) -> dict[str, BoolArray]:
    """Entries of the matrix that belong to each block."""
    lobes = np.array(found.lobes)
    blocks = {ALL: np.ones((len(lobes), len(lobes)), dtype=bool)}
    present = [lobe for lobe in found.order if lobe in found.lobes]
    for k, first in enumerate(present):
        for second in present[k:]:
            between = np.outer(lobes == first, lobes == second)
            blocks[block_name([first, second])] = between | between.T
    return blocks


def _directions(found: Connectivity) -> str:
    """Arcs into and out of some regions, where these were chosen."""
    old, young = found.arcs(accuracy.OR)
    parts = []
    for k, name in enumerate(found.names):
        if any(part in name.lower() for part in REGIONS_OF_NOTE):
            parts.append(
                f"{name} has {young[:, k].sum()} arcs in and {young[k].sum()} out in "
                f"{found.groups[1]}, {old[:, k].sum()} in and {old[k].sum()} out in "
                f"{found.groups[0]}"
            )
    missing = [
        part for part in REGIONS_OF_NOTE if not any(part in name.lower() for name in found.names)
    ]
    absent = f" Not among the regions: {', '.join(missing)}." if missing else ""
    return f"{'; '.join(parts)}.{absent}" if parts else absent.strip()


def _fewer(found: Connectivity) -> Claim:
    arcs, blocks = found.arcs(accuracy.OR), _blocks(found)
    cases, parts = [], []
    for block in (ALL, data.TEMPORAL):
        if block in blocks:
            old, young = arcs[:, blocks[block]].sum(axis=1).tolist()
            pvalue = found.pvalue(block)
            cases.append(old < young and pvalue <= LEVEL)
            parts.append(f"{block}: {young} and {old} (p = {pvalue:.3f})")
    return Claim(
        "The network of patients has fewer edges than that of the healthy (145 and 183), and fewer "
        "in the temporal lobe (by 24 %).",
        f"{found.groups[1]} and {found.groups[0]}: {'; '.join(parts)}, by {len(found.shuffled)} "
        "shuffles.",
        tables.verdict([[case] for case in cases]),
    )


def _orders_claim(found: Connectivity) -> Claim:
    by = {
        method: tables.rows_of(found.averages, method=method)["distance"].to_numpy(dtype=np.float64)
        for method in ALGORITHMS
    }
    figures = {
        f"{row['method']}, {row['group']}": f"{row['distance']:.2f} and {row['correlation']:.4f}"
        for row in found.averages.to_dict("records")
    }
    robust = [bool(value <= pair[0]) for value, pair in zip(
        by[accuracy.OR], PUBLISHED_ORDERS[accuracy.OR], strict=True
    )]  # fmt: skip
    fragile = [
        bool(own > other) for own, other in zip(by[accuracy.H], by[accuracy.OR], strict=True)
    ]
    return Claim(
        "OR-SGBN hardly depends on the order of the columns and H-SGBN does: distances of 0.08 and "
        "0.18 against 1.91 and 2.06 between coefficients and their mean over 100 orders.",
        f"Distance and correlation: {tables.listed(figures)}.",
        tables.verdict([[*robust, *fragile]]),
    )


def _increase(found: Connectivity) -> Claim:
    block = block_name([data.FRONTAL, data.TEMPORAL])
    return _directed(
        found,
        "Patients have more arcs between the frontal and the temporal lobe than the healthy.",
        {block: 1} if block in found.differences() else {},
    )


def _hippocampi(found: Connectivity) -> Claim:
    signs = {INTO: -1, OUT_OF: 1}
    return _directed(
        found,
        "Both hippocampi have fewer arcs in and more arcs out in patients.",
        {
            block: sign
            for block in found.differences()
            for start, sign in signs.items()
            if block.startswith(start)
        },
    )


def _directed(found: Connectivity, published: str, expected: dict[str, int]) -> Claim:
    """Judge differences of the first group from the second by their signs and their p-values."""
    observed = found.differences()
    cases, words = [], {}
    for block, sign in expected.items():
        pvalue = found.pvalue(block)
        cases.append(sign * observed[block] > 0 and pvalue <= LEVEL)
        words[block] = f"{observed[block]:+d}, p = {pvalue:.3f}"
    if not words:
        return Claim(published, "The table has no such regions.", "no")
    return Claim(
        published,
        f"{found.groups[0]} less {found.groups[1]}: {tables.listed(words)}.",
        tables.verdict([[case] for case in cases]),
    )


def _stable(found: Connectivity) -> Claim:
    shares = {
        method: rows[["kept", "joined"]].sum() / rows["arcs"].sum()
        for method in ALGORITHMS
        for rows in (tables.rows_of(found.sparser, method=method),)
    }
    words = {
        method: f"{share['kept']:.0%}, {share['joined']:.0%} in either direction"
        for method, share in shares.items()
    }
    return Claim(
        "For a given method, other values of lambda do not change the major structure.",
        f"Arcs of a network that the one of the next smaller alpha has: {tables.listed(words)}.",
        tables.verdict(
            [
                [bool(share[kind] >= ALIKE) for share in shares.values()]
                for kind in ("kept", "joined")
            ]
        ),
    )


def _upper(found: Connectivity) -> Claim:
    upper = tables.grouped(found.orders, ["method"], "upper", "method")
    shares = {m: f"{tables.mean_and_error(100 * upper[m], 1)} %" for m in (accuracy.H, accuracy.OR)}
    leans = {method: tables.is_clearly_positive(share - 0.5) for method, share in upper.items()}
    return Claim(
        "H-SGBN has more arcs in the upper triangle whatever the order of the nodes; OR-SGBN does "
        "not.",
        "Share of the arcs that lead to a later column, in random orders: "
        f"{tables.listed(shares, ', ')}.",
        "no" if not leans[accuracy.H] else "partly" if leans[accuracy.OR] else "yes",
    )


def moved_alike(found: Connectivity, bias: str) -> pd.DataFrame:
    """Set out the changes of coefficients that both KL-SGBN and MM-SGBN move, a column for each."""
    moved: dict[str, Any] = {}
    for method in (accuracy.KL, accuracy.MM):
        rows = tables.rows_of(found.changes, method=method, bias=bias)
        rows = rows.set_index(["group", "source", "target"])
        moved[method] = rows["after"].astype(float) - rows["before"].astype(float)
    both: pd.DataFrame = pd.concat(moved, axis=1, join="inner")
    return both


def _signs(found: Connectivity) -> Claim:
    signs = {bias: np.sign(moved_alike(found, bias)) for bias in accuracy.BIASES}
    same = {
        bias: (sign[accuracy.KL] == sign[accuracy.MM]).to_numpy() for bias, sign in signs.items()
    }
    counts = {bias: f"{alike.sum()} of {len(alike)}" for bias, alike in same.items()}
    return Claim(
        f"Of {N_MOVED} coefficients KL-SGBN and MM-SGBN move most in the same direction.",
        f"In the same direction: {tables.listed(counts)}.",
        tables.verdict([[bool(alike.sum() >= ALIKE * len(alike))] for alike in same.values()]),
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw figures 4 and 5, and the networks of both groups by lobe."""
    found = Connectivity(frame)
    networks = {group: found.graph(accuracy.OR, group) for group in reversed(found.groups)}
    drawn = {
        "matrices": draw_matrices(found),
        "lobes": plot_class_networks(networks, groups=found.lobes),
        "changes": draw_changes(found),
    }
    return {f"{found.name}-{name}".replace(" ", "-"): figure for name, figure in drawn.items()}


def draw_matrices(found: Connectivity) -> Figure:
    """Figure 4: arcs of both groups as matrices, lobes outlined, the bias in the last row."""
    figure, axes = panels(2, 2, (10, 10.4), grid=None)
    lobes = np.append(np.unique(found.lobes, return_inverse=True)[1], -1)
    blocks = np.where(lobes[:, None] == lobes, lobes, -1)
    middles = pd.Series(range(len(lobes)), [*found.lobes, BIAS]).groupby(level=0, sort=False).mean()
    turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    for row, method in zip(axes, (accuracy.H, accuracy.OR), strict=True):
        for ax, group in zip(row, reversed(found.groups), strict=True):
            graph = found.with_bias(method, group)
            plot_matrix(graph, ax, labels="none", colorbar=False, groups=blocks)
            ax.set_title(f"{method}, {group}: {found.graph(method, group).n_edges} arcs")
            ax.set_yticks(middles, middles.index, fontsize=8)
            ax.set_xticks(middles, middles.index, fontsize=8, **turned)
            ax.tick_params(length=0)
    return figure


def draw_changes(found: Connectivity) -> Figure:
    """Figure 5: how both methods move each coefficient."""
    figure, (axes,) = panels(1, len(accuracy.BIASES), (13, 7.5), grid="x")
    for ax, bias in zip(axes, accuracy.BIASES, strict=True):
        moved = moved_alike(found, bias)
        moved = moved.reindex(moved[accuracy.MM].abs().sort_values().index)
        height = np.arange(len(moved))
        for method in (accuracy.KL, accuracy.MM):
            look = {"linestyle": "none", "markersize": 6, "label": method, **accuracy.LOOKS[method]}
            ax.plot(moved[method], height, **look)
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        names = [f"{source} → {target} | {group}" for group, source, target in moved.index]
        ax.set_yticks(height, names, fontsize=7)
        ax.set(xlabel="change of the coefficient", title=accuracy.INTERCEPTS[bias])
        ax.legend(loc="lower right")
    return figure


def part_of(name: str, load: data.Loader, **columns: Any) -> Part:
    """Make the part of a table; ``columns`` tell it from others with the same name."""
    tasks, run = partial(list_tasks, table=name, **columns), partial(run_task, load=load)
    return Part(name=f"{name}, connectivity", tasks=tasks, run=run, report=report, figures=draw)
