"""Real tables with a place for every column: likelihood of images that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import load_table, neighbor_pairs
from studies.figures import legend_above, name_rows, panels
from studies.space import methods
from studies.study import Claim, Part, Report, Row
from studies.tables import fill, markdown_table, mean_and_error, verdict

INDEPENDENT = "independent"
FULL = "full"
REGRESSIONS = "Meinshausen-Bühlmann, raw"
REFITTED = "Meinshausen-Bühlmann, refitted"
#: Those that know of sparsity only. Covariance selection has the optimum of the graphical lasso.
SPARSE = (REGRESSIONS, REFITTED, methods.GRAPHICAL_LASSO)
METHODS = (INDEPENDENT, FULL, *SPARSE, methods.LOCALLY_CONSTANT)
SCALINGS = ("standardised", "raw")
#: Maps of the atmosphere by the column they come from.
MAPS = {"surface temperature": "surftemp", "ozone": "ozone"}
#: Points on a closed contour, and cloud cover at three heights.
OUTLINE = "outline of 0"
CLOUDS = "clouds at three heights"
#: The table of fewest images for its sites.
SCARCE = "digits 3, first 40"
TABLES = ("digits 0", "digits 3", "digits 8", SCARCE, *MAPS, OUTLINE, CLOUDS)
N_FOLDS = 5
#: Cells of the atmosphere that make one site, along either axis; in three dimensions.
COARSER = 3
COARSEST = 6
HEIGHTS = ("cloudlow", "cloudmid", "cloudhigh")
#: Directions from the middle of a digit, and distances in pixels that each is looked at.
N_ANGLES = 24
RADII = np.linspace(0.0, 5.0, 51)


@dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Rows of sites that have neighbours.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_sites)
        One image per row, in common units.
    pairs : ndarray of int, shape (n_pairs, 2)
        Neighbouring sites.
    group : ndarray of int, shape (n_samples,)
        Rows of one group share a mean: the calendar month of a climate, else all rows.
    fold : ndarray of int, shape (n_samples,)
        When a row is held out.
    """

    values: FloatArray
    pairs: IntArray
    group: IntArray
    fold: IntArray


def list_tasks(quick: bool) -> list[Row]:
    """List tables and scalings, and how fine their grids are."""
    return [
        {"table": table, "scaling": scaling, "per_decade": 1 if quick else 3}
        for table in ((SCARCE,) if quick else TABLES)
        for scaling in SCALINGS
    ]


def run_task(rng: np.random.Generator, *, table: str, scaling: str, per_decade: int) -> list[Row]:
    """Score each fold by a model of the other rows, its strengths chosen on the other folds.

    Nothing is drawn: noise and folds are fixed, so that all runs see the same rows.
    """
    images = load_images(table)
    splits = [split(images, fold, scaling) for fold in np.unique(images.fold)]
    # One grid for all folds, or their scores could not be added up.
    S = np.mean([part.S_train for part in splits], axis=0)
    grid = methods.grid_for(S, per_decade=per_decade)
    rows: list[Row] = []
    for fold, part in enumerate(splits):
        score = part.score(np.diag(1.0 / part.S_train.diagonal()))
        rows.append({"method": INDEPENDENT, "fold": fold, "log_likelihood": score})
    of_folds = [_fits(part.S_train, grid, images.pairs) for part in splits]
    for name in METHODS[1:]:
        fits = [of_fold[name] for of_fold in of_folds]
        scores = np.array(
            [
                [-np.inf if fit is None else part.score(fit.precision) for fit in of_fold]
                for part, of_fold in zip(splits, fits, strict=True)
            ]
        )
        for fold, point in enumerate(best_on_other_folds(scores)):
            part, fit = splits[fold], fits[fold][point]
            if fit is None:
                # The point that suits the other folds has no fit here; the largest alpha has.
                fit = next(one for one in fits[fold] if one is not None)
            if name in (methods.GRAPHICAL_LASSO, methods.LOCALLY_CONSTANT):
                fit = methods.refine(part.S_train, fit, images.pairs)
            rows.append(
                {
                    "method": name,
                    "fold": fold,
                    "log_likelihood": part.score(fit.precision),
                    "unconverged": methods.count_unconverged([*fits[fold], fit]),
                    "edges": int(fit.adjacency.sum()) // 2,
                    **fit.settings,
                }
            )
    return rows


def _fits(S: FloatArray, grid: methods.Grid, pairs: IntArray) -> dict[str, list[Any]]:
    """Fit every method that has a strength at all points of its grid."""
    return {
        **methods.fit_both(S, grid, pairs),
        FULL: methods.fit_full(S, grid),
        REGRESSIONS: methods.fit_regressions(S, grid),
        REFITTED: methods.fit_regressions_refitted(S, grid),
    }


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
    return [int(np.argmax(np.delete(scores, k, axis=0).sum(axis=0))) for k in range(len(scores))]


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
        return methods.log_likelihood(precision, self.S_test) - self.log_scale


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
        S_train=methods.second_moments(centred[is_train] / scale),
        S_test=methods.second_moments(centred[~is_train] / scale),
        log_scale=float(np.log(scale).sum()),
    )


