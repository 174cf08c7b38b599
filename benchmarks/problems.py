"""The problems: sample correlation matrices of known graphs, each with its penalty."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse.csgraph import connected_components

from edgewise.solvers import graphical_lasso

FloatArray = NDArray[np.float64]
Builder = Callable[[np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Recipe:
    """How to draw one problem.

    Attributes
    ----------
    group : str
        Table the problem belongs to.
    p, n : int
        Variables and samples.
    build : callable
        Draws the precision matrix of the population.
    edges : float or None
        The penalty is searched for until the estimate has this many times the true edges.
    alpha : float or None
        The penalty itself.
    share : float or None
        The penalty as a share of the smallest one that empties the graph.
    """

    group: str
    p: int
    n: int
    build: Builder = field(repr=False)
    edges: float | None = None
    alpha: float | None = None
    share: float | None = None
    #: Problems that differ in the penalty alone share their data through this name.
    data: str = ""


@dataclass(frozen=True, eq=False)
class Problem:
    """A drawn problem: the input of every solver and what is known about it."""

    name: str
    group: str
    S: FloatArray
    n: int
    alpha: float
    n_true_edges: int
    n_components: int
    largest_component: int


def random_graph(p: int, degree: float) -> Builder:
    """Erdős-Rényi graph with ``degree`` neighbours per node on average."""

    def build(rng: np.random.Generator) -> FloatArray:
        return _dominant(np.triu(rng.random((p, p)) < degree / (p - 1), 1), rng)

    return build


def blocks(n_blocks: int, size: int, degree: float) -> Builder:
    """Erdős-Rényi graphs of ``size`` nodes side by side, nothing between them."""

    def build(rng: np.random.Generator) -> FloatArray:
        upper = np.zeros((n_blocks * size,) * 2, dtype=bool)
        for start in range(0, n_blocks * size, size):
            square = slice(start, start + size)
            upper[square, square] = np.triu(rng.random((size, size)) < degree / (size - 1), 1)
        return _dominant(upper, rng)

    return build


def hubs(p: int, size: int) -> Builder:
    """Stars of ``size`` nodes."""

    def build(rng: np.random.Generator) -> FloatArray:
        upper = np.zeros((p, p), dtype=bool)
        for start in range(0, p, size):
            upper[start, start + 1 : start + size] = True
        return _dominant(upper, rng)

    return build


def grid(rows: int, columns: int) -> Builder:
    """Four neighbours in a rectangle; one row makes a chain."""

    def build(rng: np.random.Generator) -> FloatArray:
        index = np.arange(rows * columns).reshape(rows, columns)
        upper = np.zeros((index.size, index.size), dtype=bool)
        upper[index[:, :-1].ravel(), index[:, 1:].ravel()] = True
        upper[index[:-1].ravel(), index[1:].ravel()] = True
        return _dominant(upper, rng)

    return build


def autoregression(p: int, correlation: float, *, shuffled: bool = False) -> Builder:
    """AR(1): correlation ``correlation ** |i - j|``, in order or with the variables shuffled."""

    def build(rng: np.random.Generator) -> FloatArray:
        precision = np.diag(np.full(p, 1 + correlation**2))
        precision[0, 0] = precision[-1, -1] = 1.0
        step = np.arange(p - 1)
        precision[step, step + 1] = precision[step + 1, step] = -correlation
        order = rng.permutation(p) if shuffled else np.arange(p)
        return precision[np.ix_(order, order)]

    return build


def equicorrelation(p: int, correlation: float) -> Builder:
    """One correlation between any two variables."""

    def build(rng: np.random.Generator) -> FloatArray:
        covariance = (1 - correlation) * np.eye(p) + correlation
        return np.asarray(np.linalg.inv(covariance), dtype=np.float64)

    return build


def _dominant(upper: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Diagonally dominant precision matrix with random weights on the edges of ``upper``."""
    weights = rng.uniform(0.3, 1.0, upper.shape) * rng.choice([-1.0, 1.0], upper.shape)
    precision = np.where(upper, weights, 0.0)
    precision += precision.T
    np.fill_diagonal(precision, np.abs(precision).sum(axis=1) + 0.3)
    return precision


