"""Networks of the classes, each by itself, and support vector machines on their Fisher scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.solvers import bcd_bayes_net, order_bayes_net
from edgewise.solvers.classify.fisher_scores import (
    fisher_kernel,
    network_residuals,
    score_correlations,
    select_arcs,
    with_constant,
)
from edgewise.solvers.directed.arc_lassos import BayesNetSolution

if TYPE_CHECKING:
    import pandas as pd


def arc_changes(
    before: FloatArray, after: FloatArray, classes: Sequence[Any], parents: Sequence[str]
) -> pd.DataFrame:
    """List the arcs whose coefficients changed, the largest change first."""
    arcs = np.argwhere(before != after)
    old, new = before[tuple(arcs.T)], after[tuple(arcs.T)]
    values = {"before": old, "after": new, "change": new - old}
    return _table(arcs, classes, parents, values, by=np.abs(new - old))


def arc_supports(
    row: FloatArray,
    coefs: FloatArray,
    pair: tuple[int, int],
    classes: Sequence[Any],
    parents: Sequence[str],
) -> pd.DataFrame:
    r"""List the arcs of two networks by what they add to the decision between them.

    Without the arc i -> j of a network, the residual of j would be :math:`r_j + \theta_{ij} x_i`,
    and the log-likelihood lower by :math:`\tfrac12 ((r_j + \theta_{ij} x_i)^2 - r_j^2)`. That is
    the support of the arc; for the network of the other class, minus that.
    """
    chosen = coefs[list(pair)]
    arcs = np.argwhere(chosen)
    weight = chosen[tuple(arcs.T)]
    residual = network_residuals(row[None, :], chosen)[arcs[:, 0], 0, arcs[:, 2]]
    share = weight * with_constant(row[None, :])[0, arcs[:, 1]]
    support = 0.5 * ((residual + share) ** 2 - residual**2) * np.array([1.0, -1.0])[arcs[:, 0]]
    labels = [classes[k] for k in pair]
    values = {"weight": weight, "support": support}
    return _table(arcs, labels, parents, values, by=np.abs(support))


def _table(
    arcs: Any,
    classes: Sequence[Any],
    parents: Sequence[str],
    values: dict[str, FloatArray],
    *,
    by: FloatArray,
) -> pd.DataFrame:
    import pandas as pd

    order = np.argsort(-by, kind="stable")
    frame = pd.DataFrame(
        {
            "class": [classes[k] for k in arcs[order, 0]],
            "source": [parents[k] for k in arcs[order, 1]],
            "target": [parents[k] for k in arcs[order, 2]],
        }
    )
    return frame.assign(**{name: value[order] for name, value in values.items()})


def in_data_order(coefs: FloatArray, order: IntArray) -> FloatArray:
    """Put coefficients of all networks back into the order of the columns of the data.

    ``order[k]`` is the column that variable k of the networks stands for.
    """
    result = np.empty_like(coefs)
    parents = np.append(order, len(order))
    result[np.ix_(np.arange(len(coefs)), parents, order)] = coefs
    return result


def generative_networks(
    rows: FloatArray,
    labels: IntArray,
    alpha: float,
    *,
    method: str,
    has_free_bias: bool,
    n_jobs: int | None,
) -> tuple[FloatArray, list[BayesNetSolution]]:
    """Learn the network of each class from its own rows.

    Returns the coefficients of all, of shape (n_classes, m + 1, m) with the intercepts last,
    and the solutions.
    """
    is_order = method == "order"
    solve: Callable[..., BayesNetSolution] = order_bayes_net if is_order else bcd_bayes_net
    options: dict[str, Any] = {"n_jobs": n_jobs} if is_order else {}
    coefs, solutions = [], []
    for c in range(int(labels.max()) + 1):
        own = rows[labels == c]
        mean = own.mean(axis=0)
        S = np.cov(own, rowvar=False, bias=True).reshape(len(mean), -1)
        # A column that does not vary in the class is tied to nothing there.
        still = np.ptp(own, axis=0) == 0
        S[still, :] = S[:, still] = 0.0
        S[still, still] = 1.0
        if not has_free_bias:
            options["location"] = mean
        solution = solve(S, alpha, **options)
        bias = mean - mean @ solution.value if has_free_bias else solution.intercept
        coefs.append(np.vstack([solution.value, bias]))
        solutions.append(solution)
    return np.stack(coefs), solutions


def informative_arcs(
    rows: FloatArray, labels: IntArray, coefs: FloatArray, n_edges: int
) -> IntArray:
    """Class, parent and child of the arcs whose Fisher scores correlate most with the class.

    Arcs that are absent stay so. Intercepts count as arcs: where they are penalised, most start
    from 0, and they are what sets the classes apart.
    """
    allowed = coefs != 0
    allowed[:, -1, :] = True
    return select_arcs(score_correlations(rows, labels, coefs), allowed, n_edges)


#: Range of the logarithm of the temperature: from no trust in the scores to all of it.
RANGE = (-20.0, 10.0)


def temperature(scores: FloatArray, labels: IntArray) -> float:
    r"""Find what to multiply scores by, so that their softmax fits the classes.

    .. math:: \max_{t > 0} \; \sum_a \sum_c p_{ac} \log \operatorname{softmax}_c(t \, s_a)

    with a probability of :math:`(n_c + 1) / (n_c + K)` for the class c of row a among K and equal
    ones for the others, as Platt [1]_ does for two, so that classes which come fully apart do not
    make the scores infinitely sure.

    References
    ----------
    .. [1] Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. *Advances in Large Margin Classifiers*.
    """
    n_classes = scores.shape[1]
    counts = np.bincount(labels, minlength=n_classes)
    own = (counts[labels] + 1.0) / (counts[labels] + n_classes)
    target = np.repeat(((1.0 - own) / (n_classes - 1))[:, None], n_classes, axis=1)
    target[np.arange(len(labels)), labels] = own
    # In units of their own, so that the range suits any scores.
    spread = float(np.abs(scores - scores.mean(axis=1, keepdims=True)).mean()) or 1.0

    def loss(log_temperature: float) -> float:
        return -float(np.sum(target * log_softmax(np.exp(log_temperature) / spread * scores, 1)))

    return float(np.exp(minimize_scalar(loss, bounds=RANGE, method="bounded").x) / spread)


def held_out_scores(model: Any, rows: FloatArray, y: AnyArray) -> FloatArray:
    """Scores of all rows from fits that did not see them."""
    seed = int(as_generator(model.random_state).integers(2**31 - 1))
    folds = StratifiedKFold(int(model.calibration), shuffle=True, random_state=seed)
    decided: FloatArray = cross_val_predict(
        clone(model).set_params(calibration=None),
        rows,
        y,
        cv=folds,
        n_jobs=model.n_jobs,
        method="decision_function",
    )
    return np.column_stack([-0.5 * decided, 0.5 * decided]) if decided.ndim == 1 else decided


#: Steps after which rows that come and go in turn are left to libsvm; five are usual.
MAX_STEPS = 50
#: What rounding may leave of a margin.
ROUNDING = 1e-10


def hard_machine(kernel: FloatArray, sign: FloatArray) -> FloatArray:
    """Signed dual coefficients of the machine of `hard_margin`."""
    return hard_margin(kernel, sign)[0]


def hard_margin(kernel: FloatArray, sign: FloatArray) -> tuple[FloatArray, float]:
    r"""Train a support vector machine with a hard margin on a kernel matrix.

    Squared slack is in the diagonal of the kernel, which is positive definite. The rows on the
    margin have :math:`K_{II} b_I + b_0 = y_I` with :math:`\sum b_I = 0`; rows whose coefficient has
    the wrong sign leave them and rows within the margin join them, all at once, until none does,
    which is Newton's method on the squared slack [1]_ and ends at the optimum, up to rounding. With
    classes that overlap, where most rows count, libsvm's pairs of rows take 50 times as long.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
    sign : ndarray of shape (n,)
        -1 and 1, both there.

    Returns
    -------
    dual : ndarray of shape (n,)
        Signed dual coefficients.
    intercept : float

    References
    ----------
    .. [1] Chapelle (2007). Training a support vector machine in the primal. *Neural Computation*
       19(5). https://doi.org/10.1162/neco.2007.19.5.1155
    """
    counts = np.ones(len(sign), dtype=bool)
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero(counts)
        if abs(sign[rows].sum()) == len(rows):
            break
        both = np.column_stack([sign[rows], np.ones(len(rows))])
        try:
            factor = cho_factor(kernel[np.ix_(rows, rows)], overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        solved = cho_solve(factor, both, check_finite=False)
        intercept = float(solved[:, 0].sum() / solved[:, 1].sum())
        dual = np.zeros(len(sign))
        dual[rows] = solved[:, 0] - intercept * solved[:, 1]
        margin = sign * (kernel[:, rows] @ dual[rows] + intercept)
        stay = np.where(counts, sign * dual > 0, margin < 1 - ROUNDING)
        if (stay == counts).all():
            return dual, intercept
        counts = stay
    return _by_pairs(kernel, sign)


def _by_pairs(kernel: FloatArray, sign: FloatArray) -> tuple[FloatArray, float]:
    """Train by libsvm, of a kernel scaled to what it expects."""
    from sklearn.svm import SVC

    scale = float(np.trace(kernel)) / len(kernel)
    machine = SVC(C=1e6, kernel="precomputed", tol=1e-5).fit(kernel / scale, sign)
    dual = np.zeros(len(sign))
    dual[machine.support_] = machine.dual_coef_[0] / scale
    return dual, float(machine.intercept_[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class FisherMachines:
    """One machine for each pair of classes.

    Attributes
    ----------
    rows : ndarray of shape (n, m)
        Standardised training rows.
    dual : ndarray of shape (n_pairs, n)
        Signed dual coefficients; 0 for rows of other classes.
    intercept : ndarray of shape (n_pairs,)
    """

    rows: FloatArray
    dual: FloatArray
    intercept: FloatArray

    def decide(self, X: FloatArray, coefs: FloatArray) -> FloatArray:
        """Signed distance of each row for each pair; positive for the second of the pair."""
        distances = []
        for k, pair in enumerate(combinations(range(len(coefs)), 2)):
            support = np.flatnonzero(self.dual[k])
            kernel = fisher_kernel(X, self.rows[support], coefs[list(pair)])
            distances.append(kernel @ self.dual[k, support] + self.intercept[k])
        return np.column_stack(distances)


def train_machines(
    rows: FloatArray, labels: IntArray, coefs: FloatArray, cost: FloatArray
) -> FisherMachines:
    """Train the machine of each pair of classes; ``cost`` is that of squared slack per row."""
    pairs = list(combinations(range(len(coefs)), 2))
    dual, intercept = np.zeros((len(pairs), len(rows))), np.zeros(len(pairs))
    for k, pair in enumerate(pairs):
        own = np.flatnonzero(np.isin(labels, pair))
        kernel = fisher_kernel(rows[own], rows[own], coefs[list(pair)])
        sign = np.where(labels[own] == pair[0], -1.0, 1.0)
        dual[k, own], intercept[k] = hard_margin(kernel + np.diag(1.0 / cost[own]), sign)
    return FisherMachines(rows=rows, dual=dual, intercept=intercept)


def pair_votes(distances: FloatArray, n_classes: int) -> FloatArray:
    """Score of each class from all pairs: votes, and distances where votes are equal."""
    scores = np.zeros((len(distances), n_classes))
    for k, (first, second) in enumerate(combinations(range(n_classes), 2)):
        share = distances[:, k] / (1.0 + np.abs(distances[:, k])) / (2 * n_classes)
        scores[:, first] += (distances[:, k] <= 0) - share
        scores[:, second] += (distances[:, k] > 0) + share
    return scores
