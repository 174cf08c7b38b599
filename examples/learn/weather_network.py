"""
Which parts of the weather depend directly on each other?
=========================================================

The network of 16 daily measurements at 59 stations of the United States, which come with the
package, with the confidence of every edge.
"""

# %%
# A table without its seasons
# ---------------------------
# Summer makes everything warm and bright at once. The mean and two annual waves of each station are
# taken off first, so that what is left is weather and not the calendar. Radiation outside the
# atmosphere follows from date and place, so it is left out.
import numpy as np
import pandas as pd

from edgewise import BootstrapGraph, GaussianGraph
from edgewise.data import load_table
from edgewise.plot import plot_network, save_figure

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

table = load_table("tmy3-daily").frame.dropna()
angle = 2 * np.pi * table["doy"].to_numpy() / 365
waves = [wave(k * angle) for k in (1, 2) for wave in (np.cos, np.sin)]
basis = np.column_stack([np.ones(len(table)), *waves])
rest = table[list(NAMES)].to_numpy(dtype=float)
for rows in table.groupby("wmo").indices.values():
    rest[rows] -= basis[rows] @ np.linalg.lstsq(basis[rows], rest[rows])[0]

# The weather of neighbouring days is alike, and a method that counts rows counts it twice.
is_kept = table["doy"].to_numpy() % 7 == 0
X = pd.DataFrame(rest[is_kept], columns=list(NAMES.values()))

# %%
# The network and its certainty
# -----------------------------
# Wind, visibility and others are skewed: learn from ranks, which no monotone change of scale
# affects. The penalty is the least at which the graphs of subsamples still agree (StARS); then the
# fit is repeated on 50 resamples, and the confidence of an edge is the share of them that have it.
learner = GaussianGraph(alpha="stars", covariance="nonparanormal", random_state=0)
alpha = learner.fit(X).alpha_
model = BootstrapGraph(learner.set_params(alpha=alpha), n_resamples=50, random_state=0)
graph = model.fit(X).graph_

print(f"{graph.n_edges} edges, {graph.n_nodes} variables, {len(X)} rows, alpha {alpha:.2f}")
print(f"duality gap {model.estimator_.gap_:.0e}, converged: {model.estimator_.converged_}")
print(graph.edges().head(8).round(2).to_string(index=False))

# %%
# The picture
# -----------
# Blue is a positive partial correlation, orange a negative one, and wide is strong. Sunlight hangs
# on what comes directly and what comes from the sky; wind and aerosol are joined to nothing that
# the others do not explain. An edge says that two measurements still go together when all others
# are held fixed, not that one of them brings about the other.
figure = plot_network(graph).figure
save_figure(figure, "weather_network.png", dpi=110)
graph.write("weather_network.graphml")
figure
