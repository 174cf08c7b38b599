"""Simulated tables and figures of the papers behind the methods, ours beside what was published."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from edgewise._core.errors import InputError

if TYPE_CHECKING:
    from edgewise.reproduce.study import Study

#: Name of a study to the module that holds it as ``STUDY``; loaded only when it is asked for.
STUDIES: Final = {
    "defaults": "edgewise.reproduce.defaults",
    "locally-constant": "edgewise.reproduce.space",
    "intervals": "edgewise.reproduce.gaussian.intervals",
    "bjp": "edgewise.reproduce.discrete",
    "change": "edgewise.reproduce.change",
    "verdict": "edgewise.reproduce.change.verdict",
    "go-cart": "edgewise.reproduce.covariates",
    "bayes-net": "edgewise.reproduce.directed",
    "discriminative": "edgewise.reproduce.classify",
}

__all__ = ["load_study"]


def load_study(name: str) -> Study:
    """Load a study by its name.

    Parameters
    ----------
    name : str
        One of `STUDIES`.

    Returns
    -------
    Study

    Examples
    --------
    >>> load_study("locally-constant").title
    'Sparse and locally constant Gaussian graphical models'
    """
    if name not in STUDIES:
        raise InputError(f"There is no study called '{name}'. Choose from: {', '.join(STUDIES)}.")
    study: Study = importlib.import_module(STUDIES[name]).STUDY
    return study
