"""Genes that activate and repress each other, in two groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise import InputError
from edgewise._core.parallel import spawn
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.simulate.change import SimulatedChange, pairs_as_adjacency, sample_sizes

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
    >>> make_gene_regulation_change(rng=0).first_regulations[0].kind
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
    >>> data = make_gene_regulation_change(rng=0)
    >>> pairs = zip(data.first_regulations, data.second_regulations)
    >>> sum(before.kind != after.kind for before, after in pairs)
    6
    """

    first_regulations: tuple[Regulation, ...]
    second_regulations: tuple[Regulation, ...]


def make_gene_regulation_change(
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
    >>> data = make_gene_regulation_change(rng=0)
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
