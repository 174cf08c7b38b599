"""How a network varies with covariates: a tree whose leaves are graphs, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.memory import Arrays
from edgewise._core.typing import AnyArray, FloatArray, IntArray, RandomState
from edgewise.estimators.covariates.base import CovariateEstimator, split_rows
from edgewise.estimators.covariates.tree_fit import TreeFit, TreeOptions, grow
from edgewise.estimators.covariates.tree_nodes import (
    FORMAT,
    FORMAT_VERSION,
    LeafComparison,
    TreeNode,
    check_document,
    compare,
    covariates_from_dicts,
    covariates_to_dicts,
    nodes_from_dicts,
    nodes_to_dicts,
    plain_parameters,
    tree_as_text,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names

if TYPE_CHECKING:
    import pandas as pd


class FittedTree(CovariateEstimator):
    """Base of `GraphTree`: everything but growing the tree."""

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
        table = self._read_covariates(X, self._kinds())
        node_of = np.zeros(table.n_samples, dtype=np.int64)
        for node in self.nodes_:
            if node.split is not None:
                rows = np.flatnonzero(node_of == node.node)
                is_left = node.split.goes_left(replace(table, values=table.values[rows]))
                node_of[rows] = np.where(is_left, node.split.left, node.split.right)
        return np.array([node.leaf for node in self.nodes_])[node_of]

    def predict_graphs(self, X: Any) -> list[Graph]:
        """Graph of the responses for each row of covariates."""
        leaves = self.leaves_
        return [leaves[number].graph for number in self.apply(X).tolist()]

    def predict_precision(self, X: Any) -> FloatArray:
        """Precision matrix of the responses for each row of covariates, shape (n, p, p)."""
        return np.stack([leaf.precision for leaf in self.leaves_])[self.apply(X)]

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
        _, responses = self._read(X, Y, self._kinds(), self.response_names_)
        number = self.apply(X)
        total = 0.0
        for leaf in self.leaves_:
            deviation = responses.values[number == leaf.leaf] - leaf.mean
            distance = np.einsum("ij,jk,ik->", deviation, leaf.precision, deviation)
            logdet = np.linalg.slogdet(leaf.precision)[1] - len(leaf.mean) * np.log(2.0 * np.pi)
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
            child, rows ``n``, ``gain`` in risk, and the shares ``mean``, ``variances`` and
            ``graph`` of it, which add up to 1. A share can be negative or above 1 where one part
            loses what another gains.
        """
        import pandas as pd

        check_is_fitted(self)
        rows = []
        for node in self.nodes_:
            if (split := node.split) is not None:
                parts = (split.gain_mean, split.gain_variances, split.gain_graph)
                shares = [part / split.gain if split.gain else np.nan for part in parts]
                label = split.conditions()[0]
                rows.append((node.node, split.covariate, label, node.n, split.gain, *shares))
        columns = ["node", "covariate", "condition", "n", "gain", "mean", "variances", "graph"]
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
                raise InputError(f"There is no leaf {number}; they go from 0 to {len(leaves) - 1}.")
        return compare(leaves[a], leaves[b])

    def export_text(self) -> str:
        """Write the tree as text, with the gain of each split and where it comes from."""
        check_is_fitted(self)
        return tree_as_text(self.nodes_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted tree as numbers, text, lists and dictionaries, ready for JSON."""
        check_is_fitted(self)
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "parameters": plain_parameters(self.get_params(deep=False)),
            "covariates": covariates_to_dicts(self.covariates_),
            "has_covariate_names": hasattr(self, "feature_names_in_"),
            "responses": list(self.response_names_),
            "risk": self.risk_,
            "risk_path": self.risk_path_.tolist(),
            "n_cells": self.n_iter_,
            "treatment": list(self.treatment_),
            "nodes": nodes_to_dicts(self.nodes_),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build a fitted tree from what ``to_dict`` returned."""
        check_document(document)
        tree = cls(**document["parameters"])
        responses = [str(name) for name in document["responses"]]
        covariates = covariates_from_dicts(document["covariates"])
        tree.n_features_in_ = len(covariates)
        if document["has_covariate_names"]:
            names = [covariate.name for covariate in covariates]
            tree.feature_names_in_ = np.array(names, dtype=object)
        tree._keep(
            TreeFit(
                nodes=nodes_from_dicts(document["nodes"], responses),
                covariates=covariates,
                responses=responses,
                risk=float(document["risk"]),
                risk_path=np.array(document["risk_path"], dtype=np.float64),
                n_cells=int(document["n_cells"]),
                treatment=[str(note) for note in document["treatment"]],
            )
        )
        return tree

    def _keep(self, found: TreeFit) -> None:
        """Store what was found, and warn where it should be read with care."""
        self.nodes_ = found.nodes
        self.graph_ = found.nodes[0].graph
        self.covariates_ = found.covariates
        self.response_names_ = found.responses
        self.risk_ = found.risk
        self.risk_path_ = found.risk_path
        self.n_iter_ = found.n_cells
        self.converged_ = True
        self.treatment_ = found.treatment
        if found.floored:
            warnings.warn(
                f"Responses {quote_names(found.floored)} hardly vary in some leaf. Their variance "
                "there was raised to a millionth of that in all rows, but splits may follow them "
                "all the same. Leave them out, or raise min_samples_leaf.",
                DataWarning,
                stacklevel=3,
            )


class GraphTree(FittedTree):
    r"""How the network of some variables varies with others: a tree with a graph in each leaf.

    The responses Y are taken to be Gaussian given the covariates X, with a mean and a sparse
    precision matrix :math:`\Omega` that are constant on each leaf of a tree. Every split halves
    the range of one covariate. A tree T has the risk

    .. math::
        R(T) = \frac{1}{n'} \sum_{\text{leaves } A} \; \sum_{i:\, x'_i \in A}
        (y'_i - \mu_A)^\top \Omega_A (y'_i - \mu_A) - \log\det \Omega_A ,

    on the :math:`n'` validation rows, with :math:`\mu_A` and :math:`\Omega_A` from the training
    rows in A; :math:`\Omega_A` is the graphical lasso of least risk along its path [1]_.

    Parameters
    ----------
    criterion : {"heldout", "penalized"}
        Grow by the risk of validation rows; or by that of the training rows with a price for
        leaves, see ``gamma``, where alpha is :math:`\sqrt{\log p / n_A}`.
    search : {"greedy", "optimal"}
        Take the best split of each node; or find the best of all trees, which refuses where there
        are too many cells, see ``max_total_depth`` and ``split_on``.
    grow_risk : {"l1", "refit", "best"}
        Whose risk counts while growing: the graphical lasso; maximum likelihood on each graph of
        its path; or the better of both at each alpha. The smaller the risk, the more it adapts to
        the validation rows: ``"l1"`` is the safest against needless splits. Leaf graphs are chosen
        by the refits in any case.
    mean : {"global", "leaf"}
        One mean of Y for all leaves, or one for each. A mean per leaf costs p parameters per
        split, which small differences between graphs do not outweigh.
    lookahead : int
        How many levels below the last split that paid off the greedy search goes on, before it
        prunes what did not. Splits that pay off only together are missed with 0.
    scale : {"range", "quantile"}
        Halve the range of a numeric covariate; or its rows, which does not depend on its units.
    max_depth : int
        How often each covariate can be halved, at most 20.
    min_samples_leaf : int
        Fewest training rows in a leaf, and fewest validation rows.
    gamma : float
        Price of leaves for ``"penalized"``: m leaves cost
        :math:`\gamma m \sqrt{([[T]] \log 2 + 2 \log(n p)) / n}` with
        :math:`[[T]] = 3 m - 1 + (m - 1) \log_2 d` for n rows and d covariates.
    exchange : bool
        Whether training and validation rows change places for a second opinion on every split
        that was found: the risk by which trees are compared in the end is then the mean of both.
        That halves the noise; the published rule is without. For validation rows that are about
        as many as training rows, and like them.
    min_gain : float or "auto"
        What a split must add to the log-likelihood of the rows that judge it for ``"heldout"``,
        in nats; 0 is the published rule, which splits on chance now and then, and often with few
        responses. ``"auto"`` is the code it takes to write a split down, :math:`3 + \log_2 d` bits
        for d covariates, less 0.3 nats for every response beyond the fourth: a needless split of
        many responses loses more than that anyway. With 20 responses it is 0 for up to 15
        covariates.
    bounds : tuple, array-like of shape (d, 2) or dict, optional
        Ends of the ranges of numeric covariates for ``scale="range"``: one pair, a pair per
        covariate, or pairs by name. By default the ends of the training rows.
    split_on : list of str or int, optional
        Covariates that the tree may split on; all by default.
    max_total_depth : int, optional
        Largest number of splits above a leaf.
    max_cells : int
        Cells that ``search="optimal"`` goes through at most.
    penalize_diagonal : bool
        Whether the graphical lasso shrinks the diagonal, too, as published. It costs small cells
        more than large ones, which guards against needless splits.
    standardize : bool
        Scale the responses to unit variance before anything else, so that units do not matter.
    n_alphas : int
        Strengths on the path of each graphical lasso.
    alpha_ratio : float
        The smallest of them as a share of the largest.
    random_state : int, Generator, RandomState or None
        Chooses the validation rows where none are given.
    n_jobs : int, optional
        Nodes whose splits are tried at a time. The tree does not depend on it.

    Attributes
    ----------
    leaves_ : list of TreeNode
        Leaves in the order of their numbers, each with ``box``, ``n``, ``mean``, ``precision`` and
        ``graph``.
    nodes_ : list of TreeNode
        All nodes, the whole first.
    graph_ : Graph
        The graph of all rows together, for comparison.
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

    Where a response hardly varies in a leaf, its variance is raised to a millionth of its variance
    in all rows, with a warning.

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
    >>> tree = GraphTree(random_state=0, bounds=(0, 1)).fit(X, Y)
    >>> [leaf.graph.weights[0, 1].round(1).item() for leaf in tree.leaves_]
    [-0.7, 0.7]
    >>> tree.leaves_[1].box["x1"]
    (0.5, 1.0)
    """

    _methods = (
        "The way the network varies with the covariates was estimated by graph-valued regression "
        "(Liu et al. 2010): a dyadic tree splits the covariates, and each leaf has a graph of its "
        "own, by the graphical lasso (Friedman et al. 2008)."
    )
    _cites = ("liu2010", "friedman2008")

    _copies_held = 3.0

    def __init__(
        self,
        criterion: str = "heldout",
        search: str = "greedy",
        *,
        grow_risk: str = "l1",
        mean: str = "global",
        lookahead: int = 2,
        scale: str = "range",
        max_depth: int = 10,
        min_samples_leaf: int = 10,
        gamma: float = 0.03,
        exchange: bool = True,
        min_gain: float | str = "auto",
        bounds: Any = None,
        split_on: Any = None,
        max_total_depth: int | None = None,
        max_cells: int = 25_000,
        penalize_diagonal: bool = True,
        standardize: bool = True,
        n_alphas: int = 40,
        alpha_ratio: float = 0.01,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.search = search
        self.grow_risk = grow_risk
        self.mean = mean
        self.lookahead = lookahead
        self.scale = scale
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.gamma = gamma
        self.exchange = exchange
        self.min_gain = min_gain
        self.bounds = bounds
        self.split_on = split_on
        self.max_total_depth = max_total_depth
        self.max_cells = max_cells
        self.penalize_diagonal = penalize_diagonal
        self.standardize = standardize
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, Y: Any, X_val: Any = None, Y_val: Any = None) -> Self:
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

        Returns
        -------
        GraphTree
        """
        options = TreeOptions.from_parameters(self.get_params(deep=False))
        covariates, responses = self._read(X, Y)
        validation = None
        if (X_val is None) != (Y_val is None):
            raise InputError("Pass both X_val and Y_val, or neither.")
        if X_val is not None:
            validation = self._read(X_val, Y_val, covariates.kinds, responses.names)
        rows = split_rows(
            (covariates, responses),
            validation,
            needs_validation=options.needs_validation,
            random_state=self.random_state,
        )
        names = self._covariate_names()
        with blas_threads_for(responses.n_features):
            found = grow(rows, options, names)
        self._keep(found)
        return self

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        # Sums over both halves of a cell along every covariate, and the path of one cell.
        halves = 2.0 * self.n_features_in_ + 6.0
        held = super()._arrays_held(n_rows, n_features)
        return [*held, Arrays(halves, (n_features, n_features))]

    def _covariate_names(self) -> list[str] | None:
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]
