r"""First-order methods: proximal gradients and alternating directions (ADMM).

Both are for likelihoods with a penalty. Gradient
steps take a Cholesky factor and few of them are needed where precisions are sparse; alternating
directions take eigenvectors now and then, and do not depend on how well conditioned the precisions
are. For these the precision is
:math:`\Omega` for the likelihood and :math:`Z` for the penalty :math:`g`, tied by scaled
multipliers :math:`U` and a penalty parameter :math:`\mu`. An iteration is

.. math::
    \Omega = \arg\min f(\Omega) + \tfrac{\mu}{2} \|\Omega - Z + U\|^2, \qquad
    H = a \Omega + (1 - a) Z + U, \qquad Z \gets \operatorname{prox}_{g / \mu}(H), \qquad
    U \gets H - Z,

with over-relaxation :math:`a` (Boyd et al. 2011, section 3.4). The parameter :math:`\mu` balances
the relative residuals at first and is then left alone: convergence is proved for a fixed one.
:math:`\mu U` is a subgradient of :math:`g`, hence a feasible dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from edgewise._core.arrays import like
from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray

#: A precision of standardised variables beyond this says that the likelihood has no maximum.
UNBOUNDED = 1e12
#: Rounding of an operation, as a share of its result.
EPSILON = float(np.finfo(np.float64).eps)
#: How far off the balance may be, and the largest change at a time.
TOLERATED, LARGEST_CHANGE = 1.6, 5.0
#: Squared norms of the primal residual, of the change of Z, of Z and of U.
Residuals = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often to look at the residuals, and how to balance them.

    Attributes
    ----------
    interval : int
        Iterations between two looks at the gap and at the residuals.
    tuning : int
        Iterations during which the penalty parameter may change.
    balance : float
        Relative primal over relative dual residual at which the gap falls fastest, by trial.
    """

    interval: int
    tuning: int
    balance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitState:
    """Copies ``Z`` of the precision, multipliers ``Y`` in units of the covariance, parameter."""

    Z: FloatArray
    Y: FloatArray
    mu: float


