"""Networks of the classes, each by itself, and support vector machines on their Fisher scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax

from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.classify.fisher_scores import (
    fisher_kernel,
    network_residuals,
    score_correlations,
    select_arcs,
    with_constant,
)
from edgewise.solvers.directed.arc_lassos import BayesNetSolution
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net

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


#: Newton steps of a machine at most; ten are usual, and thirty where classes overlap much.
MAX_STEPS = 200
#: Share of a slope that rounding may leave.
ROUNDING = 1e-10


def hard_machine(kernel: FloatArray, sign: FloatArray, ridge: FloatArray) -> FloatArray:
    """Signed dual coefficients of the machine of `hard_margin`."""
    return hard_margin(kernel, sign, ridge)[0]


def hard_margin(
    kernel: FloatArray, sign: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, float]:
    r"""Train a support vector machine with squared slack on a kernel matrix.

    .. math:: \min_{b, b_0} \; \tfrac12 b^\top K b
        + \tfrac12 \sum_a \frac{1}{d_a} \max(0, 1 - y_a (K b + b_0)_a)^2

    which is the machine with a hard margin on :math:`\tilde K = K + \operatorname{diag}(d)`. The
    objective is piecewise quadratic: Newton's method [1]_ solves one system in the rows I within
    the margin, :math:`\tilde K_{II} b_I + b_0 = y_I` with :math:`\sum b_I = 0`, and a search
    along each step keeps the objective from rising, so that it ends at the optimum, up to rounding,
    after finitely many steps. With classes that overlap, where most rows count, libsvm's pairs of
    rows take 50 times as long.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        :math:`\tilde K`.
    sign : ndarray of shape (n,)
        -1 and 1, both there.
    ridge : ndarray of shape (n,)
        The positive d, which is in the diagonal of the kernel.

    Returns
    -------
    dual : ndarray of shape (n,)
        Signed dual coefficients.
    intercept : float

    References
    ----------
    .. [1] Keerthi and DeCoste (2005). A modified finite Newton method for fast solution of large
       scale linear SVMs. *Journal of Machine Learning Research* 6.
       https://jmlr.org/papers/v6/keerthi05a.html
    """
    dual, intercept, slack = np.zeros(len(sign)), 0.0, np.ones(len(sign))
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero(slack > 0)
        both = np.column_stack([sign[rows], np.ones(len(rows))])
        factor = cho_factor(kernel[np.ix_(rows, rows)], overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, both, check_finite=False)
        shift = float(solved[:, 0].sum() / solved[:, 1].sum()) - intercept
        step = -dual
        step[rows] += solved[:, 0] - (intercept + shift) * solved[:, 1]
        image = kernel @ step - ridge * step
        change = -sign * (image + shift)

        def slope(t: float) -> float:
            """Return the derivative of the objective along the step."""
            outside = np.maximum(slack + t * change, 0.0)  # noqa: B023
            return float((dual + t * step) @ image + np.sum(outside * change / ridge))  # noqa: B023

        # Of a whole step nothing is left but rounding where the rows stay the same.
        first = slope(0.0)
        is_whole = first >= 0 or slope(1.0) <= -ROUNDING * first
        t = 1.0 if is_whole else float(brentq(slope, 0.0, 1.0))
        dual, intercept, slack = dual + t * step, intercept + t * shift, slack + t * change
        if first >= 0 or (is_whole and np.array_equal(rows, np.flatnonzero(slack > 0))):
            break
    return dual, intercept


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
        dual[k, own], intercept[k] = hard_margin(
            kernel + np.diag(1.0 / cost[own]), sign, 1.0 / cost[own]
        )
    return FisherMachines(rows=rows, dual=dual, intercept=intercept)


def pair_votes(distances: FloatArray, n_classes: int) -> FloatArray:
    """Score of each class from all pairs: votes, and distances where votes are equal."""
    scores = np.zeros((len(distances), n_classes))
    for k, (first, second) in enumerate(combinations(range(n_classes), 2)):
        share = distances[:, k] / (1.0 + np.abs(distances[:, k])) / (2 * n_classes)
        scores[:, first] += (distances[:, k] <= 0) - share
        scores[:, second] += (distances[:, k] > 0) + share
    return scores
