"""Rows that are not Gaussian: discrete Markov networks, the diamond distribution, and genes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, RandomState
from edgewise.data.levels import code_type
from edgewise.data.markov import MarkovModel, gibbs
from edgewise.data.simulate.change import (
    SimulatedChange,
    count_pairs,
    draw_edges,
    draw_pairs,
    pairs_as_adjacency,
    sample_sizes,
)

DiamondMethod: TypeAlias = Literal["auto", "rejection", "gibbs"]
DIAMOND_METHODS: Final[tuple[str, ...]] = get_args(DiamondMethod)

#: Rows proposed at a time; the first lot tells how many are accepted.
BATCH = 20_000
#: Share of accepted rows below which ``"auto"`` takes Gibbs.
FEW_ACCEPTED = 1e-3
#: Share below which rejection is refused: a thousand rows would take a hundred million proposals.
TOO_FEW_ACCEPTED = 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class DiamondChange(SimulatedChange):
    """Rows of two diamond distributions.

    Attributes
    ----------
    first, second, changed
        As in `SimulatedChange`.
    first_adjacency, second_adjacency : ndarray of bool, shape (n_features, n_features)
        The true graphs, one a part of the other.
    coupling : float
        Strength of every edge.

    Examples
    --------
    >>> data = diamond_change(n_samples=100, rng=0)
    >>> bool((data.second_adjacency >= data.first_adjacency).all())
    True
    """

    first_adjacency: BoolArray
    second_adjacency: BoolArray
    coupling: float


def diamond_change(
    n_features: int = 9,
    n_samples: int | tuple[int, int] = 5000,
    *,
    densities: tuple[float, float] = (0.15, 0.35),
    coupling: float = 20.0,
    method: DiamondMethod = "auto",
    n_sweeps: int = 200,
    rng: RandomState = None,
) -> DiamondChange:
    """Draw two groups from diamond distributions, one of which has only some edges of the other.

    Pearson correlations are 0 in both groups and stay 0 after any change of the scales, so that
    methods that assume a Gaussian, or a Gaussian after transforming each variable, see nothing.

    Parameters
    ----------
    n_features : int
        Number of variables.
    n_samples : int or (int, int)
        Rows of each group, or of the first and of the second.
    densities : (float, float)
        Share of the pairs that are edges in the first and in the second group. The denser graph
        is drawn evenly; edges are removed from it, evenly again, for the other one.
    coupling, method, n_sweeps
        As in `sample_diamond`.
    rng : int, Generator or None
        Seed. The graphs depend on it, but not on ``n_samples``, ``coupling``, ``method`` and
        ``n_sweeps``.

    Returns
    -------
    DiamondChange

    References
    ----------
    S. Liu, J. A. Quinn, M. U. Gutmann, T. Suzuki and M. Sugiyama (2014), Direct learning of sparse
    changes in Markov networks by density ratio estimation, Neural Computation 26, 1169-1197,
    doi:10.1162/NECO_a_00589, section 4.3.

    Examples
    --------
    >>> data = diamond_change(rng=0)
    >>> int(data.first_adjacency.sum()) // 2, int(data.second_adjacency.sum()) // 2, data.n_changed
    (5, 13, 8)
    """
    sizes = sample_sizes(n_samples)
    of_graphs, *of_rows = spawn(rng, 3)
    denser = draw_pairs(n_features, max(densities), of_graphs)
    sparser = draw_edges(denser, count_pairs(n_features, min(densities)), of_graphs)
    graphs = (sparser, denser) if densities[0] <= densities[1] else (denser, sparser)
    first, second = (
        sample_diamond(
            adjacency, size, coupling=coupling, method=method, n_sweeps=n_sweeps, rng=stream
        )
        for adjacency, size, stream in zip(graphs, sizes, of_rows, strict=True)
    )
    return DiamondChange(
        first=first,
        second=second,
        changed=graphs[0] != graphs[1],
        first_adjacency=graphs[0],
        second_adjacency=graphs[1],
        coupling=float(coupling),
    )


def sample_diamond(
    adjacency: Any,
    n_samples: int,
    *,
    coupling: float = 20.0,
    method: DiamondMethod = "auto",
    n_sweeps: int = 200,
    rng: RandomState = None,
) -> FloatArray:
    r"""Draw rows from a diamond distribution.

    With edges :math:`E`, every pair counted once, and the coupling :math:`c` the density is

    .. math:: p(x) \propto \exp\Big(-2 \sum_i x_i^2 - c \sum_{\{i, j\} \in E} x_i^2 x_j^2\Big).

    Joined variables cannot both be large: seen in two dimensions, the density is a diamond. The
    sign of a variable tells nothing about the others, hence all correlations are 0.

    Parameters
    ----------
    adjacency : array-like of bool, shape (n_features, n_features)
        The graph, symmetric.
    n_samples : int
        Number of rows.
    coupling : float
        :math:`c`, at least 0.
    method : {"auto", "rejection", "gibbs"}
        ``"rejection"`` draws independent normal rows with variance 1/4 and keeps each with the
        probability :math:`\exp(-c \sum_E x_i^2 x_j^2)`: exact, but hardly any row is kept if there
        are many edges. ``"gibbs"`` runs a Markov chain for each row; given the others,
        :math:`x_i` is normal with variance :math:`1 / (4 + 2 c \sum_{j \sim i} x_j^2)`. ``"auto"``
        rejects if at least one row in a thousand is kept.
    n_sweeps : int
        Length of each chain, in draws of every variable; for Gibbs only.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Independent rows.

    Examples
    --------
    >>> X = sample_diamond([[0, 1], [1, 0]], 10_000, rng=0)
    >>> squared = np.corrcoef(X**2, rowvar=False)[0, 1]
    >>> print(f"{np.corrcoef(X, rowvar=False)[0, 1]:.2f} {squared:.2f}")
    -0.00 -0.21
    """
    if method not in DIAMOND_METHODS:
        raise InputError(
            f"Unknown method {method!r}. Known are {', '.join(map(repr, DIAMOND_METHODS))}."
        )
    graph = np.asarray(adjacency, dtype=bool)
    if graph.ndim != 2 or not np.array_equal(graph, graph.T) or graph.diagonal().any():
        raise InputError("adjacency must be a symmetric matrix with nothing on its diagonal.")
    if n_samples < 1 or n_sweeps < 1:
        raise InputError(
            f"n_samples and n_sweeps must be at least 1, got {n_samples} and {n_sweeps}."
        )
    if not 0 <= coupling < np.inf:
        raise InputError(f"coupling must be a number of at least 0, got {coupling}.")
    generator = as_generator(rng)
    couplings = coupling * graph
    if method == "gibbs":
        return _sample_gibbs(couplings, n_samples, n_sweeps, generator)
    proposals, log_weight = _propose(couplings, generator)
    accepted = float(np.exp(log_weight).mean())
    if method == "auto" and accepted < FEW_ACCEPTED:
        return _sample_gibbs(couplings, n_samples, n_sweeps, generator)
    if accepted < TOO_FEW_ACCEPTED:
        raise InputError(
            f"Rejection would keep {accepted:.1g} of the rows it draws for these "
            f'{int(graph.sum()) // 2} edges. Use method="gibbs".'
        )
    kept = [_keep(proposals, log_weight, generator)]
    while sum(map(len, kept)) < n_samples:
        kept.append(_keep(*_propose(couplings, generator), generator))
    return np.concatenate(kept)[:n_samples]


def _propose(
    couplings: FloatArray, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw normal rows with variance 1/4, and the logarithm of the probability to keep each."""
    rows = 0.5 * generator.standard_normal((BATCH, len(couplings)))
    squares = rows**2
    # Half, because the matrix holds both directions of every pair.
    return rows, -0.5 * np.einsum("ij,ij->i", squares @ couplings, squares)


