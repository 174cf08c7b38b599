"""Two groups of rows whose networks differ in known pairs: what is shared, and Gaussians."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.labels import TwoSamples
from edgewise.data.simulate.gaussian import GaussianModel, make_graph

#: Share of the pairs that `make_gaussian_change` joins if nothing else is asked for.
DENSITY = 0.25
#: Models drawn in search of two that are positive definite.
MAX_DRAWS = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedChange(TwoSamples):
    """Rows of two groups, and the pairs of variables whose interaction differs.

    Attributes
    ----------
    first, second : ndarray of shape (n_first, n_features), (n_second, n_features)
        Rows of the first and of the second group.
    changed : ndarray of bool, shape (n_features, n_features)
        The true change graph.

    Examples
    --------
    >>> data = make_lattice_change(16, 50, rng=0)
    >>> data.X.shape, data.y[[0, -1]].tolist()
    ((100, 16), ['first', 'second'])
    """

    changed: BoolArray

    @property
    def X(self) -> FloatArray:  # noqa: N802, the name it has everywhere
        """Rows of the first group, then those of the second."""
        return np.vstack([self.first, self.second])

    @property
    def y(self) -> AnyArray:
        """Label of every row of ``X``: ``"first"`` or ``"second"``."""
        return np.repeat(["first", "second"], [len(self.first), len(self.second)])

    @property
    def n_changed(self) -> int:
        """Number of pairs that changed."""
        return int(self.changed.sum()) // 2


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianChange(SimulatedChange):
    """Rows of two Gaussian models, or of models that a power of each variable makes Gaussian.

    Attributes
    ----------
    first, second, changed
        As in `SimulatedChange`.
    first_model, second_model : GaussianModel
        The true models, of the rows after each value x has become sign(x) abs(x) ** power.
    power : float
        1 if the rows are Gaussian themselves.

    Examples
    --------
    >>> data = make_gaussian_change(rng=0)
    >>> difference = data.second_model.precision - data.first_model.precision
    >>> bool(((difference != 0) == data.changed).all())
    True
    """

    first_model: GaussianModel
    second_model: GaussianModel
    power: float

    def sample(
        self,
        n_samples: int | tuple[int, int],
        rng: RandomState = None,
        *,
        shared_noise: bool = False,
    ) -> GaussianChange:
        """Draw other rows from the same two models, to choose a penalty on or to test with.

        Parameters
        ----------
        n_samples, rng, shared_noise
            As in `make_gaussian_change`.

        Returns
        -------
        GaussianChange

        Examples
        --------
        >>> make_gaussian_change(rng=0).sample(3000, rng=1).first.shape
        (3000, 40)
        """
        return _draw_rows(
            self.first_model,
            self.second_model,
            n_samples,
            power=self.power,
            shared_noise=shared_noise,
            generator=as_generator(rng),
        )


def make_gaussian_change(
    n_features: int = 40,
    n_samples: int | tuple[int, int] = 100,
    *,
    n_changed: int = 15,
    change: float = 0.1,
    density: float | None = None,
    n_neighbors: int | None = None,
    power: float = 1.0,
    shared_noise: bool = False,
    min_eigenvalue: float = 0.1,
    rng: RandomState = None,
) -> GaussianChange:
    r"""Draw two groups from Gaussians whose precision matrices differ in a few edges.

    The precision of the second group has 2 on the diagonal and 0.2 on the edges of a random graph.
    In the first group, ``n_changed`` of these edges are lower by ``change``. Both are drawn anew
    until both are positive definite.

    Parameters
    ----------
    n_features : int
        Number of variables.
    n_samples : int or (int, int)
        Rows of each group, or of the first and of the second.
    n_changed : int
        Number of edges that differ.
    change : float
        Size of the difference. The default of 0.1 is the published one, and too small for any
        method to see in a few hundred independent rows; 0.8 can be seen in 100.
    density : float, optional
        Share of the pairs that are edges, 0.25 by default. With that many, 200 variables or more
        do not give a positive definite matrix: use ``n_neighbors`` there.
    n_neighbors : int, optional
        Edges of every node, in place of ``density``; 10 will do for any number of variables.
    power : float
        :math:`k` of the map :math:`h(x) = \mathrm{sign}(x) |x|^k` after which the rows are
        Gaussian, variable by variable. 1 gives Gaussian rows; 2 takes the root of each size, the
        published nonparanormal case. It draws nothing: other powers give the same rows, mapped.
    shared_noise : bool
        Whether both groups are made of the same standard normal rows. The noise then cancels in
        every comparison of the two, which no real data grant: no bar should be set by it.
    min_eigenvalue : float
        Lower bound on the eigenvalues of both precision matrices.
    rng : int, Generator or None
        Seed. The models depend on it, but not on ``n_samples``, ``power`` and ``shared_noise``.

    Returns
    -------
    GaussianChange

    References
    ----------
    S. Liu, J. A. Quinn, M. U. Gutmann, T. Suzuki and M. Sugiyama (2014), Direct learning of sparse
    changes in Markov networks by density ratio estimation, Neural Computation 26, 1169-1197,
    doi:10.1162/NECO_a_00589, sections 4.1 and 4.2.

    Examples
    --------
    >>> data = make_gaussian_change(change=0.8, rng=0)
    >>> data.X.shape, data.n_changed, int(data.second_model.adjacency.sum()) // 2
    ((200, 40), 15, 195)
    """
    _check_change(n_changed, change)
    if not power > 0:
        raise InputError("power_positive", power=power)
    if not min_eigenvalue > 0:
        raise InputError("min_eigenvalue_positive", min_eigenvalue=min_eigenvalue)
    of_models, of_rows = spawn(rng, 2)
    for _ in range(MAX_DRAWS):
        adjacency = _draw_graph(n_features, density, n_neighbors, of_models)
        changed = draw_edges(adjacency, n_changed, of_models)
        second = 2.0 * np.eye(n_features) + 0.2 * adjacency
        first = second - change * changed
        if _is_definite(first, min_eigenvalue) and _is_definite(second, min_eigenvalue):
            return _draw_rows(
                GaussianModel.from_precision(first),
                GaussianModel.from_precision(second),
                n_samples,
                power=power,
                shared_noise=shared_noise,
                generator=of_rows,
            )
    raise InputError("no_stable_pair_drawn", max_draws=MAX_DRAWS, min_eigenvalue=min_eigenvalue)


def make_lattice_change(
    n_features: int = 64,
    n_samples: int | tuple[int, int] = 500,
    *,
    n_changed: int = 4,
    rng: RandomState = None,
) -> GaussianChange:
    """Draw two groups from Gaussians on a square lattice, a few of whose edges turn their sign.

    The precision of the second group has 2 on the diagonal and 0.4 on the edges of the lattice. In
    the first group, ``n_changed`` edges have -0.4. Both are positive definite for any size, and
    an edge differs as much on a large lattice as on a small one, so that the rows needed to find
    exactly the changed edges can be compared over sizes: they grow like the logarithm.

    Parameters
    ----------
    n_features : int
        Number of variables, a square number.
    n_samples : int or (int, int)
        Rows of each group, or of the first and of the second.
    n_changed : int
        Number of edges that differ.
    rng : int, Generator or None
        Seed. The models depend on it, but not on ``n_samples``.

    Returns
    -------
    GaussianChange

    References
    ----------
    S. Liu, T. Suzuki, R. Relator, J. Sese, M. Sugiyama and K. Fukumizu (2017), Support consistency
    of direct sparse-change learning in Markov networks, Annals of Statistics 45, 959-990,
    doi:10.1214/16-AOS1470.

    Examples
    --------
    >>> data = make_lattice_change(rng=0)
    >>> sorted(set(data.first_model.precision.ravel().tolist()))
    [-0.4, 0.0, 0.4, 2.0]
    """
    side = math.isqrt(max(n_features, 0))
    if side < 2 or side**2 != n_features:
        raise InputError("lattice_not_square", n_features=n_features)
    _check_change(n_changed, 0.8)
    of_models, of_rows = spawn(rng, 2)
    adjacency = make_graph(n_features, "grid", shape=(side, side))
    changed = draw_edges(adjacency, n_changed, of_models)
    second = 2.0 * np.eye(n_features) + 0.4 * adjacency
    return _draw_rows(
        GaussianModel.from_precision(np.where(changed, -0.4, second)),
        GaussianModel.from_precision(second),
        n_samples,
        power=1.0,
        shared_noise=False,
        generator=of_rows,
    )


def sample_sizes(n_samples: int | tuple[int, int]) -> tuple[int, int]:
    """Rows of the first and of the second group."""
    sizes = tuple(n_samples) if isinstance(n_samples, Sequence) else (n_samples, n_samples)
    if len(sizes) != 2 or min(sizes) < 1:
        raise InputError("n_samples_two_groups", n_samples=n_samples)
    return sizes


def pairs_as_adjacency(n_features: int, rows: IntArray, columns: IntArray) -> BoolArray:
    """Adjacency matrix of the given pairs."""
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    adjacency[rows, columns] = adjacency[columns, rows] = True
    return adjacency


def draw_edges(adjacency: BoolArray, n_edges: int, generator: np.random.Generator) -> BoolArray:
    """Adjacency matrix of some of the edges, drawn evenly and without replacement."""
    rows, columns = np.nonzero(np.triu(adjacency, k=1))
    if n_edges > len(rows):
        raise InputError("too_few_edges_to_draw", n_rows=len(rows), n_edges=n_edges)
    drawn = generator.choice(len(rows), size=n_edges, replace=False)
    return pairs_as_adjacency(len(adjacency), rows[drawn], columns[drawn])


def draw_pairs(n_features: int, density: float, generator: np.random.Generator) -> BoolArray:
    """Adjacency matrix of some of all pairs, drawn evenly and without replacement."""
    everything = ~np.eye(n_features, dtype=bool)
    return draw_edges(everything, count_pairs(n_features, density), generator)


def count_pairs(n_features: int, density: float) -> int:
    """Share of all pairs of variables, as a whole number."""
    if n_features < 2:
        raise InputError("too_few_nodes", n_features=n_features)
    if not 0 <= density <= 1:
        raise InputError("density_range", density=density)
    return round(density * n_features * (n_features - 1) / 2)


def _draw_graph(
    n_features: int,
    density: float | None,
    n_neighbors: int | None,
    generator: np.random.Generator,
) -> BoolArray:
    if n_neighbors is None:
        return draw_pairs(n_features, DENSITY if density is None else density, generator)
    if density is not None:
        raise InputError("density_or_neighbors")
    if not 0 <= n_neighbors < n_features or n_features * n_neighbors % 2:
        raise InputError("no_regular_graph", n_features=n_features, n_neighbors=n_neighbors)
    import networkx as nx

    graph = nx.random_regular_graph(n_neighbors, n_features, seed=generator)
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return pairs_as_adjacency(n_features, edges[:, 0], edges[:, 1])


def _draw_rows(
    first_model: GaussianModel,
    second_model: GaussianModel,
    n_samples: int | tuple[int, int],
    *,
    power: float,
    shared_noise: bool,
    generator: np.random.Generator,
) -> GaussianChange:
    n_first, n_second = sample_sizes(n_samples)
    of_first, of_second = spawn(generator, 2)
    if shared_noise:
        of_second = copy.deepcopy(of_first)
    first = first_model.sample(n_first, of_first)
    second = second_model.sample(n_second, of_second)
    return GaussianChange(
        first=_root(first, power),
        second=_root(second, power),
        changed=first_model.precision != second_model.precision,
        first_model=first_model,
        second_model=second_model,
        power=float(power),
    )


def _root(values: FloatArray, power: float) -> FloatArray:
    rooted: FloatArray = np.sign(values) * np.abs(values) ** (1.0 / power)
    return rooted


def _is_definite(Theta: FloatArray, min_eigenvalue: float) -> bool:
    """Whether all eigenvalues are above the bound; a factorisation tells sooner than they do."""
    try:
        linalg.cholesky(Theta - min_eigenvalue * np.eye(len(Theta)))
    except linalg.LinAlgError:
        return False
    return True


def _check_change(n_changed: int, change: float) -> None:
    if n_changed < 0:
        raise InputError("n_changed_range", n_changed=n_changed)
    if change == 0 or not math.isfinite(change):
        raise InputError("change_zero", change=change)
