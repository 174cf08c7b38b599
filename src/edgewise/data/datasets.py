"""Real networks and tables that come with the package, each with its origin and licence."""

from __future__ import annotations

import csv
import difflib
import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import quote_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """The structure of a real network.

    Attributes
    ----------
    name : str
        Name under which it is loaded.
    names : tuple of str
        Nodes, isolated ones included.
    adjacency : ndarray of bool, shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i - j, or the arc i -> j if ``directed``.
    directed : bool
        Whether it is a directed acyclic graph.
    description, origin, licence : str
        What it is, where it was read, and under which terms it may be passed on.

    Examples
    --------
    >>> load_network("karate").adjacency.shape
    (34, 34)
    """

    name: str
    names: tuple[str, ...]
    adjacency: BoolArray
    directed: bool
    description: str
    origin: str
    licence: str

    @property
    def n_edges(self) -> int:
        """Number of edges or arcs."""
        return int(self.adjacency.sum()) // (1 if self.directed else 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """A real table.

    Attributes
    ----------
    name : str
        Name under which it is loaded.
    frame : pandas.DataFrame
        The table.
    covariates, responses : tuple of str
        Suggested roles of the columns: those that describe a row, and those measured on it.
    description, origin, licence : str
        What it is, where it comes from, and under which terms it may be passed on.

    Examples
    --------
    >>> load_table("nasa-atmos").responses
    ('surftemp', 'temp', 'pressure', 'ozone', 'cloudlow', 'cloudmid', 'cloudhigh')
    """

    name: str
    frame: pd.DataFrame
    covariates: tuple[str, ...]
    responses: tuple[str, ...]
    description: str
    origin: str
    licence: str


@dataclass(frozen=True, kw_only=True, eq=False)
class SenateVotes:
    """Roll-call votes of the 109th United States Senate.

    Attributes
    ----------
    votes : pandas.DataFrame
        One row per vote in the order of time, one column per senator; 1 is yea, -1 is nay. The
        source has filled the votes of absent senators, and does not say how.
    dates : ndarray of datetime64[D], shape (428,)
        Day of each vote.
    years : ndarray of int, shape (428,)
        Year of each vote: 251 of 2005, 177 of 2006.
    origin, licence : str
        Where the votes come from, and under which terms they may be passed on.

    Examples
    --------
    >>> load_senate().votes.shape
    (428, 100)
    """

    votes: pd.DataFrame
    dates: NDArray[np.datetime64]
    years: IntArray
    origin: str
    licence: str


class _TableEntry(NamedTuple):
    folder: str
    file: str
    licence_file: str
    covariates: tuple[str, ...]
    #: Columns that are neither covariates nor responses.
    labels: tuple[str, ...]
    description: str
    origin: str


_UNDIRECTED: Final = {
    "karate": (34, "Friendships in Zachary's karate club"),
    "dolphins": (62, "Associations among Lusseau's bottlenose dolphins of Doubtful Sound"),
    "curtis54": (54, "Pattern of the Harwell-Boeing matrix curtis54, made symmetric"),
    "will57": (57, "Pattern of the Harwell-Boeing matrix will57, made symmetric"),
}
_DIRECTED: Final = {
    "alarm": "Monitoring of patients in intensive care",
    "andes": "Model of a student in an intelligent tutoring system",
    "asia": "Lung cancer or tuberculosis, a textbook example",
    "barley": "Growing barley without pesticides",
    "carpo": "Diagnosis of carpal tunnel syndrome",
    "chain": "Seven nodes in a row",
    "child": "Congenital heart disease in newborn babies",
    "factors": "Numbers 1 to 27, an arc from each to its multiples",
    "hailfinder": "Forecast of severe summer hail in northeastern Colorado",
    "hepar2": "Diagnosis of liver disorders",
    "insurance": "Risks in car insurance",
    "mildew": "Fungicides against mildew in winter wheat",
    "sachs": "Protein signalling in human immune cells",
    "water": "Biological treatment of waste water",
    "win95pts": "Troubleshooting of printers",
}
#: What `load_dag` can load.
DAG_NAMES: Final[tuple[str, ...]] = tuple(_DIRECTED)
_TABLES: Final = {
    "tmy3-daily": _TableEntry(
        folder="climate",
        file="tmy3_daily.csv.gz",
        licence_file="LICENSE-tmy3.txt",
        covariates=("lat", "lon", "elev_m", "doy", "month"),
        labels=("wmo", "year"),
        description="Daily weather, a typical year at 59 stations of the United States",
        origin="NREL Typical Meteorological Year 3, from hourly files in IMMM-SFA/diyepw",
    ),
    "tmy3-stations": _TableEntry(
        folder="climate",
        file="tmy3_stations.csv",
        licence_file="LICENSE-tmy3.txt",
        covariates=("lat", "lon", "elev_m"),
        labels=("wmo", "name", "state"),
        description="The 59 weather stations of tmy3-daily",
        origin="NREL Typical Meteorological Year 3, from hourly files in IMMM-SFA/diyepw",
    ),
    "nasa-atmos": _TableEntry(
        folder="climate",
        file="nasa_atmos.csv.gz",
        licence_file="LICENSE-nasaweather.txt",
        covariates=("lat", "lon", "elev_m", "year", "month"),
        labels=(),
        description="Monthly atmosphere over Central America on a 24 x 24 grid, 1995 to 2000",
        origin="ASA 2006 Data Expo, data of NASA, through the R package nasaweather",
    ),
    "senate-votes": _TableEntry(
        folder="senate",
        file="votes_2005_2006.csv",
        licence_file="LICENSE-senate.txt",
        covariates=("date",),
        labels=(),
        description="Roll-call votes (0 or 1) of the 100 senators of the 109th US Senate",
        origin="Repository mlakolar/KLIEPInference.jl, folder exper/realdata2",
    ),
}


def list_datasets() -> dict[str, str]:
    """Name everything that can be loaded.

    Returns
    -------
    dict of str to str
        Name to description: first networks, for `load_network`, then tables, for `load_table`.

    Examples
    --------
    >>> list_datasets()["asia"]
    'Lung cancer or tuberculosis, a textbook example'
    """
    return {
        **{name: text for name, (_, text) in _UNDIRECTED.items()},
        **_DIRECTED,
        **{name: entry.description for name, entry in _TABLES.items()},
    }


def load_network(name: str) -> Network:
    """Load the structure of a real network.

    Parameters
    ----------
    name : str
        ``karate``, ``dolphins``, ``curtis54`` or ``will57`` (undirected); ``alarm``, ``andes``,
        ``asia``, ``barley``, ``carpo``, ``chain``, ``child``, ``factors``, ``hailfinder``,
        ``hepar2``, ``insurance``, ``mildew``, ``sachs``, ``water`` or ``win95pts`` (directed).

    Returns
    -------
    Network

    Notes
    -----
    The nodes of some directed networks (``factors``, ``chain``) stand in topological order:
    permute them before a comparison, or a method that breaks ties by position is told the answer.

    Examples
    --------
    >>> asia = load_network("asia")
    >>> asia.names[:3], asia.n_edges, asia.directed
    (('asia', 'tub', 'smoke'), 8, True)
    """
    if name in _UNDIRECTED:
        folder, (n_nodes, description) = _folder("networks"), _UNDIRECTED[name]
        names = tuple(str(node) for node in range(n_nodes))
    elif name in _DIRECTED:
        folder, description = _folder("dags"), _DIRECTED[name]
        names = tuple((folder / f"{name}.nodes.txt").read_text("utf-8").split())
    else:
        raise _unknown(name, [*_UNDIRECTED, *_DIRECTED], "network")
    adjacency = np.zeros((len(names), len(names)), dtype=bool)
    position = {node: k for k, node in enumerate(names)}
    rows = csv.reader((folder / f"{name}.csv").read_text("utf-8").splitlines()[1:])
    for source, target in rows:
        adjacency[position[source], position[target]] = True
    directed = name in _DIRECTED
    return Network(
        name=name,
        names=names,
        adjacency=adjacency if directed else adjacency | adjacency.T,
        directed=directed,
        description=description,
        origin=_origin(folder, name),
        licence=(folder / f"LICENSE-{folder.name}.txt").read_text("utf-8"),
    )


def load_dag(name: str) -> Network:
    """Load the structure of a directed acyclic network.

    Parameters
    ----------
    name : str
        One of ``DAG_NAMES``: ``alarm``, ``andes``, ``asia``, ``barley``, ``carpo``, ``chain``,
        ``child``, ``factors``, ``hailfinder``, ``hepar2``, ``insurance``, ``mildew``, ``sachs``,
        ``water`` or ``win95pts``.

    Returns
    -------
    Network
        As `load_network` returns it.

    Examples
    --------
    >>> alarm = load_dag("alarm")
    >>> len(alarm.names), alarm.n_edges
    (37, 46)
    """
    if name in _UNDIRECTED:
        raise InputError("dataset_undirected", name=name)
    return load_network(name)


def load_table(name: str) -> Dataset:
    """Load a real table.

    Parameters
    ----------
    name : {"tmy3-daily", "tmy3-stations", "nasa-atmos", "senate-votes"}
        Which one; the README beside the files tells how each was made.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> votes = load_table("senate-votes")
    >>> votes.frame.shape, len(votes.responses)
    ((428, 101), 100)
    """
    if name not in _TABLES:
        raise _unknown(name, list(_TABLES), "table")
    import pandas as pd

    entry = _TABLES[name]
    folder = _folder(entry.folder)
    with (folder / entry.file).open("rb") as handle:
        frame = pd.read_csv(handle, compression="gzip" if entry.file.endswith(".gz") else None)
    roles = {*entry.covariates, *entry.labels}
    return Dataset(
        name=name,
        frame=frame,
        covariates=entry.covariates,
        responses=tuple(column for column in frame.columns if column not in roles),
        description=entry.description,
        origin=entry.origin,
        licence=(folder / entry.licence_file).read_text("utf-8"),
    )


def load_senate() -> SenateVotes:
    """Load the votes of the 109th United States Senate, to compare 2005 with 2006.

    The table is `load_table` ``("senate-votes")``, with votes coded as 1 and -1.

    Returns
    -------
    SenateVotes

    Examples
    --------
    >>> senate = load_senate()
    >>> senate.votes[["Obama", "Mccain"]].head(2).to_numpy().tolist()
    [[-1, -1], [-1, 1]]
    >>> str(senate.dates[0]), int(senate.years[-1])
    ('2005-01-06', 2006)
    """
    table = load_table("senate-votes")
    dates = table.frame["date"].to_numpy().astype("datetime64[D]")
    return SenateVotes(
        votes=2 * table.frame[list(table.responses)] - 1,
        dates=dates,
        years=dates.astype("datetime64[Y]").astype(np.int64) + 1970,
        origin=table.origin,
        licence=table.licence,
    )


def _folder(name: str) -> Traversable:
    return resources.files("edgewise.data") / "bundled" / name


def _origin(folder: Traversable, name: str) -> str:
    """Take what the README of the folder says of a network, in a list item or a table row."""
    readme = (folder / "README.md").read_text("utf-8")
    if item := re.search(rf"^- `{name}\.csv` - .*?Origin: (.*)$", readme, flags=re.MULTILINE):
        return item.group(1)
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if name in cells[0].split(", "):
            return cells[-1]
    raise InputError("readme_without_dataset", name=folder.name, name2=name)


def _unknown(name: str, known: list[str], what: str) -> InputError:
    others = set(list_datasets()) - set(known)
    if name in others:
        use = "load_table" if what == "network" else "load_network"
        return InputError("dataset_of_other_loader", name=name, what=what, use=use)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known
    return InputError("unknown_dataset", what=what, name=name, listed=", ".join(near))


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
        raise InputError("unknown_climate_table", name=name, recipes=list(_RECIPES))
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
