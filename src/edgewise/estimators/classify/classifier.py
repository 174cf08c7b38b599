"""Classification by Bayesian networks of the classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.memory import Arrays
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.checks import check_columns, refuse_covariance, row_order
from edgewise.data.labels import label_codes
from edgewise.estimators.base.columns import arrangement
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.classify.class_networks import (
    FisherMachines,
    arc_changes,
    arc_supports,
    generative_networks,
    hard_machine,
    in_data_order,
    informative_arcs,
    pair_votes,
    temperature,
    train_machines,
)
from edgewise.estimators.directed.order import BIASES
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection.choose import ConvergenceWarning
from edgewise.solvers.classify.class_networks import fisher_networks, margin_networks
from edgewise.solvers.classify.fisher_scores import fisher_vectors, network_residuals

if TYPE_CHECKING:
    import pandas as pd

#: Stands for the constant parent in the names of Fisher scores.
BIAS = "bias"


class BayesNetClassifier(ClassifierMixin, TransformerMixin, TableEstimator):
    r"""Do the networks of groups tell them apart? One sparse network per class.

    Each class has a network of linear equations without cycles, learned from its rows as by
    `GaussianBayesNet` on columns that are standardised over all classes, with unit noise. A row
    belongs to the class whose network makes it likeliest,

    .. math:: \hat y(x) = \arg\max_c \; -\tfrac12 | x - b_c - \Theta_c^\top x |^2 + \log \pi_c .

    With ``learning="margin"`` (MM-SGBN [1]_) or ``"fisher"`` (KL-SGBN [1]_) the coefficients of
    some arcs then move so that the classes come further apart: see ``margin_networks`` and
    ``fisher_networks`` in ``edgewise.solvers.classify.class_networks``. No network may fit its own
    class worse by more than ``slack``, so that each still describes it; no arc is added,
    so that there are no cycles.

    The published gain of such learning appears where the intercepts are penalised
    (``bias="penalized"``), which spoils the start. With free intercepts there is little to gain,
    and a linear support vector machine is as accurate: what this classifier adds is a pair of
    networks to look at. Compare both by cross-validation before claiming a difference.

    Parameters
    ----------
    learning : {"margin", "fisher", "generative"}
        Move coefficients to widen the smallest margins between likelihoods; or to lower the
        radius-margin bound of a support vector machine on Fisher scores; or leave them as learned
        class by class. With more than two classes, a margin is that to the likeliest other class,
        and the bound is averaged over all pairs.
    decide : {"likelihood", "svm"}
        By the likelihoods; or by support vector machines on the Fisher scores, one for each pair
        of classes, which vote.
    alpha : float
        Penalty of each network, as in `GaussianBayesNet`, for columns that are
        standardised over all classes.
    n_edges : int
        How many arcs, over all networks and with intercepts counted, may move: those whose Fisher
        scores correlate most with the class.
    slack : float
        By what share the squared residuals of a class in its network may grow.
    C : float
        Cost of squared slack in the support vector machines.
    nu : float
        Share of the rows, those of smallest margin, that ``learning="margin"`` looks at.
    bias : {"free", "penalized"}
        Whether the intercepts of the networks are free, or penalised by alpha as published.
    method : {"order", "bcd"}
        How the networks are learned, as in `GaussianBayesNet`.
    class_weight : dict, "balanced" or None
        Weights of the classes in the learning and in the support vector machines. Weights in a
        dict are also the odds of the classes for the likelihoods, which are even otherwise.
    tol : float
        The learning stops where the gradient promises less: standard deviations of the margins, or
        a share of the bound.
    max_iter : int
        Largest number of iterations of the learning.
    n_jobs : int, optional
        Columns of a network solved at a time. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    networks_ : dict
        Network of each class: a directed `Graph` whose weights are for standardised columns.
    coef_ : ndarray of shape (n_classes, m, m)
        ``coef_[c, i, j]`` is the coefficient of i -> j for class c in the units of X.
    intercept_ : ndarray of shape (n_classes, m)
    fit_error_ratio_ : dict
        Sum of squared residuals of each class after the learning, as a share of that before.
    graph_ : Graph
        Where the networks differ: arcs of any class, weighted by the coefficient of the last class
        minus that of the first; by the range over the classes where there are more than two.
    objective_, start_objective_, history_, gap_
        Of the learning, see `edgewise.solvers.classify.class_networks.ClassNetworksSolution`; of
        all networks together if
        ``learning="generative"``.
    location_, scale_ : ndarray of shape (m,)
        Mean and standard deviation of the columns over all classes.
    standard_coef_, start_coef_ : ndarray of shape (n_classes, m + 1, m)
        Coefficients for standardised columns after and before the learning; the last row of each
        network holds its intercepts.
    temperature_ : float
        What scores are multiplied by for ``predict_proba``.
    converged_, n_iter_
        Whether the learning reached its tolerance, and its iterations.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import BayesNetClassifier
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=200), np.repeat(["loose", "tied"], 100)
    >>> X = np.column_stack([x, np.where(y == "tied", x, 0.0) + rng.normal(size=200)])
    >>> model = BayesNetClassifier().fit(X, y)
    >>> {label: network.n_edges for label, network in model.networks_.items()}
    {'loose': 0, 'tied': 1}
    >>> float(model.score(X, y)) > 0.6
    True
    """

    _methods = (
        "One sparse Gaussian Bayesian network was learned for each class (Zhou et al. 2016). "
        "Accuracies are means over cross-validation folds, with standard errors that account "
        "for shared training rows (Nadeau and Bengio 2003)."
    )
    _cites = ("zhou2016", "nadeau2003")

    _matrices_held = 14.0
    _copies_held = 18.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning": OneOf("margin", "fisher", "generative"),
        "decide": OneOf("likelihood", "svm"),
        "alpha": Number(above=0),
        "n_edges": Number(at_least=1, is_whole=True),
        "slack": Number(above=0),
        "C": Number(above=0),
        "nu": Number(above=0, at_most=1),
        "bias": OneOf(*BIASES),
        "method": OneOf("order", "bcd"),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1, is_whole=True),
    }

    def __init__(
        self,
        learning: str = "margin",
        decide: str = "likelihood",
        *,
        alpha: float = 0.15,
        n_edges: int = 100,
        slack: float = 0.01,
        C: float = 1.0,
        nu: float = 0.5,
        bias: str = "free",
        method: str = "order",
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
    ) -> None:
        self.learning = learning
        self.decide = decide
        self.alpha = alpha
        self.n_edges = n_edges
        self.slack = slack
        self.C = C
        self.nu = nu
        self.bias = bias
        self.method = method
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the networks of all classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows of all classes.
        y : array-like of shape (n,)
            Their labels, of any type that can be sorted.

        Returns
        -------
        BayesNetClassifier
        """
        check_parameters(self, self._constraints)
        rows, labels = self._check_input(X, y)
        # Rows and columns in an order that the values give, so that no result depends on theirs.
        order = row_order(np.column_stack([rows[:, arrangement(rows)], labels]))
        rows, labels = rows[order], labels[order]
        self.location_, self.scale_ = rows.mean(axis=0), rows.std(axis=0)
        self.priors_ = _class_probabilities(self.class_weight, self.classes_.tolist())
        weights = compute_sample_weight(self.class_weight, self.classes_[labels])
        standard = (rows - self.location_) / self.scale_
        with blas_threads_for(rows.shape[1]):
            self._learn(standard, labels, weights)
            m = rows.shape[1]
            self.coef_ = self.standard_coef_[:, :m] * self.scale_ / self.scale_[:, None]
            free = self.location_ + self.standard_coef_[:, m] * self.scale_
            self.intercept_ = free - np.einsum("i,cij->cj", self.location_, self.coef_)
            if self.decide == "svm":
                machines = train_machines(standard, labels, self.standard_coef_, self.C * weights)
                self.support_rows_ = machines.rows
                self.dual_coef_ = machines.dual
                self.machine_intercept_ = machines.intercept
            self.temperature_ = temperature(self._class_scores(standard), labels)
        return self

    def _check_input(self, X: Any, y: Any) -> tuple[FloatArray, IntArray]:
        """Rows as floats and the number of each row's class; learns names and classes."""
        if y is None:
            raise InputError("class_labels_required", type=type(self).__name__)
        rows = self._as_rows(X, reset=True)
        refuse_covariance(rows, f"{type(self).__name__} learns from the rows of the classes.")
        self._refuse_missing(rows)
        check_columns(rows, self._names(), allow_identical=True)
        is_column = getattr(y, "shape", ()) == (len(rows), 1) and not hasattr(y, "toarray")
        flat = column_or_1d(y, warn=True) if is_column else y
        classes, labels = label_codes(flat, len(rows))
        _refuse_measurements(classes)
        _check_counts(classes, np.bincount(labels).tolist())
        self.classes_ = np.array(classes)
        return rows, labels

    def _learn(self, standard: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Set the networks of standardised rows, before and after they are learned together."""
        order = arrangement(standard)
        rows = np.ascontiguousarray(standard[:, order])
        start, solutions = generative_networks(
            rows,
            labels,
            float(self.alpha),
            method=self.method,
            has_free_bias=self.bias == "free",
            n_jobs=self.n_jobs,
        )
        found = None
        if self.learning != "generative":
            solve: Any = (
                partial(margin_networks, nu=self.nu)
                if self.learning == "margin"
                else partial(fisher_networks, machine=hard_machine, C=self.C)
            )
            arcs = informative_arcs(rows, labels, start, self.n_edges)
            if len(arcs):
                found = solve(
                    rows, labels, start, arcs, slack=self.slack, weights=weights,
                    tol=self.tol, max_iter=self.max_iter,
                )  # fmt: skip
        self.start_coef_ = in_data_order(start, order)
        self.standard_coef_ = (
            self.start_coef_ if found is None else in_data_order(found.value, order)
        )
        self.fit_error_ratios_ = np.ones(len(start)) if found is None else found.fit_error_ratio
        parts: Any = solutions if found is None else [found]
        self.objective_ = sum(part.objective for part in parts)
        self.start_objective_ = self.objective_ if found is None else found.start
        self.history_ = np.array([self.objective_]) if found is None else found.history
        self.gap_ = sum(part.gap for part in parts)
        self.n_iter_ = sum(part.n_iter for part in parts)
        self.converged_ = all(part.converged for part in (*solutions, *parts))
        if not self.converged_:
            warnings.warn(
                ConvergenceWarning(
                    "margin_not_converged", n_iter=self.n_iter_, gap=self.gap_, tol=self.tol
                ),
                stacklevel=3,
            )

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
        """Fisher scores: the gradient of each row's log-likelihood in the coefficients.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n, n_classes * m * m)
            Named by ``get_feature_names_out``.
        """
        vectors = fisher_vectors(self._standard_rows(X), self.standard_coef_)
        which = self._components()
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
                "input_features_length", n_features_in=self.n_features_in_, n_names=len(names)
            )
        if self._names() is not None and names != self._names():
            raise InputError("input_features_differ")
        parents = [*names, BIAS]
        return np.array(
            [f"{parents[i]}->{names[j]}|{self.classes_[c]}" for c, i, j in self._components()],
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
        if len(arcs) == 2:
            return Graph(arcs[-1] - arcs[0], names=self._names(), directed=True)
        weights = np.ptp(arcs, axis=0)
        # A range has no sign.
        unsigned = np.zeros(weights.shape, dtype=bool)
        return Graph(weights, names=self._names(), directed=True, signed=unsigned)

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
            raise InputError("explain_one_row", n_standard=len(standard))
        scores = self._class_scores(standard)[0]
        decided = int(scores.argmax())
        other = _other_class(against, decided, scores, self.classes_.tolist())
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
            raise InputError("values_infinite", which=which)
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

    def _components(self) -> IntArray:
        """Class, parent and child of each Fisher score; no column is its own parent."""
        m = self.n_features_in_
        is_there = np.ones(self.standard_coef_.shape, dtype=bool)
        is_there[:, range(m), range(m)] = False
        return np.argwhere(is_there)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        held = super()._arrays_held(n_rows, n_features)
        objective = getattr(self.learning, "objective", self.learning)
        kernels = 6.0 if objective == "fisher" or self.decide == "svm" else 0.0
        return [*held, Arrays(kernels, (n_rows, n_rows))]


def _check_counts(classes: list[Any], counts: list[int]) -> None:
    """Refuse a single class, and classes with too few rows."""
    if len(classes) == 1:
        raise InputError("one_class", label=classes[0])
    few = [label for label, count in zip(classes, counts, strict=True) if count < 2]
    if few:
        raise InputError("class_too_small", few=few)


def _refuse_measurements(classes: list[Any]) -> None:
    """Refuse labels that are fractions, as of something measured."""
    fractions = [label for label in classes if isinstance(label, float) and label % 1 != 0]
    if fractions:
        raise InputError("continuous_labels", fraction=fractions[0])


def _class_probabilities(class_weight: Any, classes: list[Any]) -> FloatArray:
    """Probabilities of the classes: equal, but for weights that are given class by class.

    Equal ones make up for unequal numbers of rows, so that balanced weights change nothing.
    """
    known = class_weight if isinstance(class_weight, dict) else {}
    weights = np.array([known.get(label, 1.0) for label in classes], dtype=np.float64)
    return np.asarray(weights / weights.sum())


def _other_class(against: Any, decided: int, scores: FloatArray, classes: list[Any]) -> int:
    """Find the class that a decision is compared with: the one named, or the next best."""
    if against is None:
        return int(np.argsort(scores)[-2])
    if against not in classes or classes.index(against) == decided:
        others = quote_names(label for k, label in enumerate(classes) if k != decided)
        raise InputError(
            "unknown_other_class", label=classes[decided], others=others, against=against
        )
    return classes.index(against)
