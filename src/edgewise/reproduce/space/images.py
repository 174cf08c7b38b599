"""Real tables with a place for every column: likelihood of images that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import load_table, neighbor_pairs
from edgewise.reproduce.space.contour import GRAPHICAL_LASSO, LOCALLY_CONSTANT
from edgewise.reproduce.space.methods import (
    TUNING_TOL,
    Fit,
    Grid,
    count_unconverged,
    fit_graphical_lasso,
    fit_locally_constant,
    grid_for,
    log_likelihood,
    refine,
    second_moments,
)
from edgewise.reproduce.study import Part, Row

INDEPENDENT = "independent"
METHODS = (INDEPENDENT, GRAPHICAL_LASSO, LOCALLY_CONSTANT)
SCALINGS = ("standardised", "raw")
#: Maps of the atmosphere by the column they come from.
MAPS = {"surface temperature": "surftemp", "ozone": "ozone"}
TABLES = ("digits 0", "digits 3", "digits 8", "digits 3, first 40", *MAPS)
N_FOLDS = 5
#: Cells of the atmosphere that make one site, along either axis.
COARSER = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Rows of sites on a grid.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_sites)
        One image per row, in common units.
    shape : tuple of int
        Of the grid.
    group : ndarray of int, shape (n_samples,)
        Rows of one group share a mean: the calendar month of a climate, else all rows.
    fold : ndarray of int, shape (n_samples,)
        When a row is held out.
    """

    values: FloatArray
    shape: tuple[int, ...]
    group: IntArray
    fold: IntArray


def list_tasks(quick: bool) -> list[Row]:
    """List tables and scalings, and how fine their grids are."""
    return [
        {"table": table, "scaling": scaling, "per_decade": 1 if quick else 3}
        for table in (("digits 3, first 40",) if quick else TABLES)
        for scaling in SCALINGS
    ]


def run_task(rng: np.random.Generator, *, table: str, scaling: str, per_decade: int) -> list[Row]:
    """Score each fold by a model of the other rows, its strengths chosen on the other folds.

    Nothing is drawn: noise and folds are fixed, so that all runs see the same rows.
    """
    images = load_images(table)
    pairs = neighbor_pairs(images.shape, prod(images.shape))
    splits = [split(images, fold, scaling) for fold in np.unique(images.fold)]
    # One grid for all folds, or their scores could not be added up.
    S = np.mean([part.S_train for part in splits], axis=0)
    grid = grid_for(S, per_decade=per_decade)
    rows: list[Row] = [
        {
            "method": INDEPENDENT,
            "fold": fold,
            "log_likelihood": part.score(np.diag(1.0 / part.S_train.diagonal())),
        }
        for fold, part in enumerate(splits)
    ]
    for name in (GRAPHICAL_LASSO, LOCALLY_CONSTANT):
        fits = [_fit(name, part.S_train, grid, pairs) for part in splits]
        scores = np.array(
            [
                [part.score(fit.precision) for fit in of_fold]
                for part, of_fold in zip(splits, fits, strict=True)
            ]
        )
        for fold, point in enumerate(best_on_other_folds(scores)):
            part = splits[fold]
            fit = refine(part.S_train, fits[fold][point], pairs)
            rows.append(
                {
                    "method": name,
                    "fold": fold,
                    "log_likelihood": part.score(fit.precision),
                    "unconverged": count_unconverged([*fits[fold], fit]),
                    "edges": int(fit.adjacency.sum()) // 2,
                    **fit.settings,
                }
            )
    return rows


def _fit(name: str, S: FloatArray, grid: Grid, pairs: IntArray) -> list[Fit]:
    if name == GRAPHICAL_LASSO:
        return fit_graphical_lasso(S, grid, tol=TUNING_TOL)
    return fit_locally_constant(S, grid, pairs, tol=TUNING_TOL)


def best_on_other_folds(scores: FloatArray) -> list[int]:
    """Choose a point for each fold by what the others say.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_points)
        Held-out log-likelihood per row.

    Returns
    -------
    list of int
        One point per fold, chosen without its own scores.
    """
    total = scores.sum(axis=0)
    return [int(np.argmax(total - of_fold)) for of_fold in scores]


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Second moments of the rows to fit and of those held out, both about the training means.

    ``log_scale`` is what the scaling of the columns takes from the log-likelihood of a row.
    """

    S_train: FloatArray
    S_test: FloatArray
    log_scale: float

    def score(self, precision: FloatArray) -> float:
        """Log-likelihood per held-out row, in the units of the images whatever the scaling."""
        return log_likelihood(precision, self.S_test) - self.log_scale


def split(images: Images, fold: int, scaling: str) -> Split:
    """Hold out a fold; means and scales are those of the other rows."""
    is_train = images.fold != fold
    centred = images.values.copy()
    for group in np.unique(images.group):
        is_member = images.group == group
        centred[is_member] -= images.values[is_member & is_train].mean(axis=0)
    scale = np.ones(centred.shape[1])
    if scaling == "standardised":
        scale = centred[is_train].std(axis=0)
    return Split(
        S_train=second_moments(centred[is_train] / scale),
        S_test=second_moments(centred[~is_train] / scale),
        log_scale=float(np.log(scale).sum()),
    )


def load_images(table: str) -> Images:
    """Load a table by its name in `TABLES`."""
    if table.startswith("digits"):
        return _digits(int(table.split()[1].rstrip(",")), 40 if "first" in table else None)
    return _atmosphere(MAPS[table])


def _digits(digit: int, n_images: int | None) -> Images:
    """Images of one digit; grey levels are whole numbers, and even noise makes them continuous."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels + np.random.default_rng(0).uniform(size=pixels.shape)
    values: FloatArray = pixels[labels == digit][:n_images]
    fold = np.empty(len(values), dtype=np.int64)
    fold[np.random.default_rng(1).permutation(len(values))] = np.arange(len(values)) % N_FOLDS
    return Images(values=values, shape=(8, 8), group=np.zeros_like(fold), fold=fold)


def _atmosphere(column: str) -> Images:
    """Monthly maps over Central America, held out by the year, as months in a row are alike."""
    frame = load_table("nasa-atmos").frame
    maps = frame.pivot_table(
        index=["year", "month"], columns=["lat", "lon"], values=column, sort=True
    )
    side = frame["lat"].nunique() // COARSER
    blocks = maps.to_numpy().reshape(len(maps), side, COARSER, side, COARSER)
    years = maps.index.get_level_values("year").to_numpy()
    return Images(
        values=blocks.mean(axis=(2, 4)).reshape(len(maps), side * side),
        shape=(side, side),
        group=maps.index.get_level_values("month").to_numpy(),
        fold=years - years.min(),
    )


PART = Part(name="images", tasks=list_tasks, run=run_task)