def _keep(rows: FloatArray, log_weight: FloatArray, generator: np.random.Generator) -> FloatArray:
    return rows[generator.random(len(rows)) < np.exp(log_weight)]


def _sample_gibbs(
    couplings: FloatArray, n_samples: int, n_sweeps: int, generator: np.random.Generator
) -> FloatArray:
    """One chain per row, all of them moved together."""
    n_features = len(couplings)
    columns = 0.5 * generator.standard_normal((n_features, n_samples))
    squares = columns**2
    for _ in range(n_sweeps):
        for v in range(n_features):
            rate = 2.0 + couplings[v] @ squares
            columns[v] = generator.standard_normal(n_samples) / np.sqrt(2.0 * rate)
            squares[v] = columns[v] ** 2
    return np.ascontiguousarray(columns.T)


RegulationKind: TypeAlias = Literal["activation", "repression", "dual"]
REGULATION_KINDS: Final[tuple[str, ...]] = get_args(RegulationKind)

N_GENES: Final = 13
#: Genes without a regulator come first, and a regulator has a smaller number than its targets.
N_INPUTS: Final = 3
_REGULATIONS: Final[tuple[tuple[int, int, RegulationKind], ...]] = (
    (0, 3, "activation"),
    (0, 4, "dual"),
    (1, 4, "repression"),
    (1, 5, "activation"),
    (2, 6, "repression"),
    (2, 7, "activation"),
    (3, 8, "activation"),
    (4, 8, "activation"),
    (4, 9, "repression"),
    (5, 10, "dual"),
    (6, 10, "activation"),
    (6, 11, "activation"),
    (7, 11, "repression"),
    (7, 12, "dual"),
    (9, 12, "activation"),
)
#: Lowest level of a regulated gene, and how far it can rise above that.
_LEAK: Final = 0.02
_RANGE: Final = 0.96