def load_images(table: str) -> Images:
    """Load a table by its name in `TABLES`."""
    if table.startswith("digits"):
        return _digits(int(table.split()[1].rstrip(",")), 40 if "first" in table else None)
    if table == OUTLINE:
        return _outlines()
    if table == CLOUDS:
        return _atmosphere(HEIGHTS, COARSEST)
    return _atmosphere((MAPS[table],), COARSER)


def _digits(digit: int, n_images: int | None) -> Images:
    """Images of one digit; grey levels are whole numbers, and even noise makes them continuous.

    Pixels that never change hold nothing but that noise, and are no sites.
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    noisy = pixels + np.random.default_rng(0).uniform(size=pixels.shape)
    is_digit = np.flatnonzero(labels == digit)
    varies = np.ptp(pixels[is_digit[:n_images]], axis=0) > 0
    pairs = neighbor_pairs(varies.reshape(8, 8), int(varies.sum()))
    return _with_folds(noisy[is_digit[:n_images]][:, varies], pairs)


def _with_folds(values: FloatArray, pairs: IntArray) -> Images:
    """Deal rows that share a mean out to the folds at random."""
    fold = np.empty(len(values), dtype=np.int64)
    fold[np.random.default_rng(1).permutation(len(values))] = np.arange(len(values)) % N_FOLDS
    return Images(values=values, pairs=pairs, group=np.zeros_like(fold), fold=fold)


def _outlines() -> Images:
    """Distance of the stroke of a handwritten 0 from its middle, in directions all round it.

    In each direction it is the mean distance of the ink, grey levels between pixels being linear.
    """
    from scipy.ndimage import map_coordinates
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    angles = np.linspace(0.0, 2.0 * np.pi, N_ANGLES, endpoint=False)
    rays = np.stack([np.outer(np.sin(angles), RADII), np.outer(np.cos(angles), RADII)])
    place = np.indices((8, 8))
    values = []
    for image in pixels[labels == 0].reshape(-1, 8, 8):
        middle = (place * image).sum(axis=(1, 2)) / image.sum()
        ink = map_coordinates(image, middle[:, None, None] + rays, order=1)
        values.append(ink @ RADII / ink.sum(axis=1))
    return _with_folds(np.array(values), neighbor_pairs("ring", N_ANGLES))


def _atmosphere(columns: Sequence[str], coarser: int) -> Images:
    """Monthly maps over Central America, held out by the year, as months in a row are alike.

    Several columns are layers, one above the other.
    """
    frame = load_table("nasa-atmos").frame
    side = frame["lat"].nunique() // coarser
    layers = []
    for column in columns:
        maps = frame.pivot_table(
            index=["year", "month"], columns=["lat", "lon"], values=column, sort=True
        )
        blocks = maps.to_numpy().reshape(len(maps), side, coarser, side, coarser)
        # Some months have no value in a few cells.
        layers.append(np.nanmean(blocks, axis=(2, 4)))
    shape = (len(columns), side, side)
    n_sites = len(columns) * side * side
    years = maps.index.get_level_values("year").to_numpy()
    return Images(
        values=np.stack(layers, axis=1).reshape(len(maps), n_sites),
        pairs=neighbor_pairs(shape if len(columns) > 1 else shape[1:], n_sites),
        group=maps.index.get_level_values("month").to_numpy(),
        fold=years - years.min(),
    )


def report(frame: pd.DataFrame) -> Report:
    """Set out held-out likelihoods in both scalings, and what local constancy gains."""
    wide, gains = _wide(frame)
    means = wide.groupby(["table", "scaling"], sort=False).mean()
    rows, over_best = [], {}
    for table in frame["table"].unique():
        cells = [table, f"{means.loc[(table, SCALINGS[0]), INDEPENDENT]:.2f}"]
        for scaling in SCALINGS:
            lasso, ours = means.loc[
                (table, scaling), [methods.GRAPHICAL_LASSO, methods.LOCALLY_CONSTANT]
            ]
            gain = mean_and_error(gains.loc[table, scaling], 2, sign=True)
            cells += [f"{lasso:.2f}", f"{ours:.2f}", gain]
        best = means.loc[table].max()
        over_best[table] = float(best[methods.LOCALLY_CONSTANT] - best[methods.GRAPHICAL_LASSO])
        rows.append([*cells, f"{over_best[table]:+.2f}"])
    header = ["table", INDEPENDENT]
    for scaling in SCALINGS:
        header += [f"{scaling}: graphical lasso", "locally constant", "gain"]
    sparse, smooth = (
        means[name].unstack("scaling")
        for name in (methods.GRAPHICAL_LASSO, methods.LOCALLY_CONSTANT)
    )
    (standardised, raw), gained = SCALINGS, smooth - sparse
    text = fill(
        __package__,
        "images",
        table=markdown_table([*header, "gain, best scaling of each"], rows),
        all=_all_methods(means),
        n_larger=int((gained[raw] > gained[standardised]).sum()),
        n_tables=len(gained),
        raw=gained[raw].mean(),
        standardised=gained[standardised].mean(),
        n_lasso=int((sparse[standardised] > sparse[raw]).sum()),
        maps=_on_maps(frame, over_best),
        n_alone=int((means[INDEPENDENT] > means[methods.GRAPHICAL_LASSO]).sum()),
        n_cases=len(means),
    )
    top = means.groupby("table", sort=False).max()
    rivals = top[list(SPARSE)].max(axis=1)
    lead = {
        str(table): float(top.loc[table, methods.LOCALLY_CONSTANT] - rivals[table])
        for table in top.index
    }
    return Report(text, (_generalises(gains, lead), _independence(means)))


def _all_methods(means: pd.DataFrame) -> str:
    """Lay out all methods as the paper's Table 3 does, by table and scaling."""
    cells = [
        [table, scaling, *(f"{means.loc[(table, scaling), name]:.2f}" for name in METHODS)]
        for table, scaling in means.index.to_list()
    ]
    return markdown_table(["table", "scaling", *METHODS], cells)


