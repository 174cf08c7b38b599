"""How a search went: the criterion along alpha, or the score step by step."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise.plot._style import POSITIVE, axes_or_new
from edgewise.plot.curves import draw_grid, mark_chosen
from edgewise.selection import Selection

_SEARCH_SIZE: Final = (6.0, 3.6)
#: What the criterion of each rule is.
CRITERIA: Final = {
    "ebic": "extended BIC (smaller is better)",
    "cv": "held-out score (larger is better)",
    "stars": "instability on subsamples",
}


def plot_selection(selection: Selection, ax: Axes | None = None) -> Axes:
    """Draw the criterion that chose alpha along all alphas that were tried.

    Held-out scores have a band of one standard error over the folds.

    Parameters
    ----------
    selection : Selection
        ``selection_`` of an estimator whose alpha was chosen by a rule.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph
    >>> from edgewise.plot import plot_selection
    >>> model = GaussianGraph().fit(np.random.default_rng(0).normal(size=(50, 3)))
    >>> plot_selection(model.selection_).get_ylabel()
    'extended BIC (smaller is better)'
    """
    ax = axes_or_new(ax, _SEARCH_SIZE)
    is_known = np.isfinite(selection.values)
    alphas, values = selection.alphas[is_known], selection.values[is_known]
    ax.plot(alphas, values, color=POSITIVE, marker="o", markersize=3)
    folds = selection.details
    if selection.rule == "cv" and folds.ndim == 2 and folds.shape[1] > 1:
        error = folds[is_known].std(axis=1, ddof=1) / np.sqrt(folds.shape[1])
        ax.fill_between(alphas, values - error, values + error, color=POSITIVE, alpha=0.15)
    ax.set_xscale("log")
    margin = max((selection.alphas.max() / selection.alphas.min()) ** 0.05, 1.05)
    ax.set_xlim(selection.alphas.min() / margin, selection.alphas.max() * margin)
    ax.set_xlabel("alpha")
    ax.set_ylabel(CRITERIA.get(selection.rule, selection.rule))
    mark_chosen(ax, selection.alpha)
    draw_grid(ax)
    return ax


def plot_score_history(history: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw how the score of a structure rose, flip by flip.

    Parameters
    ----------
    history : array-like of shape (n_steps,) or (n_steps, 3)
        Scores, or ``history_`` of a `DiscreteMarkovNet`, whose first column they are.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from edgewise.plot import plot_score_history
    >>> plot_score_history([-10.0, -7.0, -6.5]).get_xlabel()
    'pair flipped'
    """
    given = np.asarray(history, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise InputError(f"history must have one or two dimensions, got shape {given.shape}.")
    scores = given if given.ndim == 1 else given[:, 0]
    ax = axes_or_new(ax, _SEARCH_SIZE)
    ax.plot(np.arange(len(scores)), scores, color=POSITIVE, marker="o", markersize=2.5)
    ax.set_xlabel("pair flipped")
    ax.set_ylabel("score (larger is better)")
    draw_grid(ax)
    return ax
