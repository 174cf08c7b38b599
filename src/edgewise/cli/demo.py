"""``edgewise demo``: five questions on bundled data."""

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
from edgewise.cli.shell import progress_hidden, say, say_json, shows_progress, tell

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
STATIONS: Final = "the weather at 59 US stations, without the season"
#: Chosen by held-out likelihood out of 8 x 7, as `edgewise learn --grid 8x8` does in half a minute.
DIGIT_ALPHA, DIGIT_TAU = 0.0047, 0.007
#: Chosen by held-out rows out of 30, as `edgewise compare --by year` does.
VOTES_ALPHA, VOTES_PERMUTATIONS = 0.27, 40
#: The two senators of each state, Alabama to Wyoming.
STATES: Final = (
    "Sessions Shelby; Murkowski Stevens; Kyl Mccain; Lincoln Pryor; Boxer Feinstein; "
    "Allard Salazar; Dodd Lieberman; Biden Carper; Martinez Nelson (FL); Chambliss Isakson; "
    "Akaka Inouye; Craig Crapo; Durbin Obama; Bayh Lugar; Grassley Harkin; Brownback Roberts; "
    "Bunning Mcconnell; Landrieu Vitter; Collins Snowe; Mikulski Sarbanes; Kennedy Kerry; "
    "Levin Stabenow; Coleman Dayton; Cochran Lott; Bond Talent; Baucus Burns; "
    "Hagel Nelson (NE); Ensign Reid; Gregg Sununu; Lautenberg Menendez; Bingaman Domenici; "
    "Clinton Schumer; Burr Dole; Conrad Dorgan; Dewine Voinovich; Coburn Inhofe; Smith Wyden; "
    "Santorum Specter; Chafee Reed; Demint Graham; Johnson Thune; Alexander Frist; "
    "Cornyn Hutchison; Bennett Hatch; Jeffords Leahy; Allen Warner; Cantwell Murray; "
    "Byrd Rockefeller; Feingold Kohl; Enzi Thomas"
)
#: Log-likelihood that a split of the country must gain, in nats.
CLIMATE_GAIN: Final = 1000.0
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
    seconds : float
        What it takes alone, compilation included; the longest are begun first.
    """

    text: str
    ask: Callable[[], Asked]
    folder: str = ""
    look_at: str = "network.png"
    story: Callable[[Source, Result], str] = lambda source, result: ""
    seconds: float = 0.0


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write.", metavar="DIR")] = Path(
        "edgewise-demo"
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer questions about real data that come with the package; needs no network."""
    from edgewise.report import render

    places = [out / question.folder for question in QUESTIONS]
    with ExitStack() as stack:
        folders = [stack.enter_context(results_folder(place)) for place in places]
        reports = _answer_all(folders)
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
    say("\n".join(map(_in_words, reports, places)))
    say("In short, with the picture to look at first:")
    for question, place, report in zip(QUESTIONS, places, reports, strict=True):
        say(f"- {report.headline.rstrip('.')}: {place / question.look_at}")
    say(f"\nAll of it is on one page, {out / PAGE}: open it in a browser.")


def _answer_all(folders: Sequence[Path]) -> list[Report]:
    """Answer the questions into a folder each, as many at a time as there are cores."""
    from joblib import effective_n_jobs

    from edgewise._core.parallel import parallel_map
    from edgewise._core.resume import not_resumable

    n_jobs = min(effective_n_jobs(-1), len(QUESTIONS))
    tell(
        f"Answering {len(QUESTIONS)} questions, {n_jobs} at a time. The first run compiles kernels "
        "and takes longest ..."
    )
    order = sorted(range(len(QUESTIONS)), key=lambda k: -QUESTIONS[k].seconds)
    # An answer without the files in its folder, which a run that is stopped takes away, is none.
    with not_resumable():
        found = parallel_map(
            _answer,
            # Workers that somebody has started elsewhere stand in another folder.
            [(QUESTIONS[k], folders[k].absolute()) for k in order],
            n_jobs=n_jobs,
            description="Questions",
            verbose=int(shows_progress()),
            is_even=False,
        )
    reports = dict(zip(order, found, strict=True))
    return [reports[k] for k in range(len(QUESTIONS))]


def _answer(question: Question, folder: Path) -> Report:
    """Fit and write the files of one question; return what its page says, the story first."""
    with progress_hidden():
        source, fit = question.ask()
        result, report = carry_out("demo", source, fit, folder, seed=0)
    if told := question.story(source, result):
        rest = f"{report.headline}\n{report.findings}"
        report = replace(report, headline=told, findings=rest)
    return replace(report, question=question.text)


def _in_words(report: Report, place: Path) -> str:
    from edgewise.cli.wording import where_to_look

    written = where_to_look(place, report.record["files"])
    return f"{report.question}\n\n{report.headline}\n{report.findings}\n{written}\n"


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
    return source, partial(classify_rows, source, diagnosis, {}, n_repeats=1, **SEED)


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
    """Name two columns that go together by way of others only, and the two most closely linked.

    No edge is not enough: a penalty leaves out pairs that depend on each other given the rest.
    """
    import numpy as np

    graph, names = result.graph, result.graph.names
    n, p = source.frame.shape
    R = np.corrcoef(source.frame.to_numpy(), rowvar=False)
    precision = np.linalg.inv(R)
    partial = -precision / np.sqrt(np.outer(np.diag(precision), np.diag(precision)))
    # Fisher's test of partial correlations: twice their standard error.
    is_chance = np.abs(np.arctanh(np.triu(partial, 1))) < 2 / np.sqrt(n - p - 1)
    candidates = np.abs(np.triu(R, 1)) * (is_chance & ~graph.adjacency)
    i, j = np.unravel_index(np.argmax(candidates), R.shape)
    first, second = graph.edges().loc[0, ["source", "target"]]
    return (
        f"{names[i].capitalize()} and {names[j]} go together (correlation {R[i, j]:+.2f}), but "
        f"only by way of the rest ({partial[i, j]:+.2f} given all other columns); {first} and "
        f"{second} are linked most closely"
    )


