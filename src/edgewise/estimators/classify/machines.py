"""Support vector machines on the Fisher scores of class networks, and their calibration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from edgewise._core.libsvm import train_on_kernel
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.solvers.classify.fisher_scores import fisher_kernel

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


#: Squared slack is in the diagonal of the kernel, so that the margin itself is hard.
HARD = 1e6
#: Precision of the machine: below what is asked of the networks.
PRECISION = 1e-5


def hard_machine(kernel: FloatArray, sign: FloatArray) -> FloatArray:
    """Signed dual coefficients of the hard-margin machine."""
    return _train(kernel, sign)[0]


def _train(kernel: FloatArray, sign: FloatArray) -> tuple[FloatArray, float]:
    """Signed dual coefficients and intercept, of a kernel scaled to what libsvm expects."""
    scale = float(np.trace(kernel)) / len(kernel)
    dual, intercept = train_on_kernel(kernel / scale, sign, C=HARD, tol=PRECISION)
    return dual / scale, intercept


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
        dual[k, own], intercept[k] = _train(kernel + np.diag(1.0 / cost[own]), sign)
    return FisherMachines(rows=rows, dual=dual, intercept=intercept)


def pair_votes(distances: FloatArray, n_classes: int) -> FloatArray:
    """Score of each class from all pairs: votes, and distances where votes are equal."""
    scores = np.zeros((len(distances), n_classes))
    for k, (first, second) in enumerate(combinations(range(n_classes), 2)):
        share = distances[:, k] / (1.0 + np.abs(distances[:, k])) / (2 * n_classes)
        scores[:, first] += (distances[:, k] <= 0) - share
        scores[:, second] += (distances[:, k] > 0) + share
    return scores
