"""``edgewise demo``: questions asked of real data that come with the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgewise.cli.confidence import Confidence
from edgewise.cli.input import Source
from edgewise.cli.options import Json, Quiet
from edgewise.cli.run import PAGE, Result, carry_out, results_folder
from edgewise.cli.shell import say, say_json, tell

if TYPE_CHECKING:
    import pandas as pd

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
STATIONS: Final = "the weather at 59 US stations, without the season"
#: Chosen by held-out likelihood out of 8 x 7, as `edgewise learn --grid 8x8` does in half a minute.
DIGIT_ALPHA, DIGIT_TAU = 0.0047, 0.007
#: Chosen by held-out rows out of 30, as `edgewise compare --by year` does.
VOTES_ALPHA, VOTES_PERMUTATIONS = 0.27, 40
#: Log-likelihood that a split of the country must gain, in nats.
CLIMATE_GAIN: Final = 300.0
#: Resamples of the rows of tumours.
NUCLEI_RESAMPLES: Final = 40
NUCLEI_NOTES: Final = (
    "logarithm of all measurements, which are skewed",
    "means of each tumour only",
)
SEED: Final[dict[str, Any]] = {"random_state": 0}

#: A table, and what fits it and says what was found.
Asked = tuple[Source, Callable[[], Result]]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question of the demo.

    Attributes
    ----------
    text : str
        The question.
    ask : callable
        Reads the table; returns it with what a command does with it.
    folder : str
        Where the files go, within the folder of the demo.
    look_at : str
        The file to look at first.
    story : callable
        Says in a sentence what is worth telling of the answer; nothing to leave the first line as
        it is.
    """

    text: str
    ask: Callable[[], Asked]
    folder: str = ""
    look_at: str = "network.png"
    story: Callable[[Source, Result], str] = lambda source, result: ""


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
            folder = stack.enter_context(results_folder(place))
            tell(f"{question.text} Compiling and learning; the first run takes longest ...")
            source, fit = question.ask()
            result, report = carry_out("demo", source, fit, folder, seed=0)
            if told := question.story(source, result):
                rest = f"{report.headline}\n{report.findings}"
                report = replace(report, headline=told, findings=rest)
            written = where_to_look(place, report.record["files"])
            answers.append(f"{question.text}\n\n{report.headline}\n{report.findings}\n{written}\n")
            reports.append(replace(report, question=question.text))
            folders.append(folder)
        # The folder of the first question is that of the demo: its page answers all of them.
        page = render(reports, title="edgewise demo")
        (folders[0] / PAGE).write_text(page, encoding="utf-8")
    if json:
        found = [
            {"question": question.text, "folder": str(out / question.folder), **report.record}
            for question, report in zip(QUESTIONS, reports, strict=True)
        ]
        say_json({"questions": found})
        return
    say("\n".join(answers))
    pictures = [str(out / question.folder / question.look_at) for question in QUESTIONS]
    say(f"Look at {', '.join(pictures)} first, or open {out / PAGE} in a browser.")


def bundled(
    frame: pd.DataFrame, title: str, digest: str, notes: Sequence[str], *, name: str = ""
) -> Source:
    """Describe a bundled table: ``title`` in the record, ``name`` in words."""
    fingerprint = {
        "bundled": title,
        "sha256": digest,
        "n_samples": len(frame),
        "n_features": len(frame.columns),
        "names": list(frame.columns),
    }
    return Source(name=name, frame=frame, fingerprint=fingerprint, notes=tuple(notes))


def _digest(table: Any) -> str:
    """Digest of the values of a table."""
    import hashlib

    import numpy as np

    return hashlib.sha256(np.asarray(table, dtype=np.float64).tobytes()).hexdigest()


def weather_anomalies() -> Source:
    """Daily weather without the season."""
    from edgewise.data import load_climate, load_table

    climate = load_climate(unit_variance=False)
    is_kept = climate.covariates["doy"].to_numpy() % DAYS_APART == 0
    frame = climate.responses[list(WEATHER)][is_kept].reset_index(drop=True).rename(columns=WEATHER)
    notes = (
        "logarithm of wind, visibility, water in air and aerosol",
        "mean and two annual harmonics of each station subtracted",
        f"one day in {DAYS_APART}, because the weather of neighbouring days is alike",
    )
    digest = _digest(load_table(climate.name).frame)
    return bundled(frame, climate.name, digest, notes, name=STATIONS)


