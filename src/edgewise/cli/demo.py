"""``edgewise demo``: questions asked of real data that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgewise.cli.classify.fit import ClassSettings, class_record, classify_rows
from edgewise.cli.compare.groups import ChangeSettings, change_record, compare_groups
from edgewise.cli.confidence import Confidence
from edgewise.cli.direct.fit import DirectSettings, direct_columns, direct_record
from edgewise.cli.labels import TWO_VALUES, Groups
from edgewise.cli.learn.fit import (
    DISCRETE,
    IN_SPACE,
    Settings,
    learn_graph,
    record_of,
    write_learned,
)
from edgewise.cli.options import Json, Quiet
from edgewise.cli.regress.fit import TreeSettings, regress_rows, tree_record
from edgewise.cli.run import (
    ALL_FILES,
    CHANGE_FILES,
    CLASS_FILES,
    DIRECT_FILES,
    FILES,
    SPACE_FILES,
    TREE_FILES,
    files_in,
    results_folder,
)
from edgewise.cli.shell import is_watched, say, say_json, tell, warnings_told

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.report import Report


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
DAYS_APART: Final = 7
DIGIT: Final = 3
SIDE: Final = 8


def weather_anomalies() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Daily weather without the season, and which table it is."""
    from edgewise.data import load_climate

    climate = load_climate(unit_variance=False)
    is_kept = climate.covariates["doy"].to_numpy() % DAYS_APART == 0
    frame = climate.responses[list(WEATHER)][is_kept].reset_index(drop=True).rename(columns=WEATHER)
    return frame, fingerprint(frame, climate.name, table_digest(climate.name))


def digit_images() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Shades of the pixels of one digit, one image per row, and which table it is.

    The shades are counts from 0 to 16. Even noise on [0, 1) turns them into measurements, without
    which a Gaussian would see more certainty in them than there is.
    """
    import hashlib

    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    shades = images[digit == DIGIT]
    noise = np.random.default_rng(0).uniform(size=shades.shape)
    noise[:, np.ptp(shades, axis=0) == 0] = 0.0
    names = [f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)]
    frame = pd.DataFrame(shades + noise, columns=names)
    name = "digits of scikit-learn"
    return frame, fingerprint(frame, name, hashlib.sha256(images.tobytes()).hexdigest())


def senate_votes() -> tuple[pd.DataFrame, Groups, dict[str, Any]]:
    """Votes of the senators, with the year of each vote, and which table it is."""
    import hashlib

    import numpy as np
    import pandas as pd

    from edgewise.data import load_senate

    senate = load_senate()
    y = pd.Series(pd.Categorical(senate.years), name="year")
    first, second = (str(year) for year in y.cat.categories)
    before, after = np.bincount(y.cat.codes).tolist()
    groups = Groups(y=y, names=(first, second), counts=(before, after))
    digest = hashlib.sha256(senate.votes.to_numpy(dtype=np.float64).tobytes()).hexdigest()
    return senate.votes, groups, fingerprint(senate.votes, "senate-votes", digest)


def tumour_nuclei() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Means over the cell nuclei of each tumour, in logarithms, and which table it is."""
    import hashlib

    import numpy as np
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True).data
    means = table[[name for name in table.columns if name.startswith("mean ")]]
    # Some tumours have no concave nucleus at all.
    frame = np.log(means + 1e-3).rename(columns=lambda name: name.removeprefix("mean "))
    digest = hashlib.sha256(table.to_numpy(dtype=np.float64).tobytes()).hexdigest()
    return frame, fingerprint(frame, "breast cancer of scikit-learn", digest)


def fingerprint(frame: pd.DataFrame, name: str, digest: str) -> dict[str, Any]:
    """Describe a bundled table for ``run.json``."""
    return {
        "bundled": name,
        "sha256": digest,
        "n_samples": len(frame),
        "n_features": len(frame.columns),
        "names": list(frame.columns),
    }


def table_digest(name: str) -> str:
    """Digest of the values of a bundled table."""
    import hashlib

    import numpy as np

    from edgewise.data import load_table

    table = load_table(name).frame
    return hashlib.sha256(table.to_numpy(dtype=np.float64).tobytes()).hexdigest()


