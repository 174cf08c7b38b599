"""What a tree of graphs can do once it has been fitted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.estimators.covariates.conditional import CovariateEstimator
from edgewise.estimators.covariates.tree_compare import LeafComparison, compare
from edgewise.estimators.covariates.tree_fit import TreeFit
from edgewise.estimators.covariates.tree_nodes import TreeNode
from edgewise.estimators.covariates.tree_text import (
    FORMAT,
    FORMAT_VERSION,
    check_document,
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