def digit_images() -> Source:
    """Shades of the pixels of one digit, one image per row.

    The shades are counts from 0 to 16. Even noise on [0, 1) turns them into measurements, without
    which a Gaussian would see more certainty in them than there is.
    """
    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    shades = images[digit == DIGIT]
    noise = np.random.default_rng(0).uniform(size=shades.shape)
    noise[:, np.ptp(shades, axis=0) == 0] = 0.0
    names = [f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)]
    notes = (
        "noise between 0 and 1 added to the shades, which are whole numbers",
        "alpha and tau as cross-validation found them",
    )
    return bundled(
        pd.DataFrame(shades + noise, columns=names),
        "digits of scikit-learn",
        _digest(images),
        notes,
        name=f"images of a handwritten {DIGIT}",
    )


def senate_votes(name: str, *notes: str) -> tuple[Source, pd.Series]:
    """Votes of the senators, and the year of each vote."""
    import pandas as pd

    from edgewise.data import load_senate

    senate = load_senate()
    treatment = (*notes, "yea is 1 and nay is -1")
    source = bundled(senate.votes, "senate-votes", _digest(senate.votes), treatment, name=name)
    return source, pd.Series(pd.Categorical(senate.years), name="year")


def tumour_nuclei(name: str) -> tuple[Source, pd.Series]:
    """Means over the cell nuclei of each tumour, in logarithms, and the diagnosis of each."""
    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    means = found.data[[name for name in found.data.columns if name.startswith("mean ")]]
    # Some tumours have no concave nucleus at all.
    frame = np.log(means + 1e-3).rename(columns=lambda name: name.removeprefix("mean "))
    title = "breast cancer of scikit-learn"
    source = bundled(frame, title, _digest(found.data), NUCLEI_NOTES, name=name)
    return source, pd.Series(found.target_names[found.target], name="diagnosis")


def ask_weather() -> Asked:
    """Find which parts of the weather depend directly on each other."""
    from edgewise.cli.learn.fit import learn_graph

    source = weather_anomalies()
    # The rows are not independent enough for a criterion that counts them, such as the BIC.
    parameters = {"alpha": "stars", "covariance": "correlation", **SEED}
    return source, partial(learn_graph, source, "gaussian", parameters, Confidence())


def ask_digits() -> Asked:
    """Find which pixels of a handwritten digit go together."""
    from edgewise.cli.learn.fit import IN_SPACE, learn_graph

    source = digit_images()
    parameters = {
        "alpha": DIGIT_ALPHA,
        "tau": DIGIT_TAU,
        "neighbors": (SIDE, SIDE),
        "constant": "drop",
        **SEED,
    }
    return source, partial(learn_graph, source, IN_SPACE, parameters, Confidence())


def ask_senate() -> Asked:
    """Find which senators changed in how they vote together."""
    from edgewise.cli.compare.groups import RATIO, compare_groups
    from edgewise.cli.labels import TWO_VALUES, groups_of

    source, years = senate_votes("the votes of the US Senate", "alpha as cross-validation found it")
    parameters = {"basis": TWO_VALUES, "alpha": VOTES_ALPHA, **SEED}
    return source, partial(
        compare_groups,
        source,
        groups_of(years),
        parameters,
        method=RATIO,
        n_permutations=VOTES_PERMUTATIONS,
    )


def ask_votes() -> Asked:
    """Find which senators vote alike beyond what the votes of all others explain."""
    from edgewise.cli.learn.fit import DISCRETE, learn_graph

    source, _ = senate_votes("the votes of the US Senate, 2005 and 2006")
    source = replace(source, frame=source.frame.astype(int))
    return source, partial(learn_graph, source, DISCRETE, SEED, Confidence())


def ask_tumours() -> Asked:
    """Find which way influences run between measurements of cell nuclei."""
    from edgewise.cli.direct.fit import direct_columns

    source, _ = tumour_nuclei("images of breast tumours")
    resamples = Confidence(n_resamples=NUCLEI_RESAMPLES)
    return source, partial(direct_columns, source, SEED, SEED, resamples)


def ask_diagnosis() -> Asked:
    """Find whether the networks of benign and malignant tumours tell them apart."""
    from edgewise.cli.classify import classify_rows

    source, diagnosis = tumour_nuclei("measurements of tumours")
    source = replace(source, fingerprint={**source.fingerprint, "by": str(diagnosis.name)})
    return source, partial(classify_rows, source, diagnosis, SEED, n_repeats=1)


def ask_climate() -> Asked:
    """Find where in a country the weather hangs together in which way."""
    from edgewise.cli.regress import grow_tree
    from edgewise.data import load_climate, load_table

    climate = load_climate()
    X = climate.covariates[["lat", "lon"]]
    notes = (
        *climate.treatment,
        f"a gain of {CLIMATE_GAIN:g} asked of every split, to keep the tree small",
        "odd weeks held out",
    )
    digest = _digest(load_table(climate.name).frame)
    responses = climate.responses.rename(columns=WEATHER)
    source = bundled(responses, climate.name, digest, notes, name=STATIONS)
    source = replace(source, fingerprint={**source.fingerprint, "on": list(X.columns)})
    parameters = {"min_gain": CLIMATE_GAIN, **SEED}
    return source, partial(grow_tree, source, X, parameters, climate.is_validation)


