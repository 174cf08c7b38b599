"""What can be asked of class networks, once they are learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.classify.class_checks import number_of_other
from edgewise.estimators.classify.class_explanation import arc_changes, arc_supports
from edgewise.estimators.classify.fisher_machine import FisherMachines, pair_votes
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.solvers.classify.fisher_scores import fisher_vectors, network_residuals

if TYPE_CHECKING:
    import pandas as pd

#: Stands for the constant parent in the names of Fisher scores.
BIAS = "bias"


class ClassDecisions(TransformerMixin, TableEstimator):
    """Decisions, Fisher scores, networks and explanations of a fitted `BayesNetClassifier`."""

    if TYPE_CHECKING:
        decide: str
        classes_: AnyArray
        location_: FloatArray
        scale_: FloatArray
        priors_: FloatArray
        standard_coef_: FloatArray
        start_coef_: FloatArray
        fit_error_ratios_: FloatArray
        components_: IntArray
        temperature_: float
        support_rows_: FloatArray
        dual_coef_: FloatArray
        machine_intercept_: FloatArray
        n_features_in_: int

    def predict(self, X: Any) -> AnyArray:
        """Class of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n,)
        """
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class for each row.

        That of the scores times ``temperature_``, which is set so that the probabilities fit how
        often the scores are right: unit noise on many columns is far too sure.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        scores = self._scores(X)
        return np.asarray(softmax(self.temperature_ * scores, axis=1))

    def decision_function(self, X: Any) -> FloatArray:
        """Score of each class; of two classes, that of the second minus that of the first.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Log-likelihoods up to a constant, with the log of the priors; or, with ``decide="svm"``,
            the distance from the boundary, or votes of the pairs.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if len(self.classes_) == 2 else scores

    def transform(self, X: Any) -> FloatArray:
        """Fisher scores of each row: how it would like each coefficient to move.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n, n_components)
            Named by ``get_feature_names_out``.
        """
        vectors = fisher_vectors(self._standard_rows(X), self.standard_coef_)
        which = self.components_
        return np.ascontiguousarray(vectors[:, which[:, 0], which[:, 1], which[:, 2]])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the Fisher scores: ``parent->child|class``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, where the fit had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        given = self._names() if input_features is None else [str(name) for name in input_features]
        names = given or [f"x{k}" for k in range(self.n_features_in_)]
        if len(names) != self.n_features_in_:
            raise InputError(
                f"input_features should have length equal to the number of columns, "
                f"{self.n_features_in_}, got {len(names)}."
            )
        if self._names() is not None and names != self._names():
            raise InputError("input_features is not equal to feature_names_in_.")
        parents = [*names, BIAS]
        return np.array(
            [f"{parents[i]}->{names[j]}|{self.classes_[c]}" for c, i, j in self.components_],
            dtype=object,
        )

    @property
    def networks_(self) -> dict[Any, Graph]:
        """Network of each class, weighted by coefficients for standardised columns."""
        check_is_fitted(self)
        return self._graphs(self.standard_coef_)

    @property
    def start_networks_(self) -> dict[Any, Graph]:
        """Network of each class before they were learned together."""
        check_is_fitted(self)
        return self._graphs(self.start_coef_)

    @property
    def fit_error_ratio_(self) -> dict[Any, float]:
        """Squared residuals of each class in its network, as a share of those before."""
        check_is_fitted(self)
        return dict(zip(self.classes_.tolist(), self.fit_error_ratios_.tolist(), strict=True))

    @property
    def graph_(self) -> Graph:
        """Where the networks of the classes differ."""
        check_is_fitted(self)
        arcs = self.standard_coef_[:, : self.n_features_in_]
        weights = arcs[-1] - arcs[0] if len(arcs) == 2 else np.ptp(arcs, axis=0)
        return Graph(weights, names=self._names(), directed=True)

    def explain(self, row: Any = None, *, against: Any = None) -> pd.DataFrame:
        """Say which arcs the learning changed, or which arcs decide about one row.

        Parameters
        ----------
        row : array-like or data frame of shape (1, m) or (m,), optional
            One row; without it the changes of all networks are listed.
        against : label, optional
            Class that the decision is compared with; by default the likeliest of the others.

        Returns
        -------
        pandas.DataFrame
            ``class``, ``source`` and ``target`` of each arc. Without a row: coefficients for
            standardised columns ``before`` and ``after``, and their ``change``. For a row: the
            ``weight`` of the arc, and its ``support``, by how much the log-likelihood of the
            decided class, less that of the other, would fall without the arc. Largest first;
            ``bias`` as a source is the intercept.
        """
        check_is_fitted(self)
        parents = [*(self._names() or [f"x{k}" for k in range(self.n_features_in_)]), BIAS]
        if row is None:
            return arc_changes(
                self.start_coef_, self.standard_coef_, self.classes_.tolist(), parents
            )
        one = row if hasattr(row, "columns") else np.atleast_2d(np.asarray(row))
        standard = self._standard_rows(one)
        if len(standard) != 1:
            raise InputError(f"explain takes one row at a time, got {len(standard)}.")
        scores = self._class_scores(standard)[0]
        decided = int(scores.argmax())
        other = number_of_other(against, decided, scores, self.classes_.tolist())
        return arc_supports(
            standard[0], self.standard_coef_, (decided, other), self.classes_.tolist(), parents
        )

    def _standard_rows(self, X: Any) -> FloatArray:
        """Rows in the units of the fit."""
        check_is_fitted(self)
        rows = self._as_rows(X, reset=False)
        self._refuse_missing(rows)
        if not np.isfinite(rows).all():
            which = quote_names(self._labels(np.asarray(~np.isfinite(rows).all(axis=0))))
            raise InputError(f"X contains inf in {which}. Drop those rows.")
        return np.asarray((rows - self.location_) / self.scale_)

    def _scores(self, X: Any) -> FloatArray:
        return self._class_scores(self._standard_rows(X))

    def _class_scores(self, standard: FloatArray) -> FloatArray:
        """Score of each class for each standardised row; the largest decides."""
        if self.decide == "likelihood":
            squares = (network_residuals(standard, self.standard_coef_) ** 2).sum(axis=2)
            return np.asarray(np.log(self.priors_) - 0.5 * squares.T)
        machines = FisherMachines(
            rows=self.support_rows_, dual=self.dual_coef_, intercept=self.machine_intercept_
        )
        distances = machines.decide(standard, self.standard_coef_)
        if len(self.classes_) == 2:
            return np.column_stack([-0.5 * distances[:, 0], 0.5 * distances[:, 0]])
        return pair_votes(distances, len(self.classes_))

    def _graphs(self, coefs: FloatArray) -> dict[Any, Graph]:
        m = self.n_features_in_
        return {
            label: Graph(coef[:m], names=self._names(), directed=True)
            for label, coef in zip(self.classes_.tolist(), coefs, strict=True)
        }
