"""Ways of handing a table to every estimator of the roster, with what it needs beside it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from edgewise import BootstrapGraph, SeparateNetworkChange
from tests.roster import ROSTER, Entry

N_ROWS = 40


def measurements() -> np.ndarray:
    """Numbers of 9 bits, so that every kind of number holds them exactly."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(N_ROWS, 4))
    values[:, 1] += values[:, 0]
    values[:, 3] -= values[:, 2]
    values[::2, 2] += values[::2, 1]
    return np.round(64 * values) / 64


def levels() -> np.ndarray:
    """Level numbers, the second column a noisy copy of the first."""
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 3, size=(N_ROWS, 4))
    codes[:, 1] = np.where(rng.random(N_ROWS) < 0.8, codes[:, 0], codes[:, 1])
    return codes.astype(np.float64)


def outcomes(n_rows: int) -> np.ndarray:
    """Responses whose link turns with the sign of the first column of `measurements`."""
    noise = np.random.default_rng(13).normal(size=(n_rows, 3))
    sign = np.sign(np.resize(measurements()[:, 0], n_rows))
    noise[:, 1] += 3 * sign * noise[:, 0]
    return noise


def count_rows(table: Any) -> int:
    """Rows as far as they can be told; a fault may have none."""
    shape = getattr(table, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    return len(table) if isinstance(table, (list, tuple)) else N_ROWS


def labels(table: Any) -> np.ndarray:
    """One of two labels in turn."""
    return np.where(np.arange(count_rows(table)) % 2 == 0, "after", "before")


def times(table: Any) -> np.ndarray:
    """One covariate that rises from row to row."""
    return np.linspace(0.0, 1.0, max(count_rows(table), 1))[:, None]


@dataclass(frozen=True)
class Subject:
    """One way of handing a table to an estimator.

    Attributes
    ----------
    name : str
        The estimator; with an X where the table holds its covariates.
    family : str
        The part that the table plays.
    fit : callable
        Fits it to a table.
    has_labels : bool
        Whether labels come with the table, as the second of a pair.
    """

    name: str
    family: str
    fit: Callable[[Any], Any]
    has_labels: bool = False

    def clean(self) -> np.ndarray:
        """Values of a table that it can learn from."""
        return levels() if self.family == "levels" else measurements()

    def rows(self, given: Any) -> Any:
        """Return the table of what was handed over."""
        return given[0] if self.has_labels else given

    def words(self, says: tuple[str, ...]) -> tuple[str, ...]:
        """Words of a message; responses without names have names of their own."""
        return (
            tuple(re.sub(r"'x(\d)'", r"'y\1'", word) for word in says)
            if (self.family == "responses")
            else says
        )

    def covariates(self, table: Any) -> Any:
        """What to predict from."""
        return table if self.family == "covariates" else times(table)


def subjects_of(entry: Entry, model: Any) -> list[Subject]:
    """Hand tables over in every part that they can play in a fit of a model."""
    name = entry.name
    if entry.takes == "covariates":
        return [
            Subject(name, "responses", lambda table: clone(model).fit(times(table), table)),
            Subject(
                f"{name}_X",
                "covariates",
                lambda table: clone(model).fit(table, outcomes(count_rows(table))),
            ),
        ]
    if entry.takes in ("groups", "classes"):
        return [Subject(name, entry.takes, lambda table: clone(model).fit(table, labels(table)))]
    return [Subject(name, entry.takes, lambda table: clone(model).fit(table))]


def _with_labels(name: str, family: str, model: Any) -> Subject:
    return Subject(name, family, lambda pair: clone(model).fit(*pair), has_labels=True)


SUBJECTS = [subject for entry in ROSTER for subject in subjects_of(entry, entry.plain)]
#: The same estimators with labels that are themselves on trial.
LABELLED = [
    *(
        _with_labels(entry.name, entry.takes, entry.plain)
        for entry in ROSTER
        if entry.takes in ("groups", "classes")
    ),
    _with_labels(
        "BootstrapGraph",
        "groups",
        BootstrapGraph(SeparateNetworkChange(alpha=0.3), n_resamples=3, random_state=0),
    ),
]