def tell_indirect(source: Source, result: Result) -> str:
    """Name two columns that go together by way of others only, and the two most closely linked."""
    import numpy as np

    graph, names = result.graph, result.graph.names
    R = np.corrcoef(source.frame.to_numpy(), rowvar=False)
    i, j = np.unravel_index(np.argmax(np.abs(np.triu(R, 1)) * ~graph.adjacency), R.shape)
    first, second = graph.edges().loc[0, ["source", "target"]]
    return (
        f"{names[i].capitalize()} and {names[j]} go together (correlation {R[i, j]:+.2f}), but "
        f"only by way of the rest; {first} and {second} are linked most closely"
    )


def tell_near(source: Source, result: Result) -> str:
    """Say how far apart the pixels are that are linked most."""
    import numpy as np

    edges = result.graph.edges().head(TOLD)
    place = {name: divmod(k, SIDE) for k, name in enumerate(result.graph.names)}
    ends = zip(edges["source"], edges["target"], strict=True)
    apart = [np.hypot(*np.subtract(place[a], place[b])) for a, b in ends]
    return (
        f"The pen leaves its trace: of the {len(apart)} strongest links "
        f"{np.sum(np.less(apart, 1.5))} join pixels that touch, and none reaches farther than "
        f"{np.ceil(max(apart)):.0f} pixels"
    )


def tell_changed(source: Source, result: Result) -> str:
    """Name the senators whose agreement changed most."""
    most = result.rows[1].iloc[0]
    how = "closer" if most["change"] > 0 else "apart"
    verdict = result.text.splitlines()[0].partition(":")[0]
    alone = "" if most["p_familywise"] <= 0.05 else ", though not beyond chance by themselves"
    return f"{verdict}; {most['source']} and {most['target']} moved {how} most of all{alone}"


def tell_allies(source: Source, result: Result) -> str:
    """Name the pairs of senators whose votes go together whatever the others do."""
    pairs = result.graph.edges().head(3)
    named = [f"{a} and {b}" for a, b in zip(pairs["source"], pairs["target"], strict=True)]
    return (
        f"{', '.join(named)} vote alike whatever the other 98 do; of 4950 pairs, "
        f"{result.graph.n_edges} are linked so"
    )


def tell_regions(source: Source, result: Result) -> str:
    """Say into how many parts the country falls, and where the smallest lies."""
    leaves = result.found["leaves"]
    least = min(leaves, key=lambda leaf: leaf["n_rows"])
    return (
        f"The weather of the country hangs together in {len(leaves)} ways; the one that fewest "
        f"stations share is found where {least['where']}"
    )


def tell_direction(source: Source, result: Result) -> str:
    """Name the arc whose direction the resamples agree on most."""
    arcs = result.graph.edges()
    most = arcs.sort_values("confidence", ascending=False, kind="stable").iloc[0]
    return (
        f"{most['source'].capitalize()} comes before {most['target']}, say "
        f"{most['confidence']:.0%} of the resamples: the surest of {len(arcs)} directions"
    )


#: Links that a story looks at.
TOLD: Final = 50

QUESTIONS: Final = (
    Question(
        text="Which parts of the weather depend directly on each other?",
        ask=ask_weather,
        story=tell_indirect,
    ),
    Question(
        text="Which pixels of a handwritten digit go together?",
        ask=ask_digits,
        folder="digits",
        look_at="seeds.png",
        story=tell_near,
    ),
    Question(
        text="Which senators changed, from 2005 to 2006, in how they vote together?",
        ask=ask_senate,
        folder="senate",
        look_at="change.png",
        story=tell_changed,
    ),
    Question(
        text="Which senators vote alike beyond what all other votes explain?",
        ask=ask_votes,
        folder="votes",
        story=tell_allies,
    ),
    Question(
        text="Where in the United States does the weather hang together in which way?",
        ask=ask_climate,
        folder="climate",
        look_at="tree.png",
        story=tell_regions,
    ),
    Question(
        text="Which way do influences run between the shapes of cell nuclei in tumours?",
        ask=ask_tumours,
        folder="tumours",
        look_at="dag.png",
        story=tell_direction,
    ),
    Question(
        text="Do the networks of benign and malignant tumours tell them apart?",
        ask=ask_diagnosis,
        folder="diagnosis",
        look_at="networks.png",
    ),
)
