"""Accuracies on random splits of a table, against sparsity and the number of arcs that move."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from edgewise._core.typing import FloatArray
from edgewise.estimators import BayesNetClassifier
from edgewise.estimators.classify.class_networks import hard_margin, train_machines
from edgewise.solvers.classify.fisher_scores import (
    fisher_vectors,
    network_residuals,
    score_correlations,
    select_arcs,
)
from studies import figures, tables
from studies.classify.data import N_REGIONS, Loader, Split, split_table
from studies.study import Claim, Part, Report, Row, combinations

LIKELIHOOD: Final = "likelihood"
MACHINE: Final = "SVM"
SELECTED: Final = "SVM, 100 components"
N_COMPONENTS: Final = 100
#: Cost of squared slack in the machines on Fisher scores.
COST: Final = 1.0
LINEAR: Final = "linear SVM"
MAJORITY: Final = "larger class"
SHRUNKEN: Final = "shrunken LDA"
#: Costs among which the linear machine chooses by cross-validation in the training part.
COSTS: Final = tuple(np.logspace(-3, 1, 9).tolist())

#: From a split and coefficients of both networks to scores of the test rows, above 0 for class 1.
Decider = Callable[[Split, FloatArray], FloatArray]


def by_likelihood(split: Split, coefs: FloatArray) -> FloatArray:
    """Log-likelihood in the second network less that in the first."""
    squares = (network_residuals(split.test, coefs) ** 2).sum(axis=2)
    return np.asarray(0.5 * (squares[0] - squares[1]))


def by_machine(split: Split, coefs: FloatArray) -> FloatArray:
    """Distance in a support vector machine on all Fisher scores."""
    cost = np.full(len(split.train), COST)
    machines = train_machines(split.train, split.train_labels, coefs, cost)
    return machines.decide(split.test, coefs)[:, 0]


def by_selected(split: Split, coefs: FloatArray) -> FloatArray:
    """Distance in a machine on the scores that correlate most with the class, standardised."""
    correlations = score_correlations(split.train, split.train_labels, coefs)
    allowed = np.ones(coefs.shape, dtype=bool)
    loops = np.arange(coefs.shape[2])
    allowed[:, loops, loops] = False
    arcs = select_arcs(correlations, allowed, N_COMPONENTS)
    own, other = (fisher_vectors(rows, coefs)[:, *arcs.T] for rows in (split.train, split.test))
    scale = own.std(axis=0)
    own, other = own / scale, other / scale
    ridge = np.full(len(own), 1.0 / COST)
    sign = np.where(split.train_labels == 1, 1.0, -1.0)
    dual, intercept = hard_margin(own @ own.T + np.diag(ridge), sign, ridge)
    return np.asarray(other @ own.T @ dual + intercept)


DECIDERS: Final[dict[str, Decider]] = {
    LIKELIHOOD: by_likelihood,
    MACHINE: by_machine,
    SELECTED: by_selected,
}


def accuracy(split: Split, scores: FloatArray) -> float:
    """Share of the test rows whose class the scores tell."""
    return float(np.mean((scores > 0) == (split.test_labels == 1)))


def rival_accuracies(split: Split) -> dict[str, float]:
    """Accuracies of classifiers without networks."""
    rivals: dict[str, Any] = {
        LINEAR: GridSearchCV(SVC(kernel="linear"), {"C": COSTS}, cv=StratifiedKFold(5)),
        SHRUNKEN: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    }
    larger = int(2 * split.train_labels.sum() > len(split.train_labels))
    return {
        MAJORITY: float(np.mean(split.test_labels == larger)),
        **{
            name: float(
                model.fit(split.train, split.train_labels).score(split.test, split.test_labels)
            )
            for name, model in rivals.items()
        },
    }


#: The networks before they are learned together, by order and column by column; and after.
OR: Final = "OR-SGBN"
H: Final = "H-SGBN"
KL: Final = "KL-SGBN"
MM: Final = "MM-SGBN"
METHODS: Final = (OR, H, KL, MM)
LEARNINGS: Final = {KL: "fisher", MM: "margin"}
BIASES: Final = ("free", "penalized")
#: By what share the squared residuals of a class may grow.
SLACK: Final = 0.01
N_SPLITS: Final = 30
#: Arcs that move while alpha varies.
N_EDGES: Final = 100


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Values of alpha; and numbers of arcs, at some of the alphas."""

    alphas: tuple[float, ...]
    edges: tuple[int, ...]
    edge_alphas: tuple[float, ...]


