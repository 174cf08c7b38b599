"""Methods of other packages, where those are installed."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.graph.equivalence import extend_pattern
from edgewise.reproduce.directed.methods import SIGNIFICANCE


def learn_pc(rows: FloatArray) -> BoolArray:
    """PC of causal-learn, with the same test at the same level as ours."""
    pc = importlib.import_module("causallearn.search.ConstraintBased.PC").pc
    found = pc(rows, SIGNIFICANCE, "fisherz", show_progress=False)
    marks: Any = found.G.graph
    # -1 is a tail and 1 a head; heads at both ends are a contradiction, taken for a line.
    return extend_pattern((marks == -1) | ((marks == 1) & (marks.T == 1))).dag


def learn_ges(rows: FloatArray) -> BoolArray:
    """Greedy equivalence search of ges, by the BIC."""
    pattern, _ = importlib.import_module("ges").fit_bic(rows)
    return extend_pattern(np.asarray(pattern) != 0).dag


def learn_dagma(rows: FloatArray) -> BoolArray:
    """DAGMA with a squared loss and its defaults."""
    model = importlib.import_module("dagma.linear").DagmaLinear(loss_type="l2")
    # It centres the rows in place, and draws a progress bar.
    with contextlib.redirect_stderr(io.StringIO()):
        found: BoolArray = model.fit(rows.copy()) != 0
    return found


GES: Final = "GES (ges)"
#: Name of the method, the package that has it, and the function.
_PEERS: Final[dict[str, tuple[str, Callable[[FloatArray], BoolArray]]]] = {
    "PC (causal-learn)": ("causallearn", learn_pc),
    "DAGMA": ("dagma", learn_dagma),
    GES: ("ges", learn_ges),
}


def installed_peers() -> list[str]:
    """Names of the methods whose package is here."""
    return [name for name, (package, _) in _PEERS.items() if importlib.util.find_spec(package)]


def peer(name: str) -> Callable[[FloatArray], BoolArray]:
    """Look a method up."""
    return _PEERS[name][1]