#: Chosen by held-out likelihood out of 8 x 7, as `edgewise learn --grid 8x8` does in half a minute.
DIGIT_ALPHA, DIGIT_TAU = 0.0047, 0.007
#: Chosen by held-out rows out of 30, as `edgewise compare --by year` does.
VOTES_ALPHA, VOTES_SHUFFLES = 0.27, 40
#: Log-likelihood that a split of the country must gain, in nats.
CLIMATE_GAIN: Final = 300.0
#: Resamples of the rows of tumours.
NUCLEI_RESAMPLES: Final = 40
NUCLEI_NOTES: Final = (
    "logarithm of all measurements, which are skewed",
    "means of each tumour only",
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question of the demo.

    Attributes
    ----------
    text : str
        What is asked.
    answer : callable
        Writes files into the folder it is given and returns what was found.
    folder : str
        Where the files go, within the folder of the demo.
    look_at : str
        The file to look at first.
    files : tuple of str
        What may be written, in the order in which it is listed.
    """

    text: str
    answer: Callable[[Path], Report]
    folder: str = ""
    look_at: str = "network.png"
    files: tuple[str, ...] = (*FILES, *SPACE_FILES)


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.", metavar="DIR")] = Path(
        "edgewise-demo"
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer questions about real data that come with the package; needs no network."""
    from edgewise.cli.wording import where_to_look
    from edgewise.report import render

    answers, reports, folders = [], [], []
    with ExitStack() as stack:
        for question in QUESTIONS:
            place = out / question.folder
            folder = stack.enter_context(results_folder(place, outdated=ALL_FILES))
            tell(f"{question.text} Compiling and learning; the first run takes longest ...")
            report = question.answer(folder)
            written = where_to_look(place, files_in(folder, question.files))
            answers.append(f"{question.text}\n\n{report.headline}\n{report.findings}\n{written}\n")
            reports.append(replace(report, question=question.text))
            folders.append(folder)
        # The folder of the first question is that of the demo: its page answers all of them.
        page = render(reports, title="edgewise demo")
        (folders[0] / "report.html").write_text(page, encoding="utf-8")
    if json:
        say_json(
            {
                "questions": [
                    {
                        "question": question.text,
                        "folder": str(out / question.folder),
                        **report.record,
                    }
                    for question, report in zip(QUESTIONS, reports, strict=True)
                ]
            }
        )
        return
    say("\n".join(answers))
    pictures = [str(out / question.folder / question.look_at) for question in QUESTIONS]
    say(f"Look at {', '.join(pictures)} first, or open {out / 'report.html'} in a browser.")


def ask_weather(folder: Path) -> Report:
    """Find which parts of the weather depend directly on each other."""
    frame, data = weather_anomalies()
    notes = [
        "logarithm of wind, visibility, water in air and aerosol",
        "mean and two annual harmonics of each station taken off",
        f"one day in {DAYS_APART}, because the weather of neighbouring days is alike",
    ]
    # The rows are not independent enough for a criterion that counts them, such as the BIC.
    settings = Settings(alpha="stars", covariance="correlation")
    source = "the weather at 59 US stations, without the season"
    return _answer(folder, frame, data, settings, source, notes)


def ask_digits(folder: Path) -> Report:
    """Find which pixels of a handwritten digit go together."""
    frame, data = digit_images()
    notes = [
        "noise between 0 and 1 added to the shades, which are whole numbers",
        "alpha and tau as cross-validation found them",
    ]
    settings = Settings(
        method=IN_SPACE,
        covariance="empirical",
        neighbors=(SIDE, SIDE),
        alpha=DIGIT_ALPHA,
        tau=DIGIT_TAU,
        constant="drop",
    )
    source = f"images of a handwritten {DIGIT}"
    return _answer(folder, frame, data, settings, source, notes)


def _answer(
    folder: Path,
    frame: pd.DataFrame,
    data: dict[str, Any],
    settings: Settings,
    source: str,
    notes: list[str],
) -> Report:
    """Learn, write the files, and tell in words what was found."""
    from edgewise.cli.wording import summary

    with warnings_told() as told:
        learned = learn_graph(frame, settings, verbose=is_watched())
    record = record_of(learned, settings, command="demo", data=data, treatment=notes, warnings=told)
    text = summary(learned, settings, source, data)
    return write_learned(folder, learned, text, record)


def ask_senate(folder: Path) -> Report:
    """Find which senators changed in how they vote together."""
    from edgewise.cli.compare.groups import change_summary, write_compared

    frame, groups, data = senate_votes()
    settings = ChangeSettings(basis=TWO_VALUES, alpha=VOTES_ALPHA, n_permutations=VOTES_SHUFFLES)
    notes = ["alpha as cross-validation found it", "yea is 1 and nay is -1"]
    with warnings_told() as told:
        compared = compare_groups(frame, groups, settings, verbose=is_watched())
    record = change_record(
        compared, settings, command="demo", data=data, treatment=notes, warnings=told
    )
    text = change_summary(compared, settings, "the votes of the US Senate", data)
    return write_compared(folder, compared, settings, text, record)


def ask_votes(folder: Path) -> Report:
    """Find which senators vote alike beyond what the votes of all others explain."""
    frame, _, data = senate_votes()
    settings = Settings(method=DISCRETE)
    source = "the votes of the US Senate, 2005 and 2006"
    return _answer(folder, frame.astype(int), data, settings, source, ["yea is 1 and nay is -1"])


def ask_tumours(folder: Path) -> Report:
    """Find which way influences run between measurements of cell nuclei."""
    from edgewise.cli.direct.fit import direct_summary, write_directed

    frame, data = tumour_nuclei()
    settings = DirectSettings(confidence=Confidence(n_resamples=NUCLEI_RESAMPLES))
    with warnings_told() as told:
        directed = direct_columns(frame, settings, verbose=is_watched())
    record = direct_record(
        directed, settings, command="demo", data=data, treatment=NUCLEI_NOTES, warnings=told
    )
    text = direct_summary(directed, settings, "images of breast tumours", data)
    return write_directed(folder, directed, text, record)


def ask_diagnosis(folder: Path) -> Report:
    """Find whether the networks of benign and malignant tumours tell them apart."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer

    from edgewise.cli.classify.fit import class_summary, write_classified

    frame, data = tumour_nuclei()
    table = load_breast_cancer()
    kinds = pd.Series(table.target_names[table.target], name="diagnosis")
    settings = ClassSettings(n_repeats=1)
    with warnings_told() as told:
        classified = classify_rows(frame, kinds, settings, verbose=is_watched())
    record = class_record(
        classified,
        settings,
        command="demo",
        data={**data, "by": "diagnosis"},
        treatment=NUCLEI_NOTES,
        warnings=told,
    )
    text = class_summary(classified, settings, "measurements of tumours", data)
    return write_classified(folder, classified, text, record)


def ask_climate(folder: Path) -> Report:
    """Find where in a country the weather hangs together in which way."""
    from edgewise.cli.regress.fit import tree_summary, write_regressed
    from edgewise.data import load_climate

    climate = load_climate()
    X = climate.covariates[["lat", "lon"]]
    Y = climate.responses.rename(columns=WEATHER)
    data = {**fingerprint(Y, climate.name, table_digest(climate.name)), "on": list(X.columns)}
    settings = TreeSettings(min_gain=CLIMATE_GAIN)
    notes = [
        *climate.treatment,
        f"a gain of {CLIMATE_GAIN:g} asked of every split, to keep the tree small",
        "odd weeks held out",
    ]
    with warnings_told() as told:
        regressed = regress_rows(X, Y, settings, climate.is_validation)
    record = tree_record(
        regressed, settings, command="demo", data=data, treatment=notes, warnings=told
    )
    text = tree_summary(regressed, "the weather at 59 US stations, without the season", data)
    return write_regressed(folder, regressed, text, record)


QUESTIONS: Final = (
    Question(text="Which parts of the weather depend directly on each other?", answer=ask_weather),
    Question(
        text="Which pixels of a handwritten digit go together?",
        answer=ask_digits,
        folder="digits",
        look_at="seeds.png",
    ),
    Question(
        text="Which senators changed, from 2005 to 2006, in how they vote together?",
        answer=ask_senate,
        folder="senate",
        look_at="change.png",
        files=CHANGE_FILES,
    ),
    Question(
        text="Which senators vote alike beyond what all other votes explain?",
        answer=ask_votes,
        folder="votes",
        files=FILES,
    ),
    Question(
        text="Where in the United States does the weather hang together in which way?",
        answer=ask_climate,
        folder="climate",
        look_at="tree.png",
        files=TREE_FILES,
    ),
    Question(
        text="Which way do influences run between the shapes of cell nuclei in tumours?",
        answer=ask_tumours,
        folder="tumours",
        look_at="dag.png",
        files=DIRECT_FILES,
    ),
    Question(
        text="Do the networks of benign and malignant tumours tell them apart?",
        answer=ask_diagnosis,
        folder="diagnosis",
        look_at="networks.png",
        files=CLASS_FILES,
    ),
)