def tell_near(source: Source, result: Result) -> str:
    """Say how far apart the pixels are that are linked most."""
    import numpy as np

    edges = result.graph.edges().head(TOLD)
    place = {name: divmod(k, SIDE) for k, name in enumerate(result.graph.names)}
    ends = list(zip(edges["source"], edges["target"], strict=True))
    apart = [np.hypot(*np.subtract(place[a], place[b])) for a, b in ends]
    far = int(np.argmax(apart))
    return (
        f"The pen leaves its trace: of the {len(apart)} strongest links "
        f"{np.sum(np.less(apart, 1.5))} join pixels that touch; the longest, "
        f"{' to '.join(ends[far])}, joins the two ends of the stroke"
    )


def tell_changed(source: Source, result: Result) -> str:
    """Say whether the alliances changed, and name the senators whose agreement changed most."""
    most, pvalue = result.rows[1].iloc[0], result.found["test"]["pvalue"]
    before, after = result.found["labels"].values()
    changed = "changed" if pvalue <= 0.05 else "did not change beyond chance"
    how = "closer" if most["difference"] > 0 else "apart"
    alone = "" if most["pvalue_familywise"] <= 0.05 else ", though not beyond chance by themselves"
    return (
        f"The alliances of the Senate {changed} from {before} to {after} (p = {pvalue:.3f}); "
        f"{most['source']} and {most['target']} moved {how} most of all{alone}"
    )


def tell_allies(source: Source, result: Result) -> str:
    """Say how many of the senators whose votes go together most are of one state."""
    same = {frozenset(pair.split(maxsplit=1)) for pair in STATES.split("; ")}
    pairs = result.graph.edges().head(10)[["source", "target"]].to_numpy().tolist()
    n_same = sum(frozenset(pair) in same for pair in pairs)
    return (
        f"{n_same} of the {len(pairs)} pairs that vote most alike whatever the other 98 do are the "
        f"senators of one state, {' and '.join(pairs[0])} first; of 4950 pairs, "
        f"{result.graph.n_edges} are linked"
    )


def tell_regions(source: Source, result: Result) -> str:
    """Say where the country divides first, and into how many parts it falls."""
    edge = float(result.found["splits"][0]["condition"].split()[-1])
    return (
        f"The weather hangs together in one way west of longitude {edge:.0f}, near the 100th "
        f"meridian, where the dry West begins, and in another east of it; in "
        f"{result.found['n_leaves']} ways in all"
    )


def tell_direction(source: Source, result: Result) -> str:
    """Name the arc whose direction the resamples agree on most, and the strongest they do not."""
    arcs = result.rows[1]
    told = arcs[arcs["told"] != "no"]
    most = told.sort_values("confidence", ascending=False, kind="stable").iloc[0]
    unsure = told[told["told"] == "unsure"].iloc[0]
    return (
        f"{most['source'].capitalize()} comes before {most['target']}, say "
        f"{most['confidence']:.0%} of the resamples: the surest of {len(told)} directions; the way "
        f"between {unsure['source']} and {unsure['target']} they cannot tell "
        f"({unsure['confidence']:.0%} to {unsure['confidence_reversed']:.0%})"
    )


def tell_apart(source: Source, result: Result) -> str:
    """Report the accuracy of the networks and of a classifier without any."""
    accuracy = {name: one["mean"] for name, one in result.found["accuracy"].items()}
    return (
        "The networks of benign and malignant tumours differ enough to name the kind of "
        f"{accuracy['generative']:.0%} of tumours that they have not seen, where the more frequent "
        f"kind is {result.found['most_frequent_class']:.0%}; a linear SVM, without networks, names "
        f"that of {accuracy['linear SVM']:.0%}"
    )


#: Links that a story looks at.
TOLD: Final = 50

QUESTIONS: Final = (
    Question(
        text="Which parts of the weather depend directly on each other?",
        ask=ask_weather,
        seconds=22,
        story=tell_indirect,
    ),
    Question(
        text="Which pixels of a handwritten digit go together?",
        ask=ask_digits,
        seconds=6,
        folder="digits",
        look_at="seeds.png",
        story=tell_near,
    ),
    Question(
        text="Which senators changed, from 2005 to 2006, in how they vote together?",
        ask=ask_senate,
        seconds=20,
        folder="senate",
        look_at="change.png",
        story=tell_changed,
    ),
    Question(
        text="Which senators vote alike beyond what all other votes explain?",
        ask=ask_votes,
        seconds=9,
        folder="votes",
        story=tell_allies,
    ),
    Question(
        text="Where in the United States does the weather hang together in which way?",
        ask=ask_climate,
        seconds=18,
        folder="climate",
        look_at="map.png",
        story=tell_regions,
    ),
    Question(
        text="Which way do influences run between the shapes of cell nuclei in tumours?",
        ask=ask_tumours,
        seconds=31,
        folder="tumours",
        look_at="dag.png",
        story=tell_direction,
    ),
    Question(
        text="Do the networks of benign and malignant tumours tell them apart?",
        ask=ask_diagnosis,
        seconds=7,
        folder="diagnosis",
        look_at="networks.png",
        story=tell_apart,
    ),
)
