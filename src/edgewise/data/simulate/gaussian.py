"""Gaussian models with a known sparse precision matrix, and samples from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, RandomState

GraphKind: TypeAlias = Literal["erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"]
GRAPH_KINDS: Final[tuple[str, ...]] = get_args(GraphKind)
HubLinks: TypeAlias = Literal["none", "chain", "ring"]
HUB_LINKS: Final[tuple[str, ...]] = get_args(HubLinks)


def make_graph(
    n_features: int,
    kind: GraphKind = "erdos-renyi",
    *,
    degree: float = 3.0,
    n_hubs: int | None = None,
    hub_links: HubLinks = "none",
    shape: tuple[int, ...] | None = None,
    rng: RandomState = None,
) -> BoolArray:
    """Draw an undirected graph.

    Parameters
    ----------
    n_features : int
        Number of nodes, at least 2.
    kind : {"erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"}
        Every pair joined independently; growth with preferential attachment; equal groups whose
        members are joined to one hub each; a path; a cycle; a lattice.
    degree : float
        Expected average degree of ``"erdos-renyi"``. In ``"barabasi-albert"`` every node that
        arrives brings ``max(1, round(degree / 2))`` edges. The other kinds do not use it.
    n_hubs : int, optional
        Number of groups of ``"hub"``; one per 20 nodes by default.
    hub_links : {"none", "chain", "ring"}
        How the hubs of ``"hub"`` are joined to each other, in the order of their groups.
    shape : tuple of int, optional
        Side lengths of ``"grid"``, in any dimension; the product is ``n_features``. By default
        the rectangle closest to a square.
    rng : int, Generator or None
        Seed; ``"hub"``, ``"chain"``, ``"ring"`` and ``"grid"`` draw nothing.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric booleans with a False diagonal.

    References
    ----------
    A.-L. Barabási and R. Albert (1999), Emergence of scaling in random networks, Science 286,
    509-512, doi:10.1126/science.286.5439.509.

    Examples
    --------
    >>> make_graph(4, "chain").astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    if kind not in GRAPH_KINDS:
        raise InputError("unknown_graph_kind", kind=kind, listed=", ".join(GRAPH_KINDS))
    if n_features < 2:
        raise InputError("too_few_nodes", n_features=n_features)
    generator = as_generator(rng)
    if kind == "erdos-renyi":
        return _erdos_renyi(n_features, degree, generator)
    if kind == "barabasi-albert":
        return _barabasi_albert(n_features, degree, generator)
    if kind == "hub":
        return _hub(n_features, n_hubs, hub_links)
    if kind == "grid":
        return _grid(n_features, shape)
    adjacency = _grid(n_features, (n_features,))
    if kind == "ring":
        adjacency[0, -1] = adjacency[-1, 0] = True
    return adjacency


def _erdos_renyi(n_features: int, degree: float, generator: np.random.Generator) -> BoolArray:
    if not 0 <= degree <= n_features - 1:
        raise InputError("degree_range", n_features=n_features - 1, degree=degree)
    probability = degree / (n_features - 1)
    upper = np.triu(generator.random((n_features, n_features)) < probability, k=1)
    return upper | upper.T


def _barabasi_albert(n_features: int, degree: float, generator: np.random.Generator) -> BoolArray:
    n_new = max(1, round(degree / 2))
    if not degree > 0 or n_new >= n_features:
        raise InputError("mean_degree_range", n_features=2 * n_features - 2, degree=degree)
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    # The first arrival joins all the founders; later ones choose in proportion to degree.
    adjacency[n_new, :n_new] = adjacency[:n_new, n_new] = True
    for node in range(n_new + 1, n_features):
        weight = adjacency[:node, :node].sum(axis=0)
        friends = generator.choice(node, size=n_new, replace=False, p=weight / weight.sum())
        adjacency[node, friends] = adjacency[friends, node] = True
    return adjacency


