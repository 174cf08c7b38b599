"""``edgewise demo``: questions asked of real data that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgewise.cli._shell import is_watched, say, tell, warnings_told

if TYPE_CHECKING:
    import pandas as pd

    from edgewise._core.typing import FloatArray

WEATHER: Final = {
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
#: Far from symmetric, so that a Gaussian suits their logarithm better.
SKEWED: Final = ["WND", "VIS", "PWAT", "AOD"]
DAYS_APART: Final = 7


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question of the demo: what is asked, and the function that answers it into a folder."""

    text: str
    answer: Callable[[Path], str]


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.", metavar="DIR")] = Path(
        "edgewise-demo"
    ),
) -> None:
    """Answer questions about real data that come with the package; needs no network."""
    from edgewise.cli._folder import results_folder
    from edgewise.cli._summary import where_to_look

    answers = []
    with results_folder(out) as folder:
        for question in QUESTIONS:
            tell(f"{question.text} Compiling and learning; the first run takes longest ...")
            answers.append(f"{question.text}\n\n{question.answer(folder)}\n")
    say("\n".join(answers))
    say(where_to_look(out))
    say(f"Look at {out / 'network.png'} first, or open {out / 'report.html'} in a browser.")


def ask_weather(folder: Path) -> str:
    """Find which parts of the weather depend directly on each other."""
    from edgewise.cli._folder import write_results
    from edgewise.cli._learning import Settings, learn_graph, record_of
    from edgewise.cli._summary import summary

    frame, data = weather_anomalies()
    # The rows are not independent enough for a criterion that counts them, such as the BIC.
    settings = Settings(alpha="stars", covariance="correlation")
    with warnings_told() as told:
        learned = learn_graph(frame, settings, verbose=is_watched())
    notes = [
        "logarithm of wind, visibility, water in air and aerosol",
        "mean and two annual harmonics of each station taken off",
        f"one day in {DAYS_APART}, because the weather of neighbouring days is alike",
    ]
    record = record_of(learned, settings, command="demo", data=data, treatment=notes, warnings=told)
    write_results(folder, learned, record)
    return summary(learned, settings, "the weather at 59 US stations, without the season", data)


def weather_anomalies() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Daily weather without the season, and which table it is."""
    import hashlib

    import numpy as np
    import pandas as pd

    from edgewise.data import load_table

    table = load_table("tmy3-daily").frame
    fingerprint = hashlib.sha256(table.to_numpy(dtype=np.float64).tobytes())
    table = table.dropna()
    values = table[list(WEATHER)].assign(**{name: np.log(table[name]) for name in SKEWED})
    angle = 2 * np.pi * table["doy"].to_numpy() / 365
    anomalies = values.to_numpy(copy=True)
    for rows in table.groupby("wmo").indices.values():
        anomalies[rows] -= _season(angle[rows], anomalies[rows])
    is_kept = table["doy"].to_numpy() % DAYS_APART == 0
    frame = pd.DataFrame(anomalies[is_kept], columns=list(WEATHER.values()))
    return frame, {
        "bundled": "tmy3-daily",
        "sha256": fingerprint.hexdigest(),
        "n_samples": len(frame),
        "n_features": len(frame.columns),
        "names": list(frame.columns),
    }


def _season(angle: FloatArray, values: FloatArray) -> FloatArray:
    """Least-squares fit of a mean and two annual harmonics."""
    import numpy as np

    waves = [wave(k * angle) for k in (1, 2) for wave in (np.cos, np.sin)]
    basis = np.column_stack([np.ones_like(angle), *waves])
    season: FloatArray = basis @ np.linalg.lstsq(basis, values)[0]
    return season


QUESTIONS: Final = (
    Question(text="Which parts of the weather depend directly on each other?", answer=ask_weather),
)