@dataclass(frozen=True, kw_only=True)
class Regulation:
    """How one gene acts on another.

    Attributes
    ----------
    regulator, target : int
        Numbers of the genes.
    kind : {"activation", "repression", "dual"}
        More of the regulator gives more of the target, less of it, or first more and then less.
    threshold : float
        Level of the regulator at which it acts half.
    steepness : float
        Hill coefficient: how suddenly it acts around the threshold.

    Examples
    --------
    >>> gene_regulation_change(rng=0).first_regulations[0].kind
    'activation'
    """

    regulator: int
    target: int
    kind: RegulationKind
    threshold: float
    steepness: float


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneRegulationChange(SimulatedChange):
    """Expression of genes in two groups.

    Attributes
    ----------
    first, second : ndarray of shape (n_first, 13), (n_second, 13)
        Measured levels, above 0.
    changed : ndarray of bool, shape (13, 13)
        The regulations that are of another kind. Genes that act on the same target come to
        depend on each other in another way as well; those pairs are not counted.
    first_regulations, second_regulations : tuple of Regulation
        All regulations, in the same order in both.

    Examples
    --------
    >>> data = gene_regulation_change(rng=0)
    >>> pairs = zip(data.first_regulations, data.second_regulations)
    >>> sum(before.kind != after.kind for before, after in pairs)
    6
    """

    first_regulations: tuple[Regulation, ...]
    second_regulations: tuple[Regulation, ...]


