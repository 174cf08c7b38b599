import subprocess
import sys
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import edgewise
from edgewise import InputError
from edgewise.data import list_datasets, load_network, load_senate, load_table
from tests.messages import raises

BUNDLED = Path(edgewise.__file__).parent / "data" / "bundled"

# Nodes, edges, irregularity, as the README of the folder states them.
UNDIRECTED = {
    "karate": (34, 78, 608),
    "dolphins": (62, 159, 498),
    "curtis54": (54, 124, 360),
    "will57": (57, 127, 356),
}
DIRECTED = {
    "factors": (27, 68),
    "alarm": (37, 46),
    "barley": (48, 84),
    "carpo": (61, 74),
    "chain": (7, 6),
    "hailfinder": (56, 66),
    "insurance": (27, 52),
    "mildew": (35, 46),
    "water": (32, 66),
    "asia": (8, 8),
    "child": (20, 25),
    "sachs": (11, 17),
    "hepar2": (70, 123),
    "win95pts": (76, 112),
    "andes": (223, 338),
}
TABLES = ("tmy3-daily", "tmy3-stations", "nasa-atmos", "senate-votes")


@pytest.mark.parametrize("name", UNDIRECTED)
def test_undirected_networks(name):
    network = load_network(name)
    n_nodes, n_edges, irregularity = UNDIRECTED[name]
    adjacency = network.adjacency
    assert not network.directed
    assert len(network.names) == n_nodes == len(adjacency)
    assert network.n_edges == n_edges
    assert (adjacency == adjacency.T).all()
    assert not adjacency.diagonal().any()
    degree = adjacency.sum(axis=0)
    rows, columns = np.nonzero(np.triu(adjacency))
    assert np.abs(degree[rows] - degree[columns]).sum() == irregularity
    assert "README" in network.licence


def test_karate_is_the_one_of_networkx():
    expected = nx.to_numpy_array(nx.karate_club_graph(), weight=None) > 0
    np.testing.assert_array_equal(load_network("karate").adjacency, expected)


@pytest.mark.parametrize("name", DIRECTED)
def test_directed_networks(name):
    network = load_network(name)
    assert network.directed
    assert (len(network.names), network.n_edges) == DIRECTED[name]
    assert len(set(network.names)) == len(network.names)
    assert nx.is_directed_acyclic_graph(
        nx.from_numpy_array(network.adjacency, create_using=nx.DiGraph)
    )
    assert "pgmpy" in network.licence


def test_arcs_point_from_parent_to_child():
    asia = load_network("asia")
    place = {node: k for k, node in enumerate(asia.names)}
    assert asia.adjacency[place["smoke"], place["lung"]]
    assert not asia.adjacency[place["lung"], place["smoke"]]


def test_isolated_nodes_stay():
    carpo = load_network("carpo")
    alone = [
        node
        for node, row, column in zip(carpo.names, carpo.adjacency, carpo.adjacency.T, strict=True)
        if not row.any() and not column.any()
    ]
    assert alone == ["N117"]


def test_origins_come_from_the_readme():
    assert "karate_club_graph" in load_network("karate").origin
    assert "getDAGfactors" in load_network("factors").origin
    assert load_network("sachs").origin == "pgmpy 1.0.0"


def test_tmy3():
    daily, stations = load_table("tmy3-daily"), load_table("tmy3-stations")
    assert daily.frame.shape == (21_535, 25)
    assert daily.frame.groupby("wmo").size().tolist() == [365] * 59
    assert len(daily.responses) == 18
    assert daily.frame[list(daily.responses)].isna().sum().sum() == 1
    assert daily.frame["VIS"].isna().sum() == 1
    assert set(daily.frame["wmo"]) == set(stations.frame["wmo"])
    assert len(stations.frame) == 59
    assert "NREL" in daily.licence


def test_nasa():
    atmos = load_table("nasa-atmos")
    assert len(atmos.frame) == 41_472 == 24 * 24 * 72
    assert len(atmos.responses) == 7
    assert atmos.frame[["year", "month"]].drop_duplicates().shape[0] == 72
    assert atmos.frame["cloudlow"].isna().sum() == 110
    assert atmos.frame.isna().sum().sum() == 110
    assert "nasaweather" in atmos.licence


