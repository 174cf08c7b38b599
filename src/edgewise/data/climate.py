"""Climate tables made ready to ask how weather hangs together from place to place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.datasets import load_table
from edgewise.io.messages import quote_names

if TYPE_CHECKING:
    import pandas as pd

#: Days in the years of the table of stations.
DAYS_A_YEAR: Final = 365
#: Annual waves taken out of each station: one and two a year.
N_HARMONICS: Final = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Climate:
    """Climate variables with the places and times they were measured at.

    Attributes
    ----------
    name : str
        Name of the table.
    covariates : pandas.DataFrame
        Where and when: ``lat``, ``lon``, ``elev_m`` and the time.
    responses : pandas.DataFrame
        The variables, as many rows.
    site : ndarray of int, shape (n,)
        Number of the station or grid point, from 0.
    is_validation : ndarray of bool, shape (n,)
        Rows to hold out: odd weeks of the year, or odd years. Neighbouring days are alike, so that
        days set aside at random would not test anything.
    treatment : tuple of str
        What was done to the table.
    origin, licence : str
        Where the table comes from, and under which terms it may be passed on.

    Examples
    --------
    >>> climate = load_climate()
    >>> climate.responses.shape, len(set(climate.site.tolist()))
    ((21534, 16), 59)
    """

    name: str
    covariates: pd.DataFrame
    responses: pd.DataFrame
    site: IntArray
    is_validation: BoolArray
    treatment: tuple[str, ...]
    origin: str
    licence: str


class _Recipe(NamedTuple):
    """How anomalies of a table are made."""

    #: Responses that mean nothing once the season is gone.
    left_out: tuple[str, ...]
    #: Right-skewed responses.
    logs: tuple[str, ...]


_RECIPES: Final = {
    "tmy3-daily": _Recipe(left_out=("ETR", "ETRN"), logs=("WND", "VIS", "PWAT", "AOD")),
    "nasa-atmos": _Recipe(left_out=("pressure",), logs=()),
}


def load_climate(
    name: str = "tmy3-daily", *, anomalies: bool = True, unit_variance: bool = True
) -> Climate:
    r"""Load a climate table, by default as deviations from the season of each place.

    For daily weather at 59 stations of the United States, wind speed, visibility, precipitable
    water and aerosol depth are taken as logarithms, and from each variable at each station the
    seasonal curve

    .. math:: c_0 + \sum_{k=1}^{2} a_k \cos(2 \pi k t / 365) + b_k \sin(2 \pi k t / 365)

    on day t is taken off by least squares. For the monthly grid, it is the mean of each calendar
    month at each grid point.

    Parameters
    ----------
    name : {"tmy3-daily", "nasa-atmos"}
        Daily weather at stations of the United States, or months over Central America.
    anomalies : bool
        Whether to take the season off. Without, the table is as it came, less the rows with
        missing values.
    unit_variance : bool
        Whether anomalies are divided by their standard deviation at each place, so that places
        differ in how variables hang together and not in how much they vary.

    Returns
    -------
    Climate

    See Also
    --------
    load_table : The tables as they are.

    Notes
    -----
    Extraterrestrial radiation (``ETR`` and ``ETRN``) is nothing but season and left out of the
    anomalies; so is ``pressure`` of the grid, which is cut off at 1000 over the ocean.

    References
    ----------
    S. Wilcox and W. Marion (2008), Users Manual for TMY3 Data Sets, NREL/TP-581-43156.

    Examples
    --------
    >>> climate = load_climate("nasa-atmos")
    >>> list(climate.responses)
    ['surftemp', 'temp', 'ozone', 'cloudlow', 'cloudmid', 'cloudhigh']
    >>> climate.treatment[0]
    '110 rows with missing values dropped'
    """
    if name not in _RECIPES:
        raise InputError(f"There is no climate table '{name}'; take {quote_names(list(_RECIPES))}.")
    table = load_table(name)
    frame = table.frame.dropna().reset_index(drop=True)
    treatment = [f"{len(table.frame) - len(frame)} rows with missing values dropped"]
    covariates = frame[list(table.covariates)]
    responses = frame[list(table.responses)]
    place = covariates[["lat", "lon"]].to_numpy()
    site: IntArray = np.unique(place, axis=0, return_inverse=True)[1].reshape(-1)
    if anomalies:
        recipe = _RECIPES[name]
        responses = responses.drop(columns=list(recipe.left_out)).astype(np.float64)
        responses[list(recipe.logs)] = np.log(responses[list(recipe.logs)])
        values = responses.to_numpy() - _season(responses.to_numpy(), site, covariates)
        treatment.append(f"left out: {quote_names(recipe.left_out)}")
        if recipe.logs:
            treatment.append(f"logarithms of {quote_names(recipe.logs)}")
        treatment.append("season of each place taken off")
        if unit_variance:
            values /= _deviation(values, site)
            treatment.append("divided by the standard deviation at each place")
        responses = responses.assign(**dict(zip(responses.columns, values.T, strict=True)))
    return Climate(
        name=name,
        covariates=covariates,
        responses=responses,
        site=site,
        is_validation=_held_out(covariates),
        treatment=tuple(treatment),
        origin=table.origin,
        licence=table.licence,
    )


def _season(values: FloatArray, site: IntArray, covariates: pd.DataFrame) -> FloatArray:
    """Fit the season of each place: waves over the days, or a mean per calendar month."""
    if "doy" in covariates:
        day = covariates["doy"].to_numpy()[:, None] * np.arange(1, N_HARMONICS + 1)
        angle = 2.0 * np.pi * day / DAYS_A_YEAR
        design = np.hstack([np.ones((len(day), 1)), np.cos(angle), np.sin(angle)])
    else:
        design = np.eye(12)[covariates["month"].to_numpy() - 1]
    season = np.empty_like(values)
    for number in range(int(site.max()) + 1):
        rows = site == number
        coef = np.linalg.lstsq(design[rows], values[rows], rcond=None)[0]
        season[rows] = design[rows] @ coef
    return season


def _deviation(values: FloatArray, site: IntArray) -> FloatArray:
    """Give the standard deviation at its place to every row; the mean there is 0."""
    count = np.bincount(site)
    variance = np.stack([np.bincount(site, column**2) / count for column in values.T], axis=1)
    deviation: FloatArray = np.sqrt(variance)[site]
    return deviation


def _held_out(covariates: pd.DataFrame) -> BoolArray:
    if "doy" in covariates:
        period = (covariates["doy"].to_numpy() - 1) // 7 + 1
    else:
        period = covariates["year"].to_numpy()
    is_odd: BoolArray = period % 2 == 1
    return is_odd