WHOLE: Final = "whole"
COARSE: Final = "coarse"
GRIDS: Final = {
    WHOLE: Grid(
        alphas=(0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6),
        edges=(30, 60, 100, 150, 200),
        edge_alphas=(0.15, 0.4),
    ),
    COARSE: Grid(alphas=(0.15, 0.4), edges=(30, 100), edge_alphas=(0.4,)),
}


def list_tasks(quick: bool, **columns: Any) -> list[Row]:
    """List the splits; ``columns`` are part of every task."""
    grid, n_splits = (COARSE, 4) if quick else (WHOLE, N_SPLITS)
    constant = {name: [value] for name, value in columns.items()}
    return combinations(**constant, split=range(n_splits), grid=[grid])


def run_task(
    rng: np.random.Generator, *, load: Loader, split: int, grid: str, **columns: Any
) -> list[Row]:
    """Split the table, and measure every method on the same split."""
    rows = split_table(load(), rng)
    measured = [
        {"method": name, "accuracy": value} for name, value in rival_accuracies(rows).items()
    ]
    for bias in BIASES:
        for alpha, n_edges in _settings(GRIDS[grid]):
            found = learn_all(rows, bias, alpha, n_edges)
            measured += [{"bias": bias, "alpha": alpha, "n_edges": n_edges, **row} for row in found]
    return measured


def learn_all(split: Split, bias: str, alpha: float, n_edges: int) -> list[Row]:
    """Learn the networks in all ways, and let every decider use them."""
    models = {
        method: fit(split, learning, alpha=alpha, bias=bias, n_edges=n_edges)
        for method, learning in LEARNINGS.items()
    }
    rows = _decided(split, OR, models[MM].start_coef_, {})
    if n_edges == N_EDGES:
        alone = fit(split, "generative", alpha=alpha, bias=bias, method="bcd")
        rows += _decided(split, H, alone.standard_coef_, {})
    for method, model in models.items():
        about = {
            "fit_error": float(model.fit_error_ratios_.max()),
            "converged": bool(model.converged_),
        }
        rows += _decided(split, method, model.standard_coef_, about)
    return rows