def test_senate():
    votes = load_table("senate-votes")
    assert votes.frame.shape == (428, 101)
    assert len(votes.responses) == 100
    assert set(np.unique(votes.frame[list(votes.responses)])) == {0, 1}
    year = votes.frame["date"].str[:4].value_counts()
    assert (year["2005"], year["2006"]) == (251, 177)
    assert {"Nelson (FL)", "Nelson (NE)"} <= set(votes.responses)
    assert "MIT" in votes.licence


def test_senate_to_compare_two_years():
    table, senate = load_table("senate-votes"), load_senate()
    assert senate.votes.shape == (428, 100)
    assert tuple(senate.votes.columns) == table.responses
    assert set(np.unique(senate.votes)) == {-1, 1}
    np.testing.assert_array_equal(senate.votes > 0, table.frame[list(table.responses)] == 1)
    assert senate.dates.dtype == np.dtype("datetime64[D]")
    assert senate.dates.astype(str).tolist() == table.frame["date"].tolist()
    assert (np.diff(senate.dates) >= np.timedelta64(0)).all()
    assert dict(zip(*np.unique(senate.years, return_counts=True), strict=True)) == {
        2005: 251,
        2006: 177,
    }
    assert [str(date)[:4] for date in senate.dates] == senate.years.astype(str).tolist()
    # Boxer alone upheld the objection to the electors of Ohio.
    first = senate.votes.iloc[0]
    assert first.index[first == 1].tolist() == ["Boxer"]
    assert "MIT" in senate.licence
    assert "KLIEPInference" in senate.origin


@pytest.mark.parametrize("name", TABLES)
def test_roles_name_columns(name):
    data = load_table(name)
    assert set(data.covariates) <= set(data.frame.columns)
    assert not set(data.covariates) & set(data.responses)
    assert data.description
    assert data.origin


def test_list_names_everything():
    assert set(list_datasets()) == {*UNDIRECTED, *DIRECTED, *TABLES}
    in_files = {path.name.split(".")[0] for path in BUNDLED.glob("[dn]*/*.csv")}
    assert in_files == {*UNDIRECTED, *DIRECTED}


def test_unknown_names():
    with raises(InputError, code="unknown_dataset", name="alram", listed="alarm, karate, asia"):
        load_network("alram")
    with raises(
        InputError, code="unknown_dataset", name="nasa_atmos", listed="nasa-atmos, senate-votes"
    ):
        load_table("nasa_atmos")
    with raises(InputError, code="dataset_of_other_loader", name="karate", use="load_network"):
        load_table("karate")
    with raises(InputError, code="dataset_of_other_loader", name="senate-votes", use="load_table"):
        load_network("senate-votes")
    with raises(InputError, code="unknown_dataset", name="zzzzz"):
        load_network("zzzzz")


def test_every_folder_has_its_readme_and_licence():
    for folder in BUNDLED.iterdir():
        assert (folder / "README.md").is_file()
        assert list(folder.glob("LICENSE*"))
    assert sum(path.stat().st_size for path in BUNDLED.rglob("*")) < 3_000_000


def test_data_load_from_inside_a_zip(tmp_path):
    """The files are found as resources, not as paths beside the source."""
    package = Path(edgewise.__file__).parent
    archive = tmp_path / "edgewise.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in [
            *package.glob("__init__.py*"),
            package / "_version.py",
            *package.glob("_core/*.py"),
            *package.glob("io/*.py"),
            *(p for p in package.glob("data/**/*") if p.is_file() and p.suffix != ".pyc"),
        ]:
            zipped.write(path, path.relative_to(package.parent))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from edgewise.data import datasets\n"
        "assert '.zip' in datasets.__file__\n"
        "sys.exit(datasets.load_network('asia').n_edges + len(datasets.load_table("
        "'tmy3-stations').frame) + len(datasets.load_table('nasa-atmos').frame) // 41472)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(archive)], check=False)
    assert done.returncode == 8 + 59 + 1