@dataclass(kw_only=True, eq=False)
class Bracket:
    """Best precision, its objective, the largest dual bound, and the gap at each look."""

    Theta: FloatArray
    objective: float
    bound: float = -np.inf
    gaps: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Duality gap."""
        return self.objective - self.bound

    def narrow(self, Theta: FloatArray, objective: float, bound: float) -> float:
        """Take in another primal and dual point; return the gap."""
        if objective < self.objective:
            self.Theta, self.objective = Theta, objective
        self.bound = max(self.bound, bound)
        self.gaps.append(self.gap)
        return self.gap


def alternate(
    step: Callable[[float], tuple[FloatArray, Residuals]],
    is_done: Callable[[FloatArray, float, int], bool],
    U: FloatArray | None,
    mu: float,
    max_iter: int,
    pace: Pace,
) -> tuple[int, float]:
    """Iterate until ``is_done``; return the number of iterations and the last parameter.

    Parameters
    ----------
    step : callable of mu
        One iteration, in place on Z and ``U``; returns Omega and the residuals.
    is_done : callable of Omega, mu and the number of iterations
        Look at the gap.
    U : ndarray or None
        Scaled multipliers, rescaled in place with the parameter; None where ``step`` does that.
    mu : float
        First penalty parameter.
    max_iter : int
        Most iterations.
    pace : Pace
        When to look, and how to balance.
    """
    count = 0
    for count in range(1, max_iter + 1):
        Omega, residuals = step(mu)
        if count % pace.interval and count < max_iter:
            continue
        if is_done(Omega, mu, count):
            break
        if count < pace.tuning:
            change = _change(*residuals, pace.balance)
            mu *= change
            if U is not None:
                U /= change
    return count, mu


def refuse_unbounded(largest: float) -> None:
    """Raise where the size of the precision shows that the likelihood has no maximum."""
    if largest > UNBOUNDED:
        raise SolverError("free_edges_singular")


def _change(primal: float, dual: float, size_Z: float, size_U: float, balance: float) -> float:
    """Return the factor for the penalty parameter."""
    if primal * size_U == 0.0 or dual * size_Z == 0.0:
        return 1.0
    ratio = float(np.sqrt(primal / size_Z * (size_U / dual))) / balance
    if 1.0 / TOLERATED < ratio < TOLERATED:
        return 1.0
    return float(np.clip(ratio**0.7, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE))


#: A gradient step must lower the objective by this share of its squared length over its size, and
#: is not halved more often than this.
LEAST_DECREASE, MOST_HALVINGS = 0.05, 7


@dataclass(frozen=True, kw_only=True)
class Patience:
    """When gradient steps are too slow.

    Attributes
    ----------
    window, share : int, float
        They end where so many steps leave more than that share of the gap.
    most : float
        And where the gap is this large after two steps, per variable and group.
    """

    window: int
    share: float
    most: float


#: On a core. A gap that stays infinite has far fewer rows behind it than the strength asks for.
HOST = Patience(window=5, share=0.2, most=np.inf)
#: Eigenvectors cost more beside Cholesky factors elsewhere; sparse graphs begin at a gap of 0.02,
#: dense ones below, and those for which alternating directions are faster above 0.1.
DEVICE = Patience(window=10, share=0.4, most=0.05)
#: Of both sizes of Barzilai and Borwein, the short one is taken where it is below this share of the
#: long one (Zhou, Gao and Dai 2006).
UNEVEN = 0.3


def step_size(moved: float, product: float, turned: float) -> float:
    """Size the next step by the last, as Barzilai and Borwein do.

    ``moved`` and ``turned`` are the squared lengths of that step and of the change of the gradient
    along it, ``product`` is their product.
    """
    long, short = moved / product, product / turned
    return short if short < UNEVEN * long else long


def weigh(weights: FloatArray, A: Any) -> Any:
    """Multiply the matrix of each group by its weight."""
    return A if (weights == 1.0).all() else like(weights, A)[:, None, None] * A


class Trial(NamedTuple):
    """A gradient step that was tried.

    Attributes
    ----------
    Theta : array of shape (K, p, p)
        Precisions, of which only the upper triangles need be there.
    invert : callable
        Returns their inverses, which a step that is refused does without.
    objective : float
        Objective there, inf where a precision is not positive definite.
    moved : float
        Squared length of the step.
    fitted : array of shape (K, p, p)
        Feasible dual point: weighted covariances plus the subgradients that were taken off.
    rounding : float
        Bound of what rounding does to the gap: a subgradient is the difference of two numbers, and
        what it is off by counts as much as the entry that it belongs to.
    """

    Theta: Any
    invert: Callable[[], Any]
    objective: float
    moved: float
    fitted: Any
    rounding: float


class Steps(Protocol):
    """How a kind of array takes gradient steps."""

    def take(self, Theta: Any, Sigma: Any, t: float) -> Trial:
        """Try a step of size ``t`` from precisions and their inverses."""

    def turn(self, Theta: Any, Sigma: Any, Z: Any, after: Any) -> tuple[float, float]:
        """Return the product of a step and the change of the gradient, and its squared length.

        ``Z`` and ``after`` are precisions and inverses at the end of the step.
        """


def descend(
    steps: Steps,
    dual: Callable[[Any], float],
    start: tuple[Any, Any],
    first: float,
    target: float,
    max_iter: int,
    patience: Patience,
) -> tuple[Bracket, Any, int]:
    r"""Take proximal gradient steps as long as they close the gap fast.

    .. math:: \Theta \gets \operatorname{prox}_{t h}\left(
        \Theta_k - t w_k (S_k - \Theta_k^{-1}), \; k = 1, \dots, K \right)

    with the size :math:`t` of Barzilai and Borwein. A step takes a Cholesky factor, which is
    several times faster than the eigendecomposition of alternating directions, and few steps are
    needed where precisions are sparse. The map subtracts a subgradient, so that each step has a
    feasible dual point.

    Parameters
    ----------
    steps : Steps
        How to take one.
    dual : callable
        Dual objective at a feasible point.
    start : tuple (Theta, Sigma)
        Precisions and their inverses, which ``steps`` may overwrite.
    first : float
        Size of the first step.
    target : float
        Gap to reach.
    max_iter : int
        Most steps.
    patience : Patience
        When to leave it at that.

    Returns
    -------
    best : Bracket
        Its objective is inf where no step was short enough.
    Sigma : array of shape (K, p, p)
        Inverses of its precisions.
    n_iter : int
    """
    Theta, Sigma = start
    best = Bracket(Theta=Theta, objective=np.inf)
    t, count, n_halvings = first, 0, 0
    n_variables = Theta.shape[0] * Theta.shape[-1]
    while count < max_iter and n_halvings <= MOST_HALVINGS:
        count += 1
        trial = steps.take(Theta, Sigma, t)
        if not trial.objective < best.objective - LEAST_DECREASE / t * trial.moved:
            t, n_halvings = 0.5 * t, n_halvings + 1
            continue
        n_halvings, after = 0, trial.invert()
        product, squares = steps.turn(Theta, Sigma, trial.Theta, after)
        Theta, Sigma = trial.Theta, after
        gap = best.narrow(Theta, trial.objective, dual(trial.fitted) - trial.rounding)
        gaps, window = best.gaps, patience.window
        is_slow = len(gaps) > window and not gap < patience.share * gaps[-window - 1]
        is_slow |= len(gaps) == 2 and gap >= patience.most * n_variables
        if gap <= target or is_slow or product <= 0.0:
            break
        t = step_size(trial.moved, product, squares)
    return best, Sigma, count
