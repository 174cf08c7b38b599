"""Files that the commands promise to leave in their folder."""

#: Of `learn`.
FILES = (
    "report.html",
    "network.png",
    "matrix.png",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
#: Of `learn` besides, where edges were resampled.
INTERVALS = ("intervals.csv", "intervals.png")
#: Of `learn` besides, where columns sit in space; the second only on a grid.
SPACE_FILES = ("sites.png", "seeds.png")
#: All of them, in the order in which they are listed.
IN_SPACE = (*FILES[:3], *SPACE_FILES, *FILES[3:])
#: Of `compare`, for two groups with a permutation test.
CHANGE_FILES = (
    "report.html",
    "change.png",
    "matrix.png",
    "permutation.png",
    "changes.csv",
    "coefficients.csv",
    "columns.csv",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "coefficients.graphml",
    "model.edgewise",
    "run.json",
)
#: Of `compare`, for a sliding window.
WINDOW_FILES = (
    "report.html",
    "windows.png",
    "windows.csv",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
#: Of `direct`, with resamples.
DIRECT_FILES = (
    "report.html",
    "dag.png",
    "cpdag.png",
    "second.png",
    "coefficients.png",
    "confidence.png",
    "consensus.png",
    "intervals.png",
    "arcs.csv",
    "intervals.csv",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "cpdag.graphml",
    "second.graphml",
    "consensus.graphml",
    "model.edgewise",
    "run.json",
)
#: Of `classify`, for two classes.
CLASS_FILES = (
    "report.html",
    "accuracy.png",
    "networks.png",
    "changes.png",
    "accuracy.csv",
    "confusion.csv",
    "changes.csv",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "network-1.graphml",
    "network-2.graphml",
    "model.edgewise",
    "run.json",
)
#: Of `regress` on places, but for the networks of the leaves.
TREE_FILES = (
    "report.html",
    "tree.png",
    "partition.png",
    "map.png",
    "risk.png",
    "tree.txt",
    "leaves.csv",
    "splits.csv",
    "groups.csv",
    "edges.csv",
    "nodes.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