def _hub(n_features: int, n_hubs: int | None, hub_links: HubLinks) -> BoolArray:
    groups = max(1, round(n_features / 20)) if n_hubs is None else n_hubs
    if not 1 <= groups <= n_features:
        raise InputError("n_hubs_range", n_features=n_features, groups=groups)
    if hub_links not in HUB_LINKS:
        raise InputError("unknown_hub_links", hub_links=hub_links, listed=", ".join(HUB_LINKS))
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    hubs = []
    for members in np.array_split(np.arange(n_features), groups):
        adjacency[members[0], members[1:]] = adjacency[members[1:], members[0]] = True
        hubs.append(members[0])
    if hub_links != "none":
        adjacency[hubs[:-1], hubs[1:]] = adjacency[hubs[1:], hubs[:-1]] = True
    if hub_links == "ring" and groups > 2:
        adjacency[hubs[0], hubs[-1]] = adjacency[hubs[-1], hubs[0]] = True
    return adjacency


def _grid(n_features: int, shape: tuple[int, ...] | None) -> BoolArray:
    if shape is None:
        short = next(k for k in range(math.isqrt(n_features), 0, -1) if n_features % k == 0)
        shape = (short, n_features // short)
    if min(shape) < 1 or math.prod(shape) != n_features:
        raise InputError("grid_node_count", shape=shape, n_features=n_features)
    index = np.arange(n_features).reshape(shape)
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    for axis in range(len(shape)):
        along = np.moveaxis(index, axis, 0)
        adjacency[along[:-1].ravel(), along[1:].ravel()] = True
    return adjacency | adjacency.T


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianModel:
    """A Gaussian distribution with mean zero whose graph is known.

    Attributes
    ----------
    precision : ndarray of shape (n_features, n_features)
        Exactly symmetric, with exact zeros where ``adjacency`` is False.
    covariance : ndarray of shape (n_features, n_features)
        Inverse of ``precision``. Models of `make_gaussian_graph` have unit variances, so that these
        are the correlations too.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The graph.
    smallest_eigenvalue : float
        Of ``precision``.
    condition : float
        Largest over smallest eigenvalue of ``precision``.

    Examples
    --------
    >>> model = make_gaussian_graph(5, "chain", rng=0)
    >>> bool(model.precision[0, 1] != 0), float(model.precision[0, 2])
    (True, 0.0)
    """

    precision: FloatArray
    covariance: FloatArray
    adjacency: BoolArray
    smallest_eigenvalue: float
    condition: float

    @classmethod
    def from_precision(cls, precision: ArrayLike) -> GaussianModel:
        """Take a precision matrix as it stands.

        Parameters
        ----------
        precision : array-like of shape (n_features, n_features)
            Symmetric and positive definite; its zeros are where the graph has no edge.

        Examples
        --------
        >>> GaussianModel.from_precision([[1.0, 0.5], [0.5, 1.0]]).smallest_eigenvalue
        0.5
        """
        Theta = np.array(precision, dtype=np.float64)
        # A precision that was inverted or scaled is symmetric to rounding only.
        is_square = Theta.ndim == 2 and Theta.shape[0] == Theta.shape[1]
        if not is_square or not np.allclose(Theta, Theta.T, 1e-10, 1e-12 * np.abs(Theta).max()):
            raise InputError("precision_asymmetric")
        Theta = (Theta + Theta.T) / 2.0
        spectrum = linalg.eigvalsh(Theta)
        if not spectrum[0] > 0:
            raise InputError("precision_indefinite", spectrum=spectrum[0])
        Sigma = linalg.inv(Theta)
        return cls(
            precision=Theta,
            covariance=(Sigma + Sigma.T) / 2.0,
            adjacency=(Theta != 0) & ~np.eye(len(Theta), dtype=bool),
            smallest_eigenvalue=float(spectrum[0]),
            condition=float(spectrum[-1] / spectrum[0]),
        )

    @property
    def partial_correlation(self) -> FloatArray:
        """Partial correlations, unit diagonal, shape (n_features, n_features)."""
        scale = 1.0 / np.sqrt(np.diagonal(self.precision))
        partial: FloatArray = -self.precision * np.outer(scale, scale)
        np.fill_diagonal(partial, 1.0)
        return partial

    def sample(
        self, n_samples: int, rng: RandomState = None, *, mean: ArrayLike | None = None
    ) -> FloatArray:
        r"""Draw independent rows.

        With the Cholesky factor :math:`\Theta = L L^\top` and standard normal :math:`z`, a row is
        :math:`\mu + L^{-\top} z`: one triangular solve, and no inverse.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        rng : int, Generator or None
            Seed.
        mean : array-like of shape (n_features,), optional
            :math:`\mu`, zero by default.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> make_gaussian_graph(4, "chain", rng=0).sample(100, rng=0).shape
        (100, 4)
        """
        Theta = self.precision
        if n_samples < 1:
            raise InputError("n_samples_range", n_samples=n_samples)
        location = np.zeros(len(Theta)) if mean is None else np.asarray(mean, dtype=np.float64)
        if location.shape != (len(Theta),):
            raise InputError("mean_shape", shape=location.shape, n_Theta=len(Theta))
        factor = linalg.cholesky(Theta, lower=True)
        normal = as_generator(rng).standard_normal((n_samples, len(Theta)))
        rows: FloatArray = linalg.solve_triangular(factor, normal.T, lower=True, trans="T").T
        return rows + location


def make_gaussian_graph(
    n_features: int,
    kind: GraphKind = "erdos-renyi",
    *,
    degree: float = 3.0,
    n_hubs: int | None = None,
    shape: tuple[int, ...] | None = None,
    signal: tuple[float, float] = (0.2, 0.5),
    positive: float = 0.5,
    min_eigenvalue: float = 0.1,
    rng: RandomState = None,
) -> GaussianModel:
    r"""Draw a Gaussian model on a random graph.

    With :math:`R` the matrix of the drawn partial correlations (zero diagonal), the model has

    .. math:: \Theta = D (I - c R) D,

    where :math:`c \le 1` is the largest factor for which the smallest eigenvalue of
    :math:`I - c R` is at least ``min_eigenvalue``, and the diagonal matrix :math:`D` gives
    :math:`\Theta^{-1}` a unit diagonal. Since no entry of :math:`D` is below one, the smallest
    eigenvalue of :math:`\Theta` is at least ``min_eigenvalue`` too, and the partial correlations
    of the model are exactly :math:`c R`.

    Parameters
    ----------
    n_features : int
        Number of variables, at least 2.
    kind : {"erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"}
        The family of graphs, see `make_graph`.
    degree, n_hubs, shape
        As in `make_graph`.
    signal : (float, float)
        Range from which the absolute partial correlations are drawn evenly, before the common
        factor :math:`c`.
    positive : float
        Probability that a partial correlation is positive.
    min_eigenvalue : float
        Lower bound on the smallest eigenvalue of the precision, between 0 and 1.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    GaussianModel

    Examples
    --------
    >>> model = make_gaussian_graph(30, "hub", n_hubs=3, rng=1)
    >>> int(model.adjacency.sum()) // 2
    27
    >>> model.smallest_eigenvalue >= 0.1
    True
    """
    low, high = signal
    if not 0 < low <= high < 1:
        raise InputError("signal_range", signal=signal)
    if not 0 <= positive <= 1:
        raise InputError("positive_share_range", positive=positive)
    if not 0 < min_eigenvalue < 1:
        raise InputError("min_eigenvalue_range", min_eigenvalue=min_eigenvalue)
    generator = as_generator(rng)
    adjacency = make_graph(
        n_features, kind, degree=degree, n_hubs=n_hubs, shape=shape, rng=generator
    )
    rows, columns = np.nonzero(np.triu(adjacency))
    strength = generator.uniform(low, high, size=len(rows))
    sign = np.where(generator.random(len(rows)) < positive, 1.0, -1.0)
    R = np.zeros((n_features, n_features))
    R[rows, columns] = R[columns, rows] = strength * sign
    largest = float(linalg.eigvalsh(R, subset_by_index=[n_features - 1, n_features - 1])[0])
    if largest > 1.0 - min_eigenvalue:
        R *= (1.0 - min_eigenvalue) / largest
    return _unit_variance_model(np.eye(n_features) - R)


def _unit_variance_model(Theta: FloatArray) -> GaussianModel:
    """Rescale the variables so that every variance is one."""
    Sigma = linalg.inv(Theta)
    scale = np.sqrt(np.diagonal(Sigma))
    model = GaussianModel.from_precision(Theta * np.outer(scale, scale))
    np.fill_diagonal(model.covariance, 1.0)
    return model