def gene_regulation_change(
    n_samples: int | tuple[int, int] = 50,
    *,
    n_changed: int = 6,
    biological_noise: float = 0.1,
    experimental_noise: float = 0.05,
    rng: RandomState = None,
) -> GeneRegulationChange:
    r"""Draw the expression of thirteen genes, a few of whose regulations are of another kind.

    Fifteen regulations join the genes without a cycle. Three genes have no regulator; their levels
    are drawn from a Beta(2, 2) distribution. The level of every other gene settles at

    .. math::

        x_t = 0.02 + 0.96 \, \frac{a}{1 + a + r}, \qquad z_s = (x_s / K_{st})^{h_{st}},

    where a regulator :math:`s` adds :math:`z_s` to :math:`a` if it activates, :math:`z_s` to
    :math:`r` if it represses, and :math:`z_s` to :math:`a` and :math:`z_s^2 / 2` to :math:`r` if it
    is dual. A gene that is only repressed is on by itself: :math:`1 / (1 + r)` takes the place of
    the fraction. Thresholds :math:`K` are drawn from 0.2 to 0.6 and Hill coefficients :math:`h`
    from 1.5 to 4, the same for both groups. In the second group ``n_changed`` regulations, drawn
    evenly, are of another kind: activation becomes repression, repression activation, and dual
    one or the other.

    Parameters
    ----------
    n_samples : int or (int, int)
        Rows of each group, or of the first and of the second.
    n_changed : int
        Number of regulations that change, at most 15.
    biological_noise : float
        Standard deviation of the logarithm of each level around its settled value. Genes down the
        line follow the noisy level.
    experimental_noise : float
        Standard deviation of the logarithm of each measured value around the level.
    rng : int, Generator or None
        Seed. The regulations depend on it, but not on ``n_samples`` and the noise.

    Returns
    -------
    GeneRegulationChange

    Notes
    -----
    The kinetics are in the manner of SynTReN, which takes parts of real networks; the network here
    is our own.

    References
    ----------
    T. Van den Bulcke et al. (2006), SynTReN: a generator of synthetic gene expression data for
    design and analysis of structure learning algorithms, BMC Bioinformatics 7, 43,
    doi:10.1186/1471-2105-7-43.

    S. Liu, J. A. Quinn, M. U. Gutmann, T. Suzuki and M. Sugiyama (2014), Direct learning of sparse
    changes in Markov networks by density ratio estimation, Neural Computation 26, 1169-1197,
    doi:10.1162/NECO_a_00589, section 5.1.

    Examples
    --------
    >>> data = gene_regulation_change(rng=0)
    >>> data.X.shape, data.n_changed
    ((100, 13), 6)
    """
    if not 0 <= n_changed <= len(_REGULATIONS):
        raise InputError(f"n_changed must lie between 0 and {len(_REGULATIONS)}, got {n_changed}.")
    noise = (biological_noise, experimental_noise)
    if not all(0 <= size < np.inf for size in noise):
        raise InputError(
            "biological_noise and experimental_noise must be numbers of at least 0, got "
            f"{biological_noise} and {experimental_noise}."
        )
    sizes = sample_sizes(n_samples)
    of_regulations, of_first, of_second = spawn(rng, 3)
    before = _draw_regulations(of_regulations)
    after = _change_kinds(before, n_changed, of_regulations)
    pairs = np.array(
        [(old.regulator, old.target) for old, new in zip(before, after, strict=True) if old != new],
        dtype=np.int64,
    ).reshape(-1, 2)
    return GeneRegulationChange(
        first=_express(before, sizes[0], noise, of_first),
        second=_express(after, sizes[1], noise, of_second),
        changed=pairs_as_adjacency(N_GENES, pairs[:, 0], pairs[:, 1]),
        first_regulations=before,
        second_regulations=after,
    )


def _draw_regulations(generator: np.random.Generator) -> tuple[Regulation, ...]:
    return tuple(
        Regulation(
            regulator=regulator,
            target=target,
            kind=kind,
            threshold=float(generator.uniform(0.2, 0.6)),
            steepness=float(generator.uniform(1.5, 4.0)),
        )
        for regulator, target, kind in _REGULATIONS
    )


def _change_kinds(
    regulations: Sequence[Regulation], n_changed: int, generator: np.random.Generator
) -> tuple[Regulation, ...]:
    changed = list(regulations)
    for index in generator.choice(len(changed), size=n_changed, replace=False):
        others = [kind for kind in ("activation", "repression") if kind != changed[index].kind]
        changed[index] = dataclasses.replace(changed[index], kind=generator.choice(others))
    return tuple(changed)


def _express(
    regulations: Sequence[Regulation],
    n_samples: int,
    noise: tuple[float, float],
    generator: np.random.Generator,
) -> FloatArray:
    """Levels gene by gene, regulators before their targets, and the measured values."""
    biological, experimental = noise
    inputs = generator.beta(2.0, 2.0, size=(n_samples, N_INPUTS))
    own, measured = generator.standard_normal((2, n_samples, N_GENES))
    levels = np.empty((n_samples, N_GENES))
    for gene in range(N_GENES):
        acting = [regulation for regulation in regulations if regulation.target == gene]
        settled = inputs[:, gene] if gene < N_INPUTS else _settle(acting, levels)
        levels[:, gene] = settled * np.exp(biological * own[:, gene])
    observed: FloatArray = levels * np.exp(experimental * measured)
    return observed


def _settle(acting: Sequence[Regulation], levels: FloatArray) -> FloatArray:
    """Steady level of a gene under its regulators."""
    activation, repression = np.zeros(len(levels)), np.zeros(len(levels))
    for regulation in acting:
        strength = (levels[:, regulation.regulator] / regulation.threshold) ** regulation.steepness
        if regulation.kind == "repression":
            repression += strength
            continue
        activation += strength
        if regulation.kind == "dual":
            repression += strength**2 / 2.0
    if all(regulation.kind == "repression" for regulation in acting):
        return _LEAK + _RANGE / (1.0 + repression)
    return _LEAK + _RANGE * activation / (1.0 + activation + repression)


