"""The three scores, each with two choices of its prior counts."""

from __future__ import annotations

from typing import Any, Final

CRITERIA: Final = {"bjp": "BJP", "ib": "IB", "mpl": "MPL"}
CONSTANT: Final = "constant"
SHARED: Final = "shared"
PRIORS: Final = (CONSTANT, SHARED)


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
