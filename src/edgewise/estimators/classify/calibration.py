"""How sure scores may be of the class they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, FloatArray, IntArray

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
