"""Weather: which of its parts depend directly on each other.

Learns the network of 16 daily measurements at 59 stations of the United States, bundled with the
package, and draws it. Usage: ``python examples/weather_network.py [FOLDER]``
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from edgewise import BootstrapGraph, GaussianGraph
from edgewise.data import load_table
from edgewise.plot import plot_network, save_figure

#: Radiation outside the atmosphere follows from date and place, so it is left out.
NAMES = {
    "TMP": "temperature",
    "TMN": "coldest hour",
    "TMX": "warmest hour",
    "DEW": "dew point",
    "RH": "humidity",
    "PRS": "pressure",
    "IR": "infrared sky",
    "GLO": "sunlight",
    "DIR": "direct sun",
    "DIF": "diffuse light",
    "WND": "wind",
    "CLD": "cloud",
    "OPQ": "opaque cloud",
    "VIS": "visibility",
    "PWAT": "water in air",
    "AOD": "aerosol",
}


def without_season(table: pd.DataFrame) -> pd.DataFrame:
    """Take the mean and two annual waves of each station off; keep one day in seven."""
    angle = 2 * np.pi * table["doy"].to_numpy() / 365
    waves = [wave(k * angle) for k in (1, 2) for wave in (np.cos, np.sin)]
    basis = np.column_stack([np.ones(len(table)), *waves])
    rest = table[list(NAMES)].to_numpy(dtype=float)
    for rows in table.groupby("wmo").indices.values():
        rest[rows] -= basis[rows] @ np.linalg.lstsq(basis[rows], rest[rows])[0]
    # The weather of neighbouring days is alike, and a method that counts rows counts it twice.
    is_kept = table["doy"].to_numpy() % 7 == 0
    return pd.DataFrame(rest[is_kept], columns=list(NAMES.values()))


def main(folder: Path) -> None:
    X = without_season(load_table("tmy3-daily").frame.dropna())
    # Wind, visibility and others are skewed: learn from ranks, which no monotone change of scale
    # affects.
    learner = GaussianGraph(alpha="stars", covariance="nonparanormal", random_state=0)
    alpha = learner.fit(X).alpha_
    model = BootstrapGraph(learner.set_params(alpha=alpha), n_resamples=50, random_state=0)
    graph = model.fit(X).graph_

    print(f"{graph.n_edges} edges, {graph.n_nodes} variables, {len(X)} rows, alpha {alpha:.2f}")
    print(f"duality gap {model.estimator_.gap_:.0e}, converged: {model.estimator_.converged_}")
    print(graph.edges().head(8).round(2).to_string(index=False))

    graph.write(folder / "weather_network.graphml")
    save_figure(plot_network(graph).figure, folder / "weather_network.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
