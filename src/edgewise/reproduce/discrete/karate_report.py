"""The karate network with many rows: how good the default is, and what limits it."""

from __future__ import annotations

from typing import Final

import pandas as pd

from edgewise.reproduce._files import markdown_table, mean_and_error
from edgewise.reproduce._study import Report
from edgewise.reproduce.discrete.karate import MORE_PATIENCE, N_SAMPLES, THINNING

#: Mean Hamming distance that the default should keep below.
BAR: Final = 8


def report(frame: pd.DataFrame) -> Report:
    """Set out the errors, and say whether score, search or data are to blame."""
    rows = []
    for thin in THINNING:
        part = frame[frame["thin"] == thin]
        figures = [
            mean_and_error(part[name], 1)
            for name in ("hamming", "missed", "false", "patient_hamming")
        ]
        rows.append([str(thin), *figures])
    header = ["sweeps per row", "Hamming", "missed", "false", f"Hamming, patience {MORE_PATIENCE}"]
    text = "\n\n".join(
        [
            f"## Karate, {N_SAMPLES:,} rows: what limits the default",
            markdown_table(header, rows),
            _limits(frame),
        ]
    )
    return Report(text=text, claims=())


def _limits(frame: pd.DataFrame) -> str:
    paper = frame[frame["thin"] == THINNING[0]]
    thinned = frame[frame["thin"] == THINNING[1]]
    excess = paper["score"] - paper["true_score"]
    mean = paper["hamming"].mean()
    n_better = int((paper["patient_score"] > paper["score"] + 1e-9).sum())
    missed, false = paper["missed"].sum(), paper["false"].sum()
    return (
        f"The default (BJP, 1 in every cell, patience 20) makes {mean:.1f} errors on average; the "
        f"bar is {BAR}, and it is {'met' if mean <= BAR else 'missed'}. The structure found scores "
        f"above the true one on {int((excess > 0).sum())} of {len(paper)} data sets, by "
        f"{excess.mean():.1f} nats on average: there a better search would not help. Ten "
        f"times the patience finds a better score on {n_better}. Given the true blankets, the data "
        f"speak for independence on {int(paper['missed_without_evidence'].sum())} of the {missed} "
        f"missed pairs, and for dependence on {int(paper['false_with_evidence'].sum())} of the "
        f"{false} false ones: potentials drawn evenly leave some neighbours nearly independent, "
        "and a test at even prior odds says yes by chance to some of the 483 pairs that are not "
        f"joined. Rows {THINNING[1]} sweeps apart, nearly independent, leave "
        f"{thinned['hamming'].mean():.1f} errors, so that little of this is due to the chain."
    )
