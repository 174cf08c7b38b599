"""Graphs of an equivalence class: parents of a node, paths between nodes, and all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, IntArray
from edgewise.graph.equivalence import apply_meek_rules, extend_pattern
from edgewise.solvers.directed.equivalence import reach_unshielded

#: Sets of parents of one node beyond which a class says too little of it to list them.
MOST_SETS = 4096


class EquivalenceClass:
    """What the graphs that one partially directed graph stands for have in common.

    It is what effects are read from. A graph of another kind, such as one with hidden causes, has
    them read from it by the same methods.

    Parameters
    ----------
    pattern : ndarray of bool of shape (n_nodes, n_nodes)
        Arcs one way, edges without a direction both ways, completed by Meek's rules: as learned, or
        with arcs that are known in advance or by experiments.
    """

    def __init__(self, pattern: BoolArray) -> None:
        self.pattern = np.ascontiguousarray(pattern, dtype=np.bool_)
        self._reached: dict[int, BoolArray] = {}

    @cached_property
    def arcs(self) -> BoolArray:
        """Directions that all graphs have."""
        return self.pattern & ~self.pattern.T

    @cached_property
    def lines(self) -> BoolArray:
        """Edges whose direction differs between them."""
        return self.pattern & self.pattern.T

    @cached_property
    def joined(self) -> BoolArray:
        """Edges, both ways."""
        return self.pattern | self.pattern.T

    @cached_property
    def leads(self) -> BoolArray:
        """Whether a path of directions that all graphs have leads from i to j, [i, j]."""
        reach = self.arcs.copy()
        for k in range(len(reach)):
            reach |= reach[:, [k]] & reach[k]
        return reach

    def may_lead(self, source: int) -> BoolArray:
        """Whether a path of arcs leads from a node to each other one in some graph."""
        if source not in self._reached:
            reached = np.zeros(len(self.pattern), dtype=np.bool_)
            reach_unshielded(self.pattern, source, reached)
            self._reached[source] = reached
        return self._reached[source]

    def parent_sets(self, node: int) -> list[tuple[int, ...]]:
        """List the sets of parents that a node has in the graphs, each once.

        Neighbours without a direction become parents where no two arcs meet in a new place and no
        arc leads from one that does not to one that does [1]_ [2]_. No graph is put together.

        References
        ----------
        .. [1] Maathuis, Kalisch and Bühlmann (2009). Estimating high-dimensional intervention
           effects from observational data. *Annals of Statistics* 37(6A).
           https://doi.org/10.1214/09-AOS685
        .. [2] Fang and He (2020). IDA with background knowledge. *UAI*.
           https://proceedings.mlr.press/v124/fang20a.html
        """
        sure = np.flatnonzero(self.arcs[:, node])
        near = np.flatnonzero(self.lines[node])
        may = [k for k in near.tolist() if self.joined[k, sure].all()]
        found = []
        for chosen in self._cliques(may):
            inside = np.array(chosen, dtype=np.int64)
            if not self.arcs[np.ix_(np.setdiff1d(near, inside), inside)].any():
                found.append(tuple(sorted([*sure.tolist(), *chosen])))
            if len(found) > MOST_SETS:
                raise InputError("too_many_parent_sets", node=node, most=MOST_SETS)
        return sorted(found, key=lambda one: (len(one), one))

    def _cliques(self, nodes: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Go through all sets of nodes that are joined with each other, the empty one first."""
        stack: list[tuple[tuple[int, ...], list[int]]] = [((), list(nodes))]
        while stack:
            clique, others = stack.pop()
            yield clique
            for k, node in enumerate(others):
                left = [other for other in others[k + 1 :] if self.joined[node, other]]
                stack.append(((*clique, node), left))

    def with_parents(self, node: int, parents: Sequence[int]) -> EquivalenceClass:
        """Return the class of those graphs in which a node has just these parents."""
        pattern = self.pattern.copy()
        pattern[node, list(parents)] = False
        pattern[np.setdiff1d(np.flatnonzero(self.lines[node]), parents), node] = False
        return EquivalenceClass(apply_meek_rules(pattern))

    def joint_parent_sets(self, nodes: Sequence[int]) -> list[tuple[tuple[int, ...], ...]]:
        """List the sets of parents that several nodes have in one graph at once [3]_.

        References
        ----------
        .. [3] Nandy, Maathuis and Richardson (2017). Estimating the effect of joint interventions
           from observational data in sparse high-dimensional settings. *Annals of Statistics*
           45(2). https://doi.org/10.1214/16-AOS1462
        """
        first, *others = nodes
        found: list[tuple[tuple[int, ...], ...]] = []
        for parents in self.parent_sets(first):
            if not others:
                found.append((parents,))
                continue
            narrower = self.with_parents(first, parents)
            found += [(parents, *rest) for rest in narrower.joint_parent_sets(others)]
        return found

    def open_edges(self, source: int, target: int) -> list[int]:
        """List the neighbours of a node whose missing direction leaves its effect on another open.

        The effect is identified exactly where there is none: no path that may lead from the source
        to the target begins with an edge without a direction [4]_.

        References
        ----------
        .. [4] Perković (2020). Identifying causal effects in maximally oriented partially directed
           acyclic graphs. *UAI*. https://proceedings.mlr.press/v124/perkovic20a.html
        """
        if not self.may_lead(source)[target]:
            return []
        open_ends = []
        for k in np.flatnonzero(self.lines[source]).tolist():
            pattern = self.pattern.copy()
            pattern[k, source] = False
            ahead = EquivalenceClass(apply_meek_rules(pattern))
            if k == target or ahead.may_lead(k)[target]:
                open_ends.append(k)
        return open_ends


def members(pattern: BoolArray) -> Iterator[BoolArray]:
    """Go through all directed acyclic graphs of a class, each once.

    Parameters
    ----------
    pattern : ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j) only; an edge without direction both ways.

    Yields
    ------
    ndarray of bool, shape (n_nodes, n_nodes)

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.graph.members import members
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> len(list(members(chain)))
    3
    """
    stack = [apply_meek_rules(pattern)]
    while stack:
        here = stack.pop()
        ends: list[IntArray] = list(np.argwhere(np.triu(here & here.T)))
        if not ends:
            yield here
            continue
        i, j = ends[0].tolist()
        for tail, head in ((j, i), (i, j)):
            turned = here.copy()
            turned[head, tail] = False
            turned = apply_meek_rules(turned)
            if extend_pattern(turned).is_consistent:
                stack.append(turned)


def first_members(pattern: BoolArray, limit: int) -> list[BoolArray]:
    """List the graphs of a class, and refuse where they are more than the limit."""
    found = list(itertools.islice(members(pattern), limit + 1))
    if len(found) > limit:
        raise InputError("too_many_graphs", "limit", limit=limit)
    return found