SamplingMethod: TypeAlias = Literal["auto", "gibbs", "exact"]
SAMPLING_METHODS: Final[tuple[str, ...]] = get_args(SamplingMethod)

#: Up to this many states the whole distribution is written out.
MOST_STATES = 2**20


def sample_markov(
    model: MarkovModel,
    n_samples: int,
    *,
    method: SamplingMethod = "auto",
    burn_in: int = 100,
    thin: int = 1,
    rng: RandomState = None,
) -> AnyArray:
    """Draw rows from a Markov network.

    Parameters
    ----------
    model : MarkovModel
        The distribution.
    n_samples : int
        Number of rows.
    method : {"auto", "gibbs", "exact"}
        ``"exact"`` writes out the probabilities of all states, up to 2**20 of them, and draws
        independent rows. ``"gibbs"`` draws each variable in turn from its distribution given the
        others; its rows are a Markov chain, so that neighbouring rows are correlated. ``"auto"`` is
        exact where that is possible.
    burn_in : int
        Sweeps over all variables before the first row, from levels drawn evenly; for Gibbs only.
    thin : int
        Sweeps from one row to the next; for Gibbs only.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Levels, of type uint8 if no variable has more than 256 of them, else uint16 or int32.

    References
    ----------
    S. Geman and D. Geman (1984), Stochastic relaxation, Gibbs distributions, and the Bayesian
    restoration of images, IEEE Transactions on Pattern Analysis and Machine Intelligence 6,
    721-741, doi:10.1109/TPAMI.1984.4767596.

    Examples
    --------
    >>> from edgewise.data import load_network, markov_model
    >>> model = markov_model(load_network("karate").adjacency, rng=0)
    >>> sample_markov(model, 1000, rng=1).shape
    (1000, 34)
    """
    if method not in SAMPLING_METHODS:
        raise InputError(
            f"Unknown method {method!r}. Known are {', '.join(map(repr, SAMPLING_METHODS))}."
        )
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, got {n_samples}.")
    if burn_in < 0 or thin < 1:
        raise InputError(
            f"burn_in must be at least 0 and thin at least 1, got {burn_in} and {thin}."
        )
    generator = as_generator(rng)
    if method == "gibbs" or (method == "auto" and model.n_states > MOST_STATES):
        return _walk(model, n_samples, burn_in, thin, generator)
    if model.n_states > MOST_STATES:
        raise InputError(
            f"The {model.n_features} variables have {model.n_states:.3g} states, too many to write "
            f'out (the most is {MOST_STATES}). Use method="gibbs".'
        )
    return _sample_exact(model, n_samples, generator)


def _walk(
    model: MarkovModel,
    n_samples: int,
    burn_in: int,
    thin: int,
    generator: np.random.Generator,
) -> AnyArray:
    tables = model.layout
    state = generator.integers(model.cardinalities)
    steps = tables.strides * state[tables.members]
    selected = tables.offsets[:-1] + np.add.reduceat(steps, tables.clique_start[:-1])
    rows = np.empty((n_samples, model.n_features), dtype=code_type(model.cardinalities))
    gibbs(
        model.cells,
        model.cardinalities,
        tables.variable_start,
        tables.variable_cliques,
        tables.variable_strides,
        state,
        selected,
        burn_in,
        thin,
        generator,
        rows,
    )
    return rows


def _sample_exact(model: MarkovModel, n_samples: int, generator: np.random.Generator) -> AnyArray:
    """Invert the distribution function over all states, in row-major order."""
    # Variables with one level get no axis, since numpy has only so many.
    levels = model.cardinalities
    log_weights = np.zeros(tuple(levels[levels > 1]))
    for clique, table in zip(model.cliques, model.potentials, strict=True):
        inside = np.isin(np.arange(model.n_features), clique)[levels > 1]
        log_weights += table.reshape(np.where(inside, levels[levels > 1], 1))
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    drawn = np.searchsorted(
        cumulative[:-1], generator.random(n_samples) * cumulative[-1], side="right"
    )
    rows = np.zeros((n_samples, model.n_features), dtype=code_type(levels))
    for v in reversed(np.flatnonzero(levels > 1).tolist()):
        drawn, rows[:, v] = np.divmod(drawn, levels[v])
    return rows
