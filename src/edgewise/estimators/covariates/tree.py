"""How a network varies with covariates: a tree whose leaves are graphs, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.memory import Arrays
from edgewise._core.plain_values import archived
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.labels import label_codes
from edgewise.data.table import Table
from edgewise.estimators.covariates.base import (
    CovariateEstimator,
    describe_covariates,
    split_rows,
)
from edgewise.estimators.covariates.tree_fit import (
    ESTIMATES,
    TreeProblem,
    describe_nodes,
    make_coordinates,
    make_units,
    risk_by_leaves,
    units_by_leaf,
)
from edgewise.estimators.covariates.tree_nodes import (
    LeafComparison,
    TreeNode,
    compare_leaves,
    leaf_of,
    tree_as_text,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.solvers.covariates.scan import ALL, GRAPH, MOMENTS

if TYPE_CHECKING:
    import pandas as pd

#: What a split may gain by.
COMPONENTS: Final = ("mean", "variances", "graph")
#: How a note begins that says which covariates were not tried.
UNTRIED: Final = "never split"
#: Said of a tree without splits where a test has found some.
REFUTED: Final = "differences beyond chance, but parts predict the rows of others no better"


@dataclass(frozen=True, kw_only=True)
class LeafLasso:
    """Settings that criteria share: the graphical lassos in the cells of a tree."""

    n_alphas: int = 40
    alpha_ratio: float = 0.01
    penalize_diagonal: bool = True
    standardize: bool = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        counts = Number(at_least=2, is_whole=True)
        check_parameters(self, {"n_alphas": counts, "alpha_ratio": Number(above=0, below=1)})


@archived
@dataclass(frozen=True)
class HeldOut(LeafLasso):
    r"""Grow a `GraphTree` by the risk of validation rows.

    Parameters
    ----------
    min_gain : float or "auto"
        What a split must add to the log-likelihood of the validation rows, in nats; 0, as
        published, splits on chance now and then, and often with few responses.
        ``"auto"`` is 0 where splits are tested, see ``significance``; else the code it takes to
        write a split down, :math:`3 + \log_2 d` bits for d covariates, less 0.3 nats for every
        response beyond the fourth: a needless split of many responses loses more than that anyway.
    exchange : bool
        Whether training and validation rows change places for a second opinion on every split
        that was found: the risk by which trees are compared in the end is then the mean of both.
        That halves the noise; the published rule is without. For validation rows that are about
        as many as training rows, and like them.
    significance : float or None
        Level of a permutation test that every split of ``search="greedy"`` must pass: rows change
        places, and the largest difference over all cuts of all covariates is looked for again. It
        is the probability of any split where nothing varies with the covariates. None tests
        nothing.

    n_alphas : int
        Alphas on the path of the graphical lasso of each cell.
    alpha_ratio : float
        The smallest of them as a share of the largest.
    penalize_diagonal : bool
        Whether they shrink the diagonal, too, as published. It costs small cells more than large
        ones, which guards against needless splits.
    standardize : bool
        Scale the responses to unit variance before anything else, so that units do not matter.

    Examples
    --------
    The published rule, section 3.3 of Liu et al. (2010), in full:

    >>> from edgewise import GraphTree, HeldOut
    >>> published = GraphTree(
    ...     HeldOut(min_gain=0, exchange=False),
    ...     search="halving",
    ...     lookahead=0,
    ...     split_for="all",
    ...     mean="leaf",
    ... )
    """

    min_gain: float | str = "auto"
    exchange: bool = True
    significance: float | None = 0.05

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameters(self, {"significance": Number(above=0, below=1, or_none=True)})
        if self.min_gain != "auto":
            check_parameters(self, {"min_gain": Number(at_least=0)})


@archived
@dataclass(frozen=True)
class Penalized(LeafLasso):
    r"""Grow a `GraphTree` by the risk of the training rows with a complexity penalty.

    The graphical lasso of a cell A has an alpha of :math:`\sqrt{\log p / n_A}`.

    Parameters
    ----------
    gamma : float or "auto"
        m leaves cost :math:`\gamma m \sqrt{([[T]] \log 2 + 2 \log(n p)) / n}` with
        :math:`[[T]] = 3 m - 1 + (m - 1) \log_2 d` for n rows and d covariates. No gamma suits all
        tables: what splits by chance at 0.03 with ten responses is cautious with two. ``"auto"``
        is the smallest at which the tree would have no split in any of so many tables with
        permuted covariates that, where nothing varies, a tree has one with the probability
        ``significance``.
    significance : float
        Of ``gamma="auto"``: 0.05 takes 19 permutations.

    n_alphas : int
        Alphas on the path of the graphical lasso of each cell.
    alpha_ratio : float
        The smallest of them as a share of the largest.
    penalize_diagonal : bool
        Whether they shrink the diagonal, too, as published. It costs small cells more than large
        ones, which guards against needless splits.
    standardize : bool
        Scale the responses to unit variance before anything else, so that units do not matter.

    Examples
    --------
    >>> from edgewise import GraphTree, Penalized
    >>> cautious = GraphTree(Penalized(gamma=0.1))
    """

    gamma: float | str = "auto"
    significance: float = 0.05

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_parameters(self, {"significance": Number(at_least=0.001, below=1)})
        if self.gamma != "auto":
            check_parameters(self, {"gamma": Number(at_least=0)})


CRITERIA: Final = {"heldout": HeldOut(), "penalized": Penalized()}


class GraphTree(CovariateEstimator):
    r"""How the network of some variables varies with others: a tree with a graph in each leaf.

    The responses Y are taken to be Gaussian given the covariates X. Every split cuts the range
    of one covariate in two. With ``split_for="all"``, mean and sparse precision matrix
    :math:`\Omega` are constant on each leaf of a tree T, which has the risk

    .. math::
        R(T) = \frac{1}{n'} \sum_{\text{leaves } A} \; \sum_{i:\, x'_i \in A}
        (y'_i - \mu_A)^\top \Omega_A (y'_i - \mu_A) - \log\det \Omega_A ,

    on the :math:`n'` validation rows, with :math:`\mu_A` and :math:`\Omega_A` from the training
    rows in A; :math:`\Omega_A` is the graphical lasso of least risk along its path [1]_.

    By default, a tree splits for the graph alone. A first tree is grown for means and variances;
    its leaves g are groups with means :math:`\mu_g` and standard deviations
    :math:`D_g = \operatorname{diag}(s_g)`, and a second tree is grown on
    :math:`z_i = D_{g(i)}^{-1} (y_i - \mu_{g(i)})`, whose leaves have the risk

    .. math::
        R(T) = \frac{1}{n'} \sum_{\text{leaves } A} \; \sum_{i:\, x'_i \in A}
        z_i'^\top \Omega_A z'_i - \log\det \Omega_A + 2 \log\det D_{g(i)} ,

    minus twice the log-likelihood of :math:`N(\mu_g, D_g \Omega_A^{-1} D_g)`. A split of it gains
    what partial correlations of its own take off the risk of each half, beside means and variances
    that each half has of its own: what is left of them in z does not count.

    Parameters
    ----------
    criterion : {"heldout", "penalized"}, HeldOut or Penalized
        Grow by the risk of validation rows, see `HeldOut`; or by that of the training rows with a
        penalty on leaves, see `Penalized`. The strings stand for either with its defaults.
    search : {"greedy", "halving", "optimal"}
        Cut each node where its rows differ most, by a score test of all cuts between the finest
        intervals of ``max_depth``, and prune by the risk; halve the range that gains most, as
        published; or find the best of all trees of such halves, which refuses where there are too
        many cells, see ``max_total_depth``.
    grow_risk : {"l1", "refit", "best"}
        Whose risk counts while growing: the graphical lasso; maximum likelihood on each graph of
        its path; or the better of both at each alpha. The smaller the risk, the more it adapts to
        the validation rows: ``"l1"`` is the safest against needless splits. Leaf graphs are chosen
        by the refits in any case.
    mean : {"leaf", "global"}
        A mean of Y for each leaf, as published (each group with ``split_for="graph"``); or one
        for all, where means are known not to differ: else leaves take the shift for a network.
    split_for : {"graph", "all"}
        What a split must gain by: the graph alone; or mean, variances and graph together.
    lookahead : int
        How many levels below the last split that paid off, or was significant, the search goes on,
        before it prunes what did not. Splits that pay off only together are missed with 0.
    scale : {"range", "quantile"}, tuple, array-like of shape (d, 2) or dict
        Halve the range of a numeric covariate, that of the training rows; or its rows, which does
        not depend on its units. Or the ends of the ranges: one pair, a pair per covariate, or pairs
        by name.
    max_depth : int
        How often each covariate can be halved, at most 20: it is cut between :math:`2^k` intervals.
    max_total_depth : int, optional
        Largest number of splits above a leaf.
    min_samples_leaf : int
        Fewest training rows in a leaf, and fewest validation rows.
    random_state : int, Generator, RandomState or None
        Chooses the validation rows where none are given.
    n_jobs : int, optional
        Nodes whose halves are tried at a time. The tree does not depend on it.

    Attributes
    ----------
    leaves_ : list of TreeNode
        Leaves in the order of their numbers, each with ``box``, ``n``, ``mean``, ``precision`` and
        ``graph``.
    nodes_ : list of TreeNode
        All nodes, the whole first.
    groups_ : list of TreeNode
        Nodes of the tree of means and variances; ``nodes_`` with ``split_for="all"``.
    gain_ : dict
        By how much the risk falls from one Gaussian for all rows: by the ``"mean"`` of each group,
        by its ``"variances"``, and by the ``"graph"`` of each leaf.
    graph_ : Graph
        The graph of all rows together, for comparison; with ``split_for="graph"`` about the means
        of their groups.
    risk_ : float
        Risk by which the tree was chosen, in the units of Y; that of the training rows for
        ``"penalized"``.
    risk_path_ : ndarray
        Risk with 1, 2, ... leaves, most valuable splits first.
    covariates_ : list of Covariate
        Kind and range of each covariate.
    response_names_ : list of str
        Names of the responses.
    n_iter_ : int
        Cells whose risk was computed.
    converged_ : bool
        True: the search ends by itself.
    treatment_ : list of str
        What was done to the data.
    n_features_in_ : int
        Number of covariates.
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    Notes
    -----
    A boolean covariate is split once. A categorical one is split by one level against the others,
    as often as there are levels. New rows beyond the range of the fit belong to the nearest box,
    and levels that the fit did not see count as none of those that it did.

    Where a response is constant in the n rows of a leaf, up to a millionth of its variance, that is
    raised to its variance in all rows divided by n, with a warning: one in n of other rows may be
    different all the same.

    References
    ----------
    .. [1] Liu, Chen, Lafferty and Wasserman (2010). Graph-valued regression. *Advances in Neural
       Information Processing Systems* 23. https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GraphTree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(800, 2))
    >>> Y = rng.normal(size=(800, 3))
    >>> Y[:, 0] += np.where(X[:, 1] > 0.5, 1.0, -1.0) * Y[:, 1]
    >>> tree = GraphTree(random_state=0, scale=(0, 1)).fit(X, Y)
    >>> [leaf.graph.weights[0, 1].round(1).item() for leaf in tree.leaves_]
    [-0.7, 0.7]
    >>> tuple(round(end, 1) for end in tree.leaves_[1].box["x1"])
    (0.5, 1.0)
    """

    _methods = (
        "The way the network varies with the covariates was estimated by graph-valued regression "
        "(Liu et al. 2010): a tree splits the covariates, and each leaf has a graph of its "
        "own, by the graphical lasso (Friedman et al. 2008)."
    )
    _cites = ("liu2010", "friedman2008")

    _copies_held = 3.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "search": OneOf("greedy", "halving", "optimal"),
        "grow_risk": OneOf(*ESTIMATES),
        "mean": OneOf("leaf", "global"),
        "split_for": OneOf("graph", "all"),
        "lookahead": Number(at_least=0, at_most=50, is_whole=True),
        "max_depth": Number(at_least=0, at_most=20, is_whole=True),
        "max_total_depth": Number(at_least=0, is_whole=True, or_none=True),
        "min_samples_leaf": Number(at_least=1, is_whole=True),
    }

    def __init__(
        self,
        criterion: str | HeldOut | Penalized = "heldout",
        search: str = "greedy",
        *,
        grow_risk: str = "l1",
        mean: str = "leaf",
        split_for: str = "graph",
        lookahead: int = 2,
        scale: Any = "range",
        max_depth: int = 10,
        max_total_depth: int | None = None,
        min_samples_leaf: int = 10,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.search = search
        self.grow_risk = grow_risk
        self.mean = mean
        self.split_for = split_for
        self.lookahead = lookahead
        self.scale = scale
        self.max_depth = max_depth
        self.max_total_depth = max_total_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, Y: Any, X_val: Any = None, Y_val: Any = None, *, groups: Any = None
    ) -> Self:
        """Learn the tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates: numbers, booleans, text or categories.
        Y : array-like or data frame of shape (n, p)
            Responses, the variables of the network.
        X_val, Y_val : array-like or data frame, optional
            Validation rows. Without them, half of the rows, chosen by ``random_state``, are set
            aside; with ``criterion="penalized"`` none are needed, and leaf graphs are then chosen
            by the extended BIC.
        groups : array-like of shape (n,), optional
            Which rows belong together: those of one subject, or of a block of consecutive rows
            that are like the rows before them, with numbers that rise along the rows. They are
            set aside together, and change places together in tests of splits.

        Returns
        -------
        GraphTree
        """
        criterion = self._check_parameters()
        covariates, responses = self._read(X, Y)
        validation = None
        if (X_val is None) != (Y_val is None):
            raise InputError("validation_incomplete")
        if X_val is not None:
            validation = self._read(X_val, Y_val, covariates.kinds, responses.names)
        rows = split_rows(
            (covariates, responses),
            validation,
            needs_validation=isinstance(criterion, HeldOut),
            random_state=self.random_state,
            unit=self._units(groups, covariates.n_samples, has_validation=X_val is not None),
        )
        has_bounds = not isinstance(self.scale, str)
        described = describe_covariates(rows.X, self.scale if has_bounds else None)
        problem = TreeProblem(
            rows=rows,
            coordinates=make_coordinates(
                rows.X,
                described,
                scale="range" if has_bounds else self.scale,
                max_depth=self.max_depth,
            ),
            search=self.search,
            estimate=ESTIMATES[self.grow_risk],
            own_mean=self.mean == "leaf",
            lookahead=self.lookahead,
            min_samples=self.min_samples_leaf,
            max_total_depth=self.max_total_depth,
            lasso=criterion,
            gamma=criterion.gamma if isinstance(criterion, Penalized) else None,
            min_gain=criterion.min_gain if isinstance(criterion, HeldOut) else 0.0,
            exchange=isinstance(criterion, HeldOut) and criterion.exchange,
            significance=criterion.significance,
            n_jobs=self.n_jobs,
        )
        units = make_units(rows, standardize=criterion.standardize)
        with blas_threads_for(responses.n_features):
            tried = problem.tried(units)
            self.covariates_ = [replace(c, is_tried=k in tried) for k, c in enumerate(described)]
            about = (self.covariates_, rows.responses)
            found = problem.grow(units, MOMENTS if self.split_for == "graph" else ALL)
            is_floored, self.n_iter_ = found.is_floored, found.n_cells
            self.groups_ = self.nodes_ = describe_nodes(found, units, *about)
            self.risk_path_ = risk_by_leaves(found.nodes) + found.offsets(units)[0]
            steps = found.risk_steps(units)
            if self.split_for == "graph":
                units = units_by_leaf(found, self.groups_)
                found = problem.grow(units, GRAPH)
                self.n_iter_ += found.n_cells
                # Training rows are centred at their own means, which flatters all trees alike;
                # the risk of one graph for all is known from means of other rows.
                flattered = found.nodes[0].cell.risk + float(found.offsets(units)[0])
                units = replace(units, bias=float(steps[2]) - flattered)
                self.nodes_ = describe_nodes(found, units, *about)
                self.risk_path_ = risk_by_leaves(found.nodes) + found.offsets(units)[0]
                steps[3] = self.risk_path_[-1]
        self.graph_ = self.nodes_[0].graph
        self.response_names_ = list(rows.responses)
        self.risk_ = float(self.risk_path_[-1])
        self.gain_ = dict(zip(COMPONENTS, (steps[:-1] - steps[1:]).tolist(), strict=True))
        self.converged_ = True
        self.treatment_ = [*self._untried(rows.counts), *([REFUTED] if found.is_refuted else [])]
        if criterion.standardize:
            note = "standardize=True: responses scaled to unit variance for the search"
            self.treatment_.append(note)
        self.treatment_.append(rows.counts)
        if isinstance(criterion, Penalized) and criterion.gamma == "auto":
            self.treatment_.append(f"gamma={found.gamma:.3g}, by permutation of the covariates")
        self._warn_of_small_variances(is_floored)
        return self

    def _units(self, groups: Any, n_rows: int, *, has_validation: bool) -> IntArray | None:
        """Give numbers to the groups of the rows."""
        if groups is None:
            return None
        if has_validation:
            raise InputError("groups_or_validation")
        return label_codes(groups, n_rows)[1]

    def _check_parameters(self) -> HeldOut | Penalized:
        """Check the parameters, and return the criterion."""
        check_parameters(self, self._constraints)
        criterion: Any = self.criterion
        if isinstance(criterion, str):
            criterion = CRITERIA.get(criterion)
        if not isinstance(criterion, (HeldOut, Penalized)):
            raise InputError("unknown_tree_criterion", criterion=self.criterion)
        if isinstance(self.scale, str):
            OneOf("range", "quantile").check("scale", self.scale)
        return criterion

    def _untried(self, counts: str) -> list[str]:
        """Say why covariates were never split that could have been."""
        found = self.covariates_
        flat = [c.name for c in found if c.kind == "numeric" and not c.lower < c.upper]
        others = [c.name for c in found if not c.is_tried and c.name not in flat]
        reason = (
            f"because fewer than min_samples_leaf={self.min_samples_leaf} rows would be on one "
            f"side ({counts})"
        )
        if self.max_depth == 0 or self.max_total_depth == 0:
            name = "max_depth" if self.max_depth == 0 else "max_total_depth"
            reason = f"because {name}=0"
        notes = ((flat, "because constant"), (others, reason))
        return [f"{UNTRIED}, {why}: {quote_names(names)}" for names, why in notes if names]

    def _warn_of_small_variances(self, is_floored: BoolArray) -> None:
        if is_floored.any():
            names = quote_names(
                [self.response_names_[k] for k in np.flatnonzero(is_floored).tolist()]
            )
            warnings.warn(DataWarning("responses_hardly_vary", names=names), stacklevel=3)

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        # Sums over both halves of a cell along every covariate, the path of one cell, and the
        # features of the rows that a scan compares, twice.
        halves = 2.0 * self.n_features_in_ + 6.0
        scanned = n_features + 3.0 if self.search == "greedy" else 0.0
        return [
            Arrays(halves, (n_features, n_features)),
            Arrays(self._copies_held + scanned, (n_rows, n_features)),
        ]

    def apply(self, X: Any) -> IntArray:
        """Give the number of the leaf that each row lies in.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates as in the fit.

        Returns
        -------
        ndarray of int, shape (n,)
            Positions in ``leaves_``.
        """
        check_is_fitted(self)
        return self._leaf_of(self._read_covariates(X, self._kinds()))

    def predict_graphs(self, X: Any) -> list[Graph]:
        """Graph of the responses for each row of covariates."""
        leaves = self.leaves_
        return [leaves[number].graph for number in self.apply(X).tolist()]

    def score(self, X: Any, Y: Any) -> float:
        """Mean log-likelihood of the responses given the covariates, per row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates.
        Y : array-like or data frame of shape (n, p)
            Responses.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        covariates, responses = self._read(X, Y, self._kinds(), self.response_names_)
        number, group = self._leaf_of(covariates), self._group_of(covariates)
        total = 0.0
        for k, g in np.unique(np.column_stack([number, group]), axis=0).tolist():
            mean, precision = self._gaussian(k, g)
            deviation = responses.values[(number == k) & (group == g)] - mean
            distance = np.einsum("ij,jk,ik->", deviation, precision, deviation)
            logdet = np.linalg.slogdet(precision)[1] - len(mean) * np.log(2.0 * np.pi)
            total += 0.5 * float(len(deviation) * logdet - distance)
        return total / len(number)

    @property
    def leaves_(self) -> list[TreeNode]:
        """Leaves in the order of their numbers."""
        check_is_fitted(self)
        return [node for node in self.nodes_ if node.split is None]

    def split_report(self) -> pd.DataFrame:
        """Why each split is there: what it gains and which part of Y that comes from.

        Returns
        -------
        pandas.DataFrame
            One row per node that is split: ``node``, ``covariate``, ``condition`` of its left
            child, rows ``n``, ``gain`` in risk, the shares ``mean``, ``variances`` and ``graph``
            of it, which add up to 1, and the ``p_value`` of the split where it was tested. A share
            can be negative or above 1 where one part loses what another gains.
        """
        import pandas as pd

        check_is_fitted(self)
        rows = []
        for node in self.nodes_:
            if (split := node.split) is not None:
                parts = (split.gain_mean, split.gain_variances, split.gain_graph)
                shares = [part / split.gain if split.gain else np.nan for part in parts]
                label = split.conditions()[0]
                about = (node.node, split.covariate, label, node.n, split.gain)
                rows.append((*about, *shares, split.p_value))
        columns = ["node", "covariate", "condition", "n", "gain", *COMPONENTS, "p_value"]
        return pd.DataFrame(rows, columns=columns)

    def compare_leaves(self, a: int, b: int) -> LeafComparison:
        """Set two leaves side by side.

        Parameters
        ----------
        a, b : int
            Numbers of the leaves, as ``apply`` returns them.

        Returns
        -------
        LeafComparison
            ``edges`` that differ, ``responses`` (means and deviations), ``boxes``, ``graph`` of the
            differences, and the ``divergence`` between the two Gaussians.
        """
        leaves = self.leaves_
        for number in (a, b):
            if not 0 <= number < len(leaves):
                raise InputError("no_such_leaf", number=number, n_leaves=len(leaves) - 1)
        return compare_leaves(leaves[a], leaves[b])

    def export_text(self) -> str:
        """Write the tree as text, with the gain of each split and where it comes from."""
        check_is_fitted(self)
        return tree_as_text(self.nodes_)

    def _leaf_of(self, covariates: Table) -> IntArray:
        """Return the number of the leaf that each row lies in."""
        return leaf_of(self.nodes_, covariates)

    def _group_of(self, covariates: Table) -> IntArray:
        """Return the number of the group of equal means and variances that each row lies in."""
        return leaf_of(self.groups_, covariates)

    def _gaussian(self, leaf: int, group: int) -> tuple[FloatArray, FloatArray]:
        """Mean and precision of the rows of a leaf that lie in a group."""
        here, shared = (
            next(node for node in nodes if node.leaf == number)
            for nodes, number in ((self.nodes_, leaf), (self.groups_, group))
        )
        units = here.deviation / shared.deviation
        return shared.mean, here.precision * np.outer(units, units)

    def _mean_at(self, covariates: Table) -> FloatArray:
        means = np.stack([node.mean for node in self.groups_ if node.split is None])
        return means[self._group_of(covariates)]

    def _precision_at(self, covariates: Table) -> FloatArray:
        pairs = zip(self._leaf_of(covariates), self._group_of(covariates), strict=True)
        return np.stack([self._gaussian(*pair)[1] for pair in pairs])
