"""Learn a Bayesian network with pgmpy, in whatever Python has it: prints one line of JSON.

Run as ``python pgmpy_peer.py data.npy``; the file holds level numbers, rows by variables.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import pgmpy  # noqa: E402
from pgmpy.causal_discovery import HillClimbSearch  # noqa: E402


def main(path: str) -> None:
    X = np.load(path)
    frame = pd.DataFrame(X, columns=[str(k) for k in range(X.shape[1])]).astype("category")
    search = HillClimbSearch(scoring_method="bic-d", return_type="dag", show_progress=False)
    start = time.process_time()
    search.fit(frame)
    seconds = time.process_time() - start
    arcs = [[int(a), int(b)] for a, b in search.causal_graph_.edges()]
    print(json.dumps({"version": pgmpy.__version__, "seconds": seconds, "arcs": arcs}))


if __name__ == "__main__":
    main(sys.argv[1])