def fit(split: Split, learning: str, **options: Any) -> BayesNetClassifier:
    """Fit the training part; that a fit stopped early is in its attributes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BayesNetClassifier(learning, slack=SLACK, **options)
        return model.fit(split.train, split.train_labels)


def _settings(grid: Grid) -> list[tuple[float, int]]:
    along = [(alpha, N_EDGES) for alpha in grid.alphas]
    across = [(alpha, n_edges) for alpha in grid.edge_alphas for n_edges in grid.edges]
    return [*along, *(setting for setting in across if setting not in along)]


def _decided(split: Split, method: str, coefs: FloatArray, about: Row) -> list[Row]:
    n_arcs = int(np.count_nonzero(coefs[:, :-1]))
    return [
        {
            "method": method,
            "decider": name,
            "accuracy": accuracy(split, decide(split, coefs)),
            "n_arcs": n_arcs,
            **about,
        }
        for name, decide in DECIDERS.items()
    ]


#: Values that an accuracy is looked up by.
KEY = ["method", "decider", "bias", "alpha", "n_edges"]


class Accuracies:
    """Accuracies in per cent on all splits of a table, in their order."""

    def __init__(self, frame: pd.DataFrame) -> None:
        percent = frame.assign(accuracy=100 * frame["accuracy"])
        is_rival = percent["decider"].isna()
        self._found = tables.grouped(percent[~is_rival], KEY, "accuracy", "split")
        self.rivals = tables.grouped(percent[is_rival], ["method"], "accuracy", "split")
        settings = {(alpha, int(n_edges)) for *_, alpha, n_edges in self._found}
        self.alphas = sorted(alpha for alpha, n_edges in settings if n_edges == N_EDGES)
        self.edge_alphas = sorted({alpha for alpha, n_edges in settings if n_edges != N_EDGES})
        self.edges = sorted({n_edges for _, n_edges in settings})
        self.n_splits = int(frame["split"].nunique())

    def of(
        self,
        method: str,
        bias: str,
        alpha: float,
        *,
        decider: str = LIKELIHOOD,
        n_edges: int = N_EDGES,
    ) -> FloatArray:
        """Accuracies of one method."""
        return self._found[method, decider, bias, alpha, n_edges]

    def gain(
        self, method: str, bias: str, alpha: float, *, over: str = OR, decider: str = LIKELIHOOD
    ) -> FloatArray:
        """Accuracies of one method less those of another on the same splits."""
        ours, theirs = (self.of(name, bias, alpha, decider=decider) for name in (method, over))
        return np.asarray(ours - theirs)


#: A gain in points that the paper speaks of; and how far two methods are alike.
GAIN: Final = 10.0
ALIKE: Final = 2.0
#: A loss in points towards sparse networks that is kept small.
MAINTAINED: Final = 5.0

Found = Mapping[str, Accuracies]
#: From a table and a kind of intercepts to the cases there.
Judged = Callable[[Accuracies, str], tables.Case]


def judge_all(found: Found, results: Mapping[str, pd.DataFrame]) -> tuple[Claim, ...]:
    """Judge everything that the paper says; the kinds of intercepts are settings."""
    statements: list[tuple[str, str, Judged]] = [
        (
            (
                "KL-SGBN and MM-SGBN improve the accuracy of networks learned class by class, and "
                "could reach a gain of 10 to 20 points on most occasions."
            ),
            "Gains over all alphas",
            _gain,
        ),
        (
            (
                "When networks become sparser, those learned class by class lose accuracy, while "
                "KL-SGBN and MM-SGBN stay accurate."
            ),
            "Points lost from the smallest to the largest alpha",
            _maintained,
        ),
        (
            "Deciding by likelihood, MM-SGBN is more accurate than KL-SGBN.",
            "Lead in points",
            _leads(lambda a, bias, alpha: a.gain(MM, bias, alpha, over=KL)),
        ),
        (
            "Deciding by SVM, KL-SGBN is slightly more accurate than MM-SGBN.",
            "Lead in points",
            _leads(lambda a, bias, alpha: a.gain(KL, bias, alpha, over=MM, decider=MACHINE)),
        ),
        (
            "SVMs on Fisher scores are less accurate than networks learned for discrimination.",
            "Lead of MM-SGBN by likelihood in points",
            _leads(
                lambda a, bias, alpha: (
                    a.of(MM, bias, alpha) - a.of(MM, bias, alpha, decider=MACHINE)
                )
            ),
        ),
        (
            "Choosing 100 of the Fisher scores clearly helps the SVM.",
            "Lead of the chosen ones in points, KL-SGBN",
            _leads(
                lambda a, bias, alpha: (
                    a.of(KL, bias, alpha, decider=SELECTED) - a.of(KL, bias, alpha, decider=MACHINE)
                )
            ),
        ),
        (
            "Learned class by class, OR-SGBN and H-SGBN are about equally accurate.",
            "H-SGBN less OR-SGBN in points",
            _alike,
        ),
        (
            (
                f"(Not in the paper.) The best of the networks, deciding by {LIKELIHOOD}, is more "
                "accurate than a linear SVM on the variables themselves."
            ),
            "Best over alphas, chosen in hindsight, and linear SVM",
            _beats_rival,
        ),
    ]
    judged = [_claim(*statement, found) for statement in statements]
    return (*judged[:-1], _fit_error(results.values()), judged[-1])


def spread(values: Sequence[float]) -> str:
    """Write the least and the largest of some points.

    Examples
    --------
    >>> spread([2.0, -0.01, 1.5])
    '+0.0 to +2.0'
    """
    # Adding 0 turns -0 into 0.
    low, high = (round(float(value), 1) + 0.0 for value in (min(values), max(values)))
    return f"{low:+.1f} to {high:+.1f}"


def _claim(published: str, measure: str, judged: Judged, found: Found) -> Claim:
    """Judge a statement on every table with both kinds of intercepts."""
    cases = []
    for bias in BIASES:
        of_bias = {name: judged(accuracies, bias) for name, accuracies in found.items()}
        holds = [case for of_table, _ in of_bias.values() for case in of_table]
        words = "; ".join(f"{name}, {bias}: {text}" for name, (_, text) in of_bias.items())
        cases.append((holds, words))
    return tables.judge(published, measure, cases)


def _gain(accuracies: Accuracies, bias: str) -> tables.Case:
    """Whether the gain of each method reaches what the paper speaks of, at any alpha."""
    gains = {
        method: [accuracies.gain(method, bias, alpha).mean() for alpha in accuracies.alphas]
        for method in (KL, MM)
    }
    words = {method: spread(values) for method, values in gains.items()}
    return [bool(max(values) >= GAIN) for values in gains.values()], tables.listed(words, ", ")


def _maintained(accuracies: Accuracies, bias: str) -> tables.Case:
    """Whether the start loses accuracy from the first alpha to the last, and learning keeps it."""
    first, last = accuracies.alphas[0], accuracies.alphas[-1]
    lost = {
        method: np.mean(accuracies.of(method, bias, first) - accuracies.of(method, bias, last))
        for method in (OR, KL, MM)
    }
    words = tables.listed({method: f"{points:.1f}" for method, points in lost.items()}, ", ")
    return [bool(lost[OR] > MAINTAINED >= lost[method]) for method in (KL, MM)], words


def _leads(lead: Callable[[Accuracies, str, float], FloatArray]) -> Judged:
    """Judge a lead at every alpha, and tell its range."""

    def judged(accuracies: Accuracies, bias: str) -> tables.Case:
        leads = [lead(accuracies, bias, alpha) for alpha in accuracies.alphas]
        clear = [tables.is_clearly_positive(values) for values in leads]
        means = [float(values.mean()) for values in leads]
        return clear, f"{spread(means)}, clear at {sum(clear)} of {len(clear)} alphas"

    return judged


def _alike(accuracies: Accuracies, bias: str) -> tables.Case:
    leads = [accuracies.gain(H, bias, alpha) for alpha in accuracies.alphas]
    alike = [
        bool(abs(values.mean()) <= max(ALIKE, tables.CLEAR * figures.standard_error(values)))
        for values in leads
    ]
    return alike, spread([float(values.mean()) for values in leads])


def _beats_rival(accuracies: Accuracies, bias: str) -> tables.Case:
    rival = accuracies.rivals[LINEAR]
    tried = [
        accuracies.of(method, bias, alpha) for method in (OR, KL, MM) for alpha in accuracies.alphas
    ]
    best = max(tried, key=lambda values: float(values.mean()))
    return [tables.is_clearly_positive(best - rival)], f"{best.mean():.1f} and {rival.mean():.1f}"


def _fit_error(frames: Iterable[pd.DataFrame]) -> Claim:
    worst = max(float(np.nanmax(frame["fit_error"].astype(float))) for frame in frames)
    return Claim(
        f"All this with squared residuals that grow by {SLACK:.0%} at most.",
        f"They grow by {worst - 1:.3%} at most.",
        # The last term is the tolerance of the solver.
        "yes" if worst <= 1 + SLACK + 1e-6 else "no",
    )


BREAST: Final = "breast-cancer"
#: Where both kinds of intercepts are set side by side.
SHOWN_ALPHA: Final = 0.4


def report(*frames: pd.DataFrame) -> Report:
    """Set out the accuracies on all tables, and judge what the paper says of them.

    Statements are judged where the classes can be told apart: where a linear machine is clearly
    more accurate than the larger class is frequent.
    """
    results = _tables(frames)
    found = {name: Accuracies(frame) for name, frame in results.items()}
    judged = {name: accuracies for name, accuracies in found.items() if can_be_told(accuracies)}
    unlike = {
        name: " and ".join(
            f"{tables.mean_and_error(found[name].rivals[rival], 1)} ({rival})"
            for rival in (LINEAR, MAJORITY)
        )
        for name in found
        if name not in judged
    }
    text = tables.fill(
        __package__,
        "accuracy",
        n_edges=N_EDGES,
        slack=SLACK,
        alpha=SHOWN_ALPHA,
        gains=_gains(found),
        unlike=UNLIKE.format(unlike=tables.listed(unlike)) if unlike else "",
        sections="\n\n".join(_section(name, found[name], results[name]) for name in found),
    )
    return Report(text, judge_all(judged or found, results))


UNLIKE: Final = "Not judged, as a linear SVM cannot tell the classes from the larger one: {unlike}."


def can_be_told(accuracies: Accuracies) -> bool:
    """Whether a linear machine is clearly more accurate than the larger class is frequent."""
    return tables.is_clearly_positive(accuracies.rivals[LINEAR] - accuracies.rivals[MAJORITY])


def _tables(frames: Iterable[pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {str(frame["table"].iloc[0]): frame for frame in frames}


def _gains(found: Found) -> str:
    rows = []
    for name, accuracies in found.items():
        for bias in BIASES:
            cells = [
                tables.mean_and_error(accuracies.of(m, bias, SHOWN_ALPHA), 1) for m in (OR, KL, MM)
            ]
            gain = accuracies.gain(MM, bias, SHOWN_ALPHA)
            written = tables.mean_and_error(gain, 1, sign=True)
            rows.append([name, bias, *cells, written])
    header = ["table", "intercepts", OR, KL, MM, f"{MM} less {OR}"]
    return tables.markdown_table(header, rows)


def _section(name: str, accuracies: Accuracies, frame: pd.DataFrame) -> str:
    """Set out the accuracies on one table."""
    learned = tables.rows_of(frame, decider=LIKELIHOOD)
    learned = learned[learned["method"].isin([KL, MM])]
    rivals = {
        rival: tables.mean_and_error(values, 1) for rival, values in accuracies.rivals.items()
    }
    by_alpha = [
        f"**{decider}, {bias} intercepts**\n\n{_by_alpha(accuracies, decider, bias)}"
        for decider in DECIDERS
        for bias in BIASES
    ]
    return tables.fill(
        __package__,
        BREAST if name == BREAST else "brains",
        name=name,
        n_regions=N_REGIONS,
        n_splits=accuracies.n_splits,
        rivals=", ".join(f"{rival} {figure}" for rival, figure in rivals.items()),
        by_alpha="\n\n".join(by_alpha),
        by_edges=_by_edges(accuracies),
        n_fits=len(learned),
        n_early=int((~learned["converged"].astype(bool)).sum()),
        worst=float(np.max(learned["fit_error"].to_numpy(dtype=np.float64))) - 1,
    )


def _by_alpha(accuracies: Accuracies, decider: str, bias: str) -> str:
    rows = []
    for alpha in accuracies.alphas:
        values = [accuracies.of(method, bias, alpha, decider=decider) for method in METHODS]
        gains = [accuracies.gain(method, bias, alpha, decider=decider) for method in (KL, MM)]
        written = [tables.mean_and_error(gain, 1, sign=True) for gain in gains]
        rows.append(
            [f"{alpha:g}", *(tables.mean_and_error(value, 1) for value in values), *written]
        )
    return tables.markdown_table(["alpha", *METHODS, f"{KL} gain", f"{MM} gain"], rows)


def _by_edges(accuracies: Accuracies) -> str:
    rows = []
    for bias, alpha, method in product(BIASES, accuracies.edge_alphas, (KL, MM)):
        moved = [accuracies.of(method, bias, alpha, n_edges=n) for n in accuracies.edges]
        found = (accuracies.of(OR, bias, alpha), *moved)
        rows.append(
            [bias, f"{alpha:g}", method, *(tables.mean_and_error(value, 1) for value in found)]
        )
    header = ["intercepts", "alpha", "method", "none (OR)", *map(str, accuracies.edges)]
    return tables.markdown_table(header, rows)


LOOKS: Final[dict[str, dict[str, Any]]] = {
    OR: {"color": figures.BLUE, "marker": "o"},
    H: {"color": "#222222", "marker": "s"},
    KL: {"color": figures.GREEN, "marker": "^"},
    MM: {"color": figures.VERMILION, "marker": "D"},
}
RIVAL_LINES: Final = {LINEAR: "--", SHRUNKEN: ":", MAJORITY: "-."}
#: Alpha at which the number of arcs varies in the figure.
EDGE_ALPHA: Final = 0.4
INTERCEPTS: Final = {"free": "free intercepts", "penalized": "penalised intercepts"}


def draw(*frames: pd.DataFrame) -> dict[str, Figure]:
    """Draw figure 3 for all tables."""
    sections = _tables(frames)
    return {name: draw_accuracies(Accuracies(frame)) for name, frame in sections.items()}


def draw_accuracies(accuracies: Accuracies) -> Figure:
    """Figure 3: accuracy by likelihood and by SVM, with free and with penalised intercepts."""
    figure, axes = figures.panels(4, 2, (9.5, 11.5), sharey="col")
    alphas = accuracies.alphas
    for column, bias in zip(axes.T, BIASES, strict=True):
        for ax, decider in zip(column[[0, 2, 3]], DECIDERS, strict=True):
            for method in METHODS:
                values = [accuracies.of(method, bias, alpha, decider=decider) for alpha in alphas]
                _line(ax, alphas, values, method)
            ax.set(title=f"{decider}, {INTERCEPTS[bias]}", xlabel="alpha")
        _along_edges(column[1], accuracies, bias)
    for ax in axes.flat:
        for name, style in RIVAL_LINES.items():
            mean = accuracies.rivals[name].mean()
            ax.axhline(mean, label=name, linewidth=1.2, color=figures.GREY, linestyle=style)
        ax.set_ylabel("test rows in their class, %")
    figures.legend_above(figure, axes[0, 0], "center")
    return figure


def _along_edges(ax: Axes, accuracies: Accuracies, bias: str) -> None:
    start = accuracies.of(OR, bias, EDGE_ALPHA)
    ax.axhline(start.mean(), color=LOOKS[OR]["color"], linewidth=1.4)
    for method in (KL, MM):
        values = [accuracies.of(method, bias, EDGE_ALPHA, n_edges=n) for n in accuracies.edges]
        _line(ax, accuracies.edges, values, method)
    title = f"{LIKELIHOOD}, {INTERCEPTS[bias]}, alpha = {EDGE_ALPHA:g}"
    ax.set(title=title, xlabel="arcs that move")


def _line(ax: Axes, x: Any, values: list[FloatArray], method: str) -> None:
    figures.curve(ax, x, values, markersize=4.5, linewidth=1.4, label=method, **LOOKS[method])


def part_of(name: str, load: Loader, also: Sequence[str] = (), **columns: Any) -> Part:
    """Make the part of a table; ``columns`` tell it from others with the same name.

    The first table reports on all, since the paper's statements are judged on them together.
    """
    about: dict[str, Any] = {"report": report, "figures": draw, "also": tuple(also)}
    tasks, run = partial(list_tasks, table=name, **columns), partial(run_task, load=load)
    return Part(name=name, tasks=tasks, run=run, **(about if name == BREAST else {}))
