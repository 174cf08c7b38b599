"""The diamond distribution: dependence without correlation."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.data.simulate.change import (
    SimulatedChange,
    count_pairs,
    draw_edges,
    draw_pairs,
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
    >>> data = make_diamond_change(n_samples=100, rng=0)
    >>> bool((data.second_adjacency >= data.first_adjacency).all())
    True
    """

    first_adjacency: BoolArray
    second_adjacency: BoolArray
    coupling: float

    def sample(
        self,
        n_samples: int | tuple[int, int],
        rng: RandomState = None,
        *,
        method: DiamondMethod = "auto",
        n_sweeps: int = 200,
    ) -> DiamondChange:
        """Draw other rows from the same two distributions.

        Parameters
        ----------
        n_samples, rng, method, n_sweeps
            As in `make_diamond_change`.

        Returns
        -------
        DiamondChange

        Examples
        --------
        >>> make_diamond_change(n_samples=100, rng=0).sample(300, rng=1).first.shape
        (300, 9)
        """
        graphs = self.first_adjacency, self.second_adjacency
        first, second = (
            sample_diamond(
                adjacency,
                size,
                coupling=self.coupling,
                method=method,
                n_sweeps=n_sweeps,
                rng=of_rows,
            )
            for adjacency, size, of_rows in zip(
                graphs, sample_sizes(n_samples), spawn(rng, 2), strict=True
            )
        )
        return dataclasses.replace(self, first=first, second=second)


def make_diamond_change(
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
    >>> data = make_diamond_change(rng=0)
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
            "unknown_sampling_method", method=method, listed=", ".join(map(repr, DIAMOND_METHODS))
        )
    graph = np.asarray(adjacency, dtype=bool)
    if graph.ndim != 2 or not np.array_equal(graph, graph.T) or graph.diagonal().any():
        raise InputError("adjacency_asymmetric_or_loop")
    if n_samples < 1 or n_sweeps < 1:
        raise InputError("samples_and_sweeps_range", n_samples=n_samples, n_sweeps=n_sweeps)
    if not 0 <= coupling < np.inf:
        raise InputError("coupling_range", coupling=coupling)
    generator = as_generator(rng)
    couplings = coupling * graph
    if method == "gibbs":
        return _sample_gibbs(couplings, n_samples, n_sweeps, generator)
    proposals, log_weight = _propose(couplings, generator)
    accepted = float(np.exp(log_weight).mean())
    if method == "auto" and accepted < FEW_ACCEPTED:
        return _sample_gibbs(couplings, n_samples, n_sweeps, generator)
    if accepted < TOO_FEW_ACCEPTED:
        raise InputError("rejection_too_slow", accepted=accepted, graph=int(graph.sum()) // 2)
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