def _wide(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Likelihoods with a column per method, and what local constancy gains."""
    wide = frame.pivot_table(
        index=["table", "scaling", "fold"], columns="method", values="log_likelihood", sort=False
    )
    return wide, wide[methods.LOCALLY_CONSTANT] - wide[methods.GRAPHICAL_LASSO]


def _on_maps(frame: pd.DataFrame, over_best: dict[str, float]) -> str:
    found = [f"{name} {over_best[name]:+.2f}" for name in MAPS if name in over_best]
    if not found:
        return ""
    tau = frame[frame["table"].isin(MAPS) & (frame["method"] == methods.LOCALLY_CONSTANT)]["tau"]
    return fill(
        __package__, "maps", maps=", ".join(found), n_none=int((tau == 0).sum()), n=len(tau)
    )


def _generalises(gains: pd.Series, over_best: dict[str, float]) -> Claim:
    by = gains.groupby(["table", "scaling"], sort=False).mean()
    n_better = int((by > 0).sum())
    is_ahead = n_better == len(by) and min(over_best.values()) > 0
    figures = ", ".join(f"{table} {gain:+.2f}" for table, gain in over_best.items())
    return Claim(
        "On real spatial data the method consistently has the larger held-out likelihood than "
        "techniques that encourage sparsity only.",
        f"Ahead of the graphical lasso in {n_better} of {len(by)} combinations of table and "
        f"scaling. Ahead of the best sparse method, each in its better scaling, by nats per row: "
        f"{figures}.",
        "yes" if is_ahead else "partly" if n_better else "no",
    )


def _independence(means: pd.DataFrame) -> Claim:
    """Judge what the paper says of its brain images, on the table of fewest images per site."""
    scarce = means[means.index.get_level_values("table") == SCARCE]
    alone = scarce[INDEPENDENT].to_numpy()[:, None] > scarce[list(SPARSE)].to_numpy()
    figures = [
        f"{scaling} {scarce.loc[(table, scaling), INDEPENDENT]:.2f} against "
        + ", ".join(f"{scarce.loc[(table, scaling), name]:.2f} ({name})" for name in SPARSE)
        for table, scaling in scarce.index.to_list()
    ]
    return Claim(
        "With many variables and few images the independent model is ahead of Meinshausen and "
        "Bühlmann's, covariance selection and the graphical lasso.",
        f"{SCARCE}: {'; '.join(figures)}.",
        verdict([row.tolist() for row in alone]),
    )


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Gain over the graphical lasso on each table, by scaling, every fold a dot."""
    _, gains = _wide(frame)
    tables = list(frame["table"].unique())
    figure, ((ax,),) = panels(1, 1, (8, 1.6 + 0.55 * len(tables)), grid="x")
    looks = (methods.LOOK[methods.LOCALLY_CONSTANT], methods.LOOK[methods.GRAPHICAL_LASSO])
    for shift, scaling, look in zip((0.15, -0.15), reversed(SCALINGS), looks, strict=True):
        for place, table in enumerate(reversed(tables)):
            folds, label = gains.loc[table, scaling], scaling if place == 0 else None
            at = np.full(len(folds), place + shift)
            ax.plot(folds, at, linestyle="none", markersize=4, alpha=0.35, **look)
            ax.plot([folds.mean()], at[:1], linestyle="none", markersize=8, label=label, **look)
    ax.axvline(0, color="#222222", linewidth=0.8)
    name_rows(ax, tables, "gain over the graphical lasso (nats per held-out row)")
    ax.set_ylim(-0.5, len(tables) - 0.5)
    legend_above(figure, ax)
    return {"images-gain": figure}


PART = Part(name="images", tasks=list_tasks, run=run_task, report=report, figures=draw)
