"""Learn a sparse change with pyanom, in whatever Python has it: prints one line of JSON.

Run as ``python pyanom_peer.py rows.npz strengths.json out.npz``. The first file holds ``second``
and ``first``, the rows of the numerator and of the denominator; the strengths are a list of
``lambda1`` and ``lambda2`` for the primal and for the dual class. Settings are pyanom's own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
from pyanom.structure_learning import (  # noqa: E402
    DirectLearningSparseChanges,
    DirectLearningSparseChangesDual,
)


def main(rows: str, strengths: str, out: str) -> None:
    data = np.load(rows)
    found, seconds = {}, []
    classes = (DirectLearningSparseChanges, DirectLearningSparseChangesDual)
    for learner, (ridge, alpha) in zip(classes, json.loads(strengths), strict=True):
        model = learner(ridge, alpha)
        start = time.process_time()
        model.fit(data["second"], data["first"])
        seconds.append(time.process_time() - start)
        found[learner.__name__] = model.get_sparse_changes()
    np.savez(out, **found)
    print(json.dumps({"version": version("pyanom"), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
