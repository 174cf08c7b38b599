"""The three scores, each with two choices of its prior counts."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes

from edgewise.reproduce.figures import BLUE, GREEN, VERMILION, numbered_log

CRITERIA: Final = {"bjp": "BJP", "ib": "IB", "mpl": "MPL"}
CONSTANT: Final = "constant"
SHARED: Final = "shared"
PRIORS: Final = (CONSTANT, SHARED)
LOOK: Final[dict[str, dict[str, Any]]] = {
    "bjp": {"color": BLUE, "marker": "o"},
    "ib": {"color": VERMILION, "marker": "s"},
    "mpl": {"color": GREEN, "marker": "^"},
}
#: Curves are set apart by this factor, so that error bars do not hide each other.
APART: Final = 1.07


def score_options(criterion: str, prior: str) -> dict[str, Any]:
    """Return the options of a score under which its prior counts are as the name says.

    A ``"constant"`` prior has 1 in every cell of a test and 0.5 in every cell of the marginal
    pseudo-likelihood; a ``"shared"`` one has a total of 1, in equal parts for all cells.

    Examples
    --------
    >>> score_options("ib", "shared")
    {'pseudocount': 'bdeu', 'ess': 1.0}
    """
    if criterion == "mpl":
        return {"cell": 0.5} if prior == CONSTANT else {"ess": 1.0}
    return {"pseudocount": 1.0} if prior == CONSTANT else {"pseudocount": "bdeu", "ess": 1.0}


def column_title(criterion: str, prior: str) -> str:
    """Name a score and its prior counts in a table.

    Examples
    --------
    >>> column_title("mpl", "constant")
    'MPL, 0.5 a cell'
    """
    if prior == SHARED:
        return f"{CRITERIA[criterion]}, 1 shared out"
    return f"{CRITERIA[criterion]}, {0.5 if criterion == 'mpl' else 1} a cell"


def draw_curve(ax: Axes, frame: pd.DataFrame, value: str, shift: float, **look: Any) -> None:
    """Draw means with their standard errors against the number of rows, a little to the side."""
    by_size = frame.groupby("n_samples")[value]
    mean, error = by_size.mean(), by_size.sem().fillna(0)
    ax.errorbar(mean.index * APART**shift, mean, yerr=error, markersize=4.5, linewidth=1.2, **look)


def number_rows(ax: Axes, frame: pd.DataFrame) -> None:
    """Write numbers of rows, every other where there are many."""
    sizes = sorted(frame["n_samples"].unique())
    numbered_log(ax, sizes[:: 2 if len(sizes) > 4 else 1])