def sample_correlation(precision: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Correlation matrix of ``n`` Gaussian samples, exactly symmetric with unit diagonal."""
    factor = np.linalg.cholesky(precision)
    noise = rng.standard_normal((len(precision), n))
    samples = solve_triangular(factor, noise, lower=True, trans="T", check_finite=False)
    samples -= samples.mean(axis=1, keepdims=True)
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    S: FloatArray = samples @ samples.T
    S = (S + S.T) / 2
    np.fill_diagonal(S, 1.0)
    return S


def _alpha_for_edges(S: FloatArray, target: float) -> float:
    """Penalty at which the estimate has ``target`` edges to 1 %, by bisection of its logarithm."""
    high = _alpha_max(S)
    low = high / 1000
    for _ in range(30):
        alpha = float(np.sqrt(low * high))
        estimate = graphical_lasso(S, alpha, tol=1e-4).value
        n_edges = (np.count_nonzero(estimate) - len(S)) // 2
        if abs(n_edges - target) <= 0.01 * target:
            break
        low, high = (alpha, high) if n_edges > target else (low, alpha)
    return alpha


def _alpha_max(S: FloatArray) -> float:
    return float(np.abs(S - np.diag(S.diagonal())).max())


def _recipes() -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for multiple in (1, 3):
        for p, n in ((20, 150), (100, 200), (300, 500), (500, 1000), (1000, 1000)):
            build = random_graph(p, 3)
            recipe = Recipe(f"x{multiple}", p, n, build, edges=multiple, data=f"er{p}")
            found[f"er{p}-x{multiple}"] = recipe
        recipe = Recipe(
            f"x{multiple}", 1000, 2000, blocks(20, 50, 3), edges=multiple, data="block1000"
        )
        found[f"block1000-x{multiple}"] = recipe
    hard: dict[str, Recipe] = {}
    ar1, shuffled = autoregression(300, 0.95), autoregression(300, 0.95, shuffled=True)
    equal = equicorrelation(200, 0.5)
    for alpha in (0.2, 0.05):
        label = f"a{alpha:g}"
        hard[f"ar1-300-{label}"] = Recipe("hard", 300, 500, ar1, alpha=alpha, data="ar1")
        hard[f"ar1-shuffled-300-{label}"] = Recipe(
            "hard", 300, 500, shuffled, alpha=alpha, data="ar1-shuffled"
        )
    for alpha in (0.3, 0.1):
        hard[f"equal200-a{alpha:g}"] = Recipe("hard", 200, 400, equal, alpha=alpha, data="equal")
    for p, alpha in ((1000, 0.2), (1000, 0.05)):
        ar1 = autoregression(p, 0.95)
        hard[f"ar1-{p}-a{alpha:g}"] = Recipe("hard", p, 1700, ar1, alpha=alpha, data=f"ar1-{p}")
    hard["p300-n100-s0.001"] = Recipe("hard", 300, 100, random_graph(300, 3), share=1e-3)
    for p in (300, 1000):
        equal, wide = equicorrelation(p, 0.5), random_graph(p, 3)
        hard[f"equal{p}-a0.3"] = Recipe("hard", p, 2 * p, equal, alpha=0.3)
        for share in (0.05, 0.01):
            hard[f"wide{p}-s{share:g}"] = Recipe(
                "hard", p, p // 2, wide, share=share, data=f"wide{p}"
            )
    for p, n in ((300, 50), (500, 100)):
        build = random_graph(p, 3)
        for multiple in (1, 3):
            hard[f"p{p}-n{n}-x{multiple}"] = Recipe(
                "hard", p, n, build, edges=multiple, data=f"p{p}-n{n}"
            )
    hard |= {
        "dense300-x1": Recipe("hard", 300, 1000, random_graph(300, 50), edges=1),
        "hub300-x1": Recipe("hard", 300, 500, hubs(300, 20), edges=1),
        "chain300-x1": Recipe("hard", 300, 500, grid(1, 300), edges=1),
        "grid300-x1": Recipe("hard", 300, 500, grid(15, 20), edges=1),
        "ar1-100-a0.2": Recipe("hard", 100, 500, autoregression(100, 0.95), alpha=0.2),
        "small-alpha-n80": Recipe("hard", 100, 80, random_graph(100, 3), share=1e-3),
        "small-alpha-n400": Recipe("hard", 100, 400, random_graph(100, 3), share=1e-3),
    }
    large = {
        f"er5000-x{multiple}": Recipe(
            "large", 5000, 2500, random_graph(5000, 3), edges=multiple, data="er5000"
        )
        for multiple in (1, 2)
    }
    return found | hard | large


RECIPES = _recipes()


def draw(name: str) -> Problem:
    """Draw the problem called ``name``; the same matrix every time."""
    recipe = RECIPES[name]
    seed = zlib.crc32((recipe.data or name).encode())
    rng = np.random.default_rng(seed)
    precision = recipe.build(rng)
    n_true = (np.count_nonzero(precision) - recipe.p) // 2
    S = sample_correlation(precision, recipe.n, rng)
    if recipe.edges is not None:
        alpha = _alpha_for_edges(S, recipe.edges * n_true)
    elif recipe.share is not None:
        alpha = recipe.share * _alpha_max(S)
    elif recipe.alpha is not None:
        alpha = recipe.alpha
    else:
        raise ValueError(f"the recipe of {name} sets no penalty")
    n_components, labels = connected_components(np.abs(S) > alpha, directed=False)
    return Problem(
        name=name,
        group=recipe.group,
        S=S,
        n=recipe.n,
        alpha=alpha,
        n_true_edges=int(n_true),
        n_components=int(n_components),
        largest_component=int(np.bincount(labels).max()),
    )


def draw_paths(n_sets: int) -> tuple[FloatArray, FloatArray]:
    """Correlation matrices of ``n_sets`` graphs of 20 nodes, and 20 decreasing penalties."""
    children = np.random.default_rng(20).spawn(n_sets)
    build = random_graph(20, 3)
    stack = np.stack([sample_correlation(build(rng), 150, rng) for rng in children])
    return stack, np.geomspace(0.44, 0.023, 20)
