"""``edgewise learn``: from a table to its network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError
from edgewise.cli._options import (
    Alpha,
    AlphaRatio,
    Columns,
    Confidence,
    CovarianceOption,
    DataFile,
    Drop,
    Jobs,
    Json,
    MaxIter,
    Method,
    MethodOption,
    Missing,
    MissingOption,
    OutFolder,
    RepairOption,
    Resamples,
    Seed,
    Tolerance,
)
from edgewise.cli._shell import in_options, is_watched, say, say_json, tell, warnings_told

if TYPE_CHECKING:
    from edgewise.cli._learning import Settings
    from edgewise.cli._tables import Source
    from edgewise.graph import Graph

RESAMPLES = 100


def learn(
    data: DataFile,
    alpha: Alpha = "ebic",
    method: MethodOption = Method.GAUSSIAN,
    covariance: CovarianceOption = None,
    missing: MissingOption = Missing.ERROR,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    confidence: Confidence = None,
    resamples: Resamples = None,
    repair: RepairOption = None,
    alpha_ratio: AlphaRatio = None,
    tol: Tolerance = None,
    max_iter: MaxIter = None,
) -> None:
    """Learn which columns of a table depend directly on each other.

    Two columns are joined when they are dependent given all the others.
    Writes the graph, its edges, pictures, the model and a record of the run.
    """
    from edgewise.cli._learning import Settings
    from edgewise.cli._tables import read_source

    settings = Settings(
        alpha=_alpha(alpha),
        method=method.value,
        covariance="correlation" if covariance is None else covariance.value,
        missing=missing.value,
        repair=None if repair is None else repair.value,
        alpha_ratio=alpha_ratio,
        tol=tol,
        max_iter=max_iter,
        n_resamples=_n_resamples(confidence, resamples),
        seed=seed,
        n_jobs=jobs,
    )
    source = read_source(
        data,
        columns=columns or (),
        drop=drop or (),
        allow_missing=settings.missing != "error",
        allow_identical=settings.repair is not None,
        is_forced=covariance is not None,
    )
    _run(source, settings, out, as_json=json)


def _run(source: Source, settings: Settings, out: Path, *, as_json: bool) -> None:
    from edgewise.cli._folder import FILES, results_folder, write_results
    from edgewise.cli._learning import learn_graph, record_of
    from edgewise.cli._summary import summary, where_to_look

    name = source.fingerprint["file"]
    with warnings_told() as told, results_folder(out) as folder:
        tell(f"Learning from the {len(source.frame)} rows of {name} ...")
        learned = learn_graph(source.frame, settings, verbose=is_watched())
        record = record_of(
            learned,
            settings,
            command="learn",
            data=source.fingerprint,
            treatment=source.notes,
            warnings=told,
        )
        tell("Writing the files ...")
        write_results(folder, learned, record)
    if as_json:
        files = {file: str(out / file) for file in FILES}
        say_json({**record, "edges": _edges(learned.graph), "files": files})
        return
    say(summary(learned, settings, name, source.fingerprint))
    for note in record["treatment"]:
        say(f"Note: {in_options(note)}.")
    say(where_to_look(out))


def _alpha(text: str) -> float | str:
    """Read a number; whether any other text is a rule is for the estimator to say."""
    try:
        return float(text)
    except ValueError:
        return text


def _n_resamples(confidence: bool | None, resamples: int | None) -> int | None:
    if confidence is False and resamples is not None:
        raise InputError("--resamples has no use with --no-confidence. Leave one of them out.")
    if resamples is not None or not confidence:
        return resamples
    return RESAMPLES


def _edges(graph: Graph) -> list[dict[str, Any]]:
    """List the edges, strongest first; confidence only where it is known."""
    edges = graph.edges()
    if graph.confidence is None:
        edges = edges.drop(columns="confidence")
    return [{str(key): value for key, value in row.items()} for row in edges.to_dict("records")]
