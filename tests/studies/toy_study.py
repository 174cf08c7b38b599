"""A study small enough to watch: it counts its runs in a file, and waits where told to."""

import time
from pathlib import Path

from matplotlib.figure import Figure

from studies.study import Claim, Part, Report, Study


def list_draws(quick):
    return [{"size": size, "wait": 0.0} for size in range(1, 4 if quick else 9)]


def draw(rng, *, size, wait):
    time.sleep(wait)
    return [{"mean": float(rng.normal(size=size).mean()), "label": "ä"}]


def list_slow_draws(quick):
    return [{"size": size, "wait": 0.05} for size in range(1, 41)]


def record_and_draw(rng, *, file, size):
    """Leave a line behind for every run."""
    with Path(file).open("a") as log:
        log.write(f"{size}\n")
    return [{"mean": float(rng.normal(size=size).mean())}]


def two_rows(rng):
    return [{"kind": kind, "value": float(rng.random())} for kind in ("a", "b")]


def report(frame):
    claim = Claim("The mean is zero.", f"It is {frame['mean'].mean():.3f}.", "partly")
    return Report("## Draws\n\nNothing else.", (claim,))


def figures(frame):
    figure = Figure(figsize=(2, 2))
    figure.add_subplot().plot(frame["mean"])
    return {"means": figure}


def study(*parts, version=1):
    return Study(
        name="toy",
        title="A toy",
        reference="Nobody (2000), https://example.org",
        version=version,
        parts=parts,
    )


DRAWS = Part(name="draws", tasks=list_draws, run=draw, report=report, figures=figures)
PAIRS = Part(name="pairs", tasks=lambda quick: [{}], run=two_rows)
SLOW = Part(name="draws", tasks=list_slow_draws, run=draw, report=report, figures=figures)
STUDY = study(DRAWS, PAIRS)
SLOW_STUDY = study(SLOW)
