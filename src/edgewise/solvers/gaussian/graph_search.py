"""Search for the Gaussian graph with the best likelihood at a price per edge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.gaussian.refit import (
    allocate_regressions,
    fit_by_neighbors,
    newton_on_graph,
    update_fit,
)
from edgewise.solvers.linalg.blocks import linked_sets
from edgewise.solvers.linalg.dense import inverse_and_log_determinant, log_determinant
from edgewise.solvers.linalg.sparse_inverse import factorize

#: Duality gap per variable of the fits that are compared.
TOL = 1e-7
#: Sweeps of such a fit.
MAX_SWEEPS = 200
#: Steps that are computed exactly where none is known to be an improvement.
N_TRIALS = 10
#: Components with more variables are left where no step is known to be an improvement.
MOST_TRIED = 1000
#: So few variables are handled by dense operations.
FEW = 50
#: One step is taken at a time per so many pairs of variables of a component.
PAIRS_PER_STEP = 20_000


@dataclass(frozen=True, eq=False)
class Part:
    r"""Maximum likelihood of the variables of one connected component.

    Attributes
    ----------
    index : ndarray of shape (c,)
        The variables, in order.
    Theta, Sigma : ndarray of shape (c, c)
        Precision and covariance.
    objective : float
        :math:`\operatorname{tr}(S \Theta) - \log\det \Theta`.
    gap : float
        Bound of how far that is above the minimum.
    """

    index: IntArray
    Theta: FloatArray
    Sigma: FloatArray
    objective: float
    gap: float


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphFit:
    r"""Maximum likelihood under a graph, of a covariance with unit variances.

    Attributes
    ----------
    adjacency : ndarray of bool, shape (p, p)
        The graph.
    parts : tuple of Part
        Its connected components.
    """

    adjacency: BoolArray
    parts: tuple[Part, ...]

    @property
    def objective(self) -> float:
        r""":math:`\operatorname{tr}(S \Theta) - \log\det \Theta`."""
        return math.fsum(part.objective for part in self.parts)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.adjacency)) // 2

    def cost(self, price: float) -> float:
        """Objective with a price per edge."""
        return self.objective + price * self.n_edges


def fit_graph(
    S: FloatArray, adjacency: BoolArray, known: GraphFit | None = None
) -> GraphFit | None:
    """Fit a unit-variance ``S`` to a graph, without a proof of optimality.

    Each connected component is fitted by itself; those that a ``known`` fit has too are taken
    from there, and the others start from it.

    None says that the regressions on the neighbours became singular: the likelihood has no
    maximum, or is close to having none. No graph with more edges has one then.
    """
    if known is None:
        parts = _fit_components(S, np.arange(len(S)), adjacency)
        return None if parts is None else GraphFit(adjacency=adjacency, parts=tuple(parts))
    is_changed = (known.adjacency != adjacency).any(axis=0)
    same = [part for part in known.parts if not is_changed[part.index].any()]
    others = [part for part in known.parts if is_changed[part.index].any()]
    if not others:
        return known
    together = _side_by_side(others)
    block = np.ix_(together.index, together.index)
    is_due = is_changed[together.index]
    is_grown = len(others) == 1 and not (known.adjacency & ~adjacency).any()
    parts = _fit_components(
        S, together.index, adjacency[block], together, is_due, is_connected=is_grown
    )
    return None if parts is None else GraphFit(adjacency=adjacency, parts=(*same, *parts))


def _side_by_side(parts: Sequence[Part]) -> Part:
    """Put components together, their variables in order."""
    if len(parts) == 1:
        return parts[0]
    index = np.sort(np.concatenate([part.index for part in parts]))
    Theta, Sigma = np.zeros((2, index.size, index.size))
    for part in parts:
        place = np.searchsorted(index, part.index)
        block = place[:, None], place
        Theta[block], Sigma[block] = part.Theta, part.Sigma
    return Part(
        index=index,
        Theta=Theta,
        Sigma=Sigma,
        objective=math.fsum(part.objective for part in parts),
        gap=math.fsum(part.gap for part in parts),
    )


def _components(adjacency: BoolArray) -> list[IntArray]:
    """List the connected components; most often there is one, which is quick to see.

    A search asks for them at every step: 8 microseconds for 5 columns, 60 for 50, where
    `linked_sets` takes 120 and 160.
    """
    reached = np.zeros(len(adjacency), dtype=bool)
    reached[:1] = True
    n_before = 0
    while n_before < (n_reached := int(reached.sum())) < len(reached):
        n_before = n_reached
        reached |= adjacency[reached].any(axis=0)
    if n_reached == len(reached):
        return [np.arange(len(reached))]
    if len(adjacency) > FEW:
        return linked_sets(adjacency)
    # Whoever can be reached in 2, 4, 8, ... steps.
    reach = adjacency | np.eye(len(adjacency), dtype=bool)
    for _ in range((FEW - 1).bit_length()):
        reach = (reach @ reach.astype(np.float32)) > 0.0
    first = reach.argmax(axis=0)
    return [np.flatnonzero(first == k) for k in np.flatnonzero(first == np.arange(len(first)))]


def _fit_components(
    S: FloatArray,
    index: IntArray,
    adjacency: BoolArray,
    known: Part | None = None,
    is_due: BoolArray | None = None,
    *,
    is_connected: bool = False,
) -> list[Part] | None:
    """Fit the components of the graph of some variables.

    ``known`` is the fit of another graph of these variables, ``is_due`` says whose edges differ,
    and ``is_connected`` that there is one component.
    """
    parts = []
    for inner in [np.arange(len(index))] if is_connected else _components(adjacency):
        variables = index[inner]
        if inner.size == 1:
            parts.append(Part(variables, np.ones((1, 1)), np.ones((1, 1)), 1.0, 0.0))
            continue
        is_whole = inner.size == len(adjacency)
        within = ... if is_whole else np.ix_(inner, inner)
        block = S if inner.size == len(S) else S[variables[:, None], variables]
        graph = adjacency[within]
        state, target = allocate_regressions(inner.size), TOL * inner.size
        gap = -1.0
        if known is not None and is_due is not None:
            before = known.Theta[within].copy(), known.Sigma[within].copy()
            gap = update_fit(block, graph, *before, is_due[inner], state, target, MAX_SWEEPS)
        if not 0.0 <= gap < np.inf:
            # That of another graph need not be a good start.
            gap = fit_by_neighbors(block, graph, state, target, MAX_SWEEPS)
        Theta, Sigma = state.Theta, state.W
        value = _log_determinant(Theta) if gap >= 0.0 else -np.inf
        if gap == np.inf and inner.size <= FEW:
            # Sweeps are slow where variables nearly determine each other.
            start = Theta if value > -np.inf else None
            found = newton_on_graph(block, graph, target, start=start)
            Theta, gap = found.Theta, found.gap
            Sigma, value = inverse_and_log_determinant(Theta)
        if value == -np.inf or gap == np.inf:
            return None
        objective = float(np.vdot(block, Theta)) - value
        parts.append(Part(variables, Theta, Sigma, objective, gap))
    return parts


def _log_determinant(Theta: FloatArray) -> float:
    """Take the logarithm of the determinant, -inf where ``Theta`` is not positive definite."""
    if len(Theta) <= FEW:
        return log_determinant(Theta)
    factor = factorize(Theta)
    return -np.inf if factor is None else factor.logdet


def search_graph(
    S: FloatArray,
    start: BoolArray,
    price: float,
    *,
    allowed: BoolArray | None = None,
    required: BoolArray | None = None,
    max_degree: float = np.inf,
    least: int = 0,
    watch: Callable[[int, float], None] | None = None,
) -> GraphFit:
    r"""Add and remove edges while that lowers the likelihood criterion with a price per edge.

    Looks for a graph with E edges that minimises

    .. math::

        \min_{\Theta} \; \operatorname{tr}(S \Theta) - \log\det\Theta + c E,

    the minimum being over precision matrices with zeros where there is no edge. With n rows and
    a price :math:`c = (\log n + 4 \gamma \log p) / n` this is the extended BIC.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Correlation matrix.
    start : ndarray of bool, shape (p, p)
        Graph to start from, under which the likelihood has a maximum.
    price : float
        The c above.
    allowed, required : ndarray of bool, shape (p, p), optional
        Pairs that may be joined, by default all, and pairs that stay joined, by default none.
    max_degree : float
        No edge is added to a variable with so many.
    least : int
        Number of edges to keep at least.
    watch : callable, optional
        Called with the number of rounds and the criterion after each.

    Returns
    -------
    GraphFit

    Notes
    -----
    Changing one entry of the precision and nothing else bounds the gain of an edge from below,
    and the loss of one from above, in closed form. The step with the best bound is taken first; a
    bound above 0 makes it an improvement for sure. A component without such a step has its best
    ten computed exactly, unless it has more than 1,000 variables. The search ends where none of
    them improves either.

    Components do not interact. An edge between two of them gains
    :math:`-\log(1 - S_{ij}^2) - c` whatever else they hold, so pairs whose correlation does not
    pay for an edge are left out until they lie in one component, and steps in different
    components are taken at the same time. Components above 200 variables take several steps
    at a time, which share no variable.
    """
    found = fit_graph(S, start)
    if found is None:
        raise InputError("start_graph_unbounded")
    may_flip = np.triu(np.ones_like(start) if allowed is None else allowed, 1)
    if required is not None:
        may_flip &= ~(required & start)
    search = _GraphSearch(S, found, price, may_flip, max_degree, least)
    n_rounds = 0
    while search.take_round():
        n_rounds += 1
        if watch is not None:
            objective = math.fsum(part.objective for part in search.parts.values())
            watch(n_rounds, objective + price * search.n_edges)
    return GraphFit(adjacency=search.adjacency, parts=tuple(search.parts.values()))


class _GraphSearch:
    """A graph whose edges are added and removed, with the fit of each component.

    A component has a label, which no other has had before.
    """

    def __init__(
        self,
        S: FloatArray,
        fit: GraphFit,
        price: float,
        may_flip: BoolArray,
        max_degree: float,
        least: int,
    ) -> None:
        self.S = S
        self.price = price
        self.may_flip = may_flip
        self.max_degree = max_degree
        self.least = least
        self.adjacency = fit.adjacency.copy()
        self.degree: IntArray = np.count_nonzero(self.adjacency, axis=0)
        self.n_edges = fit.n_edges
        self.parts: dict[int, Part] = {}
        self.steps: dict[int, tuple[IntArray, FloatArray]] = {}
        self.tried: set[int] = set()
        self.label = np.empty(len(S), np.int64)
        self.n_labels = 0
        self._store(fit.parts)
        # What an edge between components gains is known, and above 0 for few pairs.
        strong = np.argwhere(may_flip & (np.square(S) > 1.0 - math.exp(-price)))
        gain = -np.log1p(-np.square(S[tuple(strong.T)])) - price
        order = np.argsort(-gain, kind="stable")
        self.links, self.link_gains = strong[order], gain[order]

    def _store(self, parts: Sequence[Part]) -> None:
        """Give components labels."""
        for part in parts:
            self.parts[self.n_labels] = part
            self.label[part.index] = self.n_labels
            self.n_labels += 1

    def _list_steps(self, label: int) -> tuple[IntArray, FloatArray]:
        """List the best steps inside a component with bounds of their gains, largest first."""
        if label not in self.steps:
            part = self.parts[label]
            block = np.ix_(part.index, part.index)
            adjacency = self.adjacency[block]
            gains = _bound_gains(self.S[block], adjacency, part, self.price)
            is_full = self.degree[part.index] >= self.max_degree
            gains[~self.may_flip[block] | (~adjacency & (is_full | is_full[:, None]))] = -np.inf
            best, bounds = _largest(gains, max(N_TRIALS, len(gains)))
            self.steps[label] = part.index[best], bounds
        return self.steps[label]

    def take_round(self) -> bool:
        """Take all steps that improve and do not interact; return whether there was one."""
        large = [label for label, part in self.parts.items() if part.index.size > 1]
        listed = {label: self._list_steps(label) for label in large}
        is_improved = False
        for batch in self._take_apart(self._list_sure(listed)):
            is_improved |= self._flip(batch) or (len(batch) > 1 and self._flip(batch[:1]))
        for label, (pairs, bounds) in listed.items():
            if label not in self.parts or label in self.tried:
                continue
            is_waiting = is_improved and len(bounds) > 0 and bounds[0] > 0.0
            if not is_waiting and self.parts[label].index.size <= MOST_TRIED:
                self.tried.add(label)
                for k in range(min(N_TRIALS, len(pairs))):
                    is_improved |= self._flip(pairs[k : k + 1])
        return is_improved

    def _list_sure(self, listed: Mapping[int, tuple[IntArray, FloatArray]]) -> IntArray:
        """List the steps that improve for sure, largest first."""
        i, j = self.links.T
        is_full = self.degree >= self.max_degree
        is_open = (self.label[i] != self.label[j]) & ~is_full[i] & ~is_full[j]
        found = [(self.links[is_open], self.link_gains[is_open]), *listed.values()]
        pairs = np.concatenate([pairs[bounds > 0.0] for pairs, bounds in found])
        bound = np.concatenate([bounds[bounds > 0.0] for _, bounds in found])
        return pairs[np.argsort(-bound, kind="stable")]

    def _take_apart(self, pairs: IntArray) -> list[IntArray]:
        """Take pairs from the front that do not interact; return those of each component.

        A step that has to wait for another keeps back later ones of small components.
        """
        taken: dict[int, int] = {}
        closed: set[int] = set()
        used: set[int] = set()
        steps = []
        for (i, j), ends in zip(pairs.tolist(), self.label[pairs].tolist(), strict=True):
            labels = set(ends)
            most = {
                label: max(1, self.parts[label].index.size ** 2 // PAIRS_PER_STEP)
                for label in labels
            }
            is_late = any(taken.get(label, 0) >= most[label] for label in labels)
            if is_late or labels & closed or used & {i, j}:
                closed |= {label for label in labels if most[label] == 1}
                continue
            steps.append((i, j))
            used |= {i, j}
            taken |= {label: taken.get(label, 0) + 1 for label in labels}
        if not steps:
            return []
        batch = np.array(steps)
        if len(taken) == 1:
            return [batch]
        links = sparse.coo_matrix(
            (np.ones(len(batch)), self.label[batch].T), shape=(self.n_labels, self.n_labels)
        )
        _, group = sparse.csgraph.connected_components(links, directed=False)
        member = group[self.label[batch[:, 0]]]
        order = np.argsort(member, kind="stable")
        return np.split(batch[order], np.flatnonzero(np.diff(member[order])) + 1)

    def _flip(self, pairs: IntArray) -> bool:
        """Join or part some pairs if that lowers the criterion, and return whether it does."""
        labels = sorted(set(self.label[pairs].ravel().tolist()))
        is_joined = self.adjacency[tuple(pairs.T)]
        n_added = len(pairs) - 2 * int(np.count_nonzero(is_joined))
        if is_joined.any() and self.n_edges + n_added < self.least:
            return False
        before = _side_by_side([self.parts[label] for label in labels])
        block = np.ix_(before.index, before.index)
        graph = self.adjacency[block]
        rows, columns = np.searchsorted(before.index, pairs).T
        graph[rows, columns] = graph[columns, rows] = ~is_joined
        is_due = np.zeros(len(graph), dtype=bool)
        is_due[rows] = is_due[columns] = True
        # New edges connect components, and a neighbour in common keeps two variables connected.
        is_whole = bool((~is_joined | (graph[rows] & graph[columns]).any(axis=1)).all())
        after = _fit_components(self.S, before.index, graph, before, is_due, is_connected=is_whole)
        if after is None:
            return False
        gain = before.objective - math.fsum(part.objective for part in after)
        # What the fit before lacks to its maximum is no gain: steps could go round in circles.
        if gain - n_added * self.price <= max(1e-12, before.gap):
            return False
        self.adjacency[block] = graph
        self.degree[before.index] = np.count_nonzero(graph, axis=0)
        self.n_edges += n_added
        for label in labels:
            del self.parts[label]
            self.steps.pop(label, None)
        self._store(after)
        return True


def _bound_gains(S: FloatArray, adjacency: BoolArray, part: Part, price: float) -> FloatArray:
    r"""Bound from below how much adding or removing each edge lowers the criterion.

    With :math:`t` added to entries (i, j) and (j, i) of the precision, the log-determinant grows
    by :math:`\log((1 + t \Sigma_{ij})^2 - t^2 \Sigma_{ii} \Sigma_{jj})`, the trace by
    :math:`2 t S_{ij}`. The best t solves a quadratic equation; t = -Theta removes the edge.
    """
    W = part.Sigma
    variance = W.diagonal()
    det = np.outer(variance, variance) - W * W
    linear = det + 2.0 * W * S
    root = np.sqrt(np.maximum(linear * linear - 4.0 * det * S * (W - S), 0.0))
    step = np.where(adjacency, -part.Theta, 2.0 * (W - S) / (linear + root))
    growth = 1.0 + 2.0 * step * W - step * step * det
    gain = np.log(np.maximum(growth, 1e-300)) - 2.0 * step * S
    gain += np.where(adjacency, price, -price)
    return np.asarray(gain)


def _largest(values: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Positions and values of the largest finite entries, largest first."""
    flat = values.ravel()
    top = np.argpartition(-flat, count)[:count] if count < flat.size else np.arange(flat.size)
    top = top[np.argsort(-flat[top], kind="stable")]
    top = top[np.isfinite(flat[top])]
    return np.column_stack(np.unravel_index(top, values.shape)), flat[top]
