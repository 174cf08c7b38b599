"""``edgewise learn``: from a table to its network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError
from edgewise.cli.confidence import Confidence
from edgewise.cli.input import Source, read_source, rows_of, stream_source, without_rows
from edgewise.cli.learn.fit import DISCRETE, IN_SPACE, Settings
from edgewise.cli.learn.places import PLACES, Place, chosen_place
from edgewise.cli.options import (
    Alpha,
    AlphaRatio,
    Chain,
    Cluster,
    Columns,
    ConfidenceOption,
    Constant,
    ConstantOption,
    Covariance,
    CovarianceOption,
    Criterion,
    CriterionOption,
    DataFile,
    Drop,
    Grid,
    Jobs,
    Json,
    MaxIter,
    Method,
    MethodOption,
    Missing,
    MissingOption,
    OutFolder,
    Pairs,
    Quiet,
    RepairOption,
    Resamples,
    Ring,
    Seed,
    Stream,
    Tau,
    Tolerance,
    strength,
)
from edgewise.cli.shell import is_watched, tell, warnings_told

if TYPE_CHECKING:
    from edgewise.graph import Graph


def learn(
    data: DataFile,
    alpha: Alpha = None,
    method: MethodOption = None,
    covariance: CovarianceOption = None,
    missing: MissingOption = Missing.ERROR,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    grid: Grid = None,
    ring: Ring = False,
    chain: Chain = False,
    pairs: Pairs = None,
    tau: Tau = None,
    constant: ConstantOption = None,
    criterion: CriterionOption = None,
    stream: Stream = False,
    confidence: ConfidenceOption = None,
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
    place = chosen_place(grid=grid, ring=ring, chain=chain, pairs=pairs)
    settings = Settings(
        alpha=strength(alpha or ("ebic" if place is None else "cv")),
        method=Method.GAUSSIAN.value if method is None else method.value,
        covariance="correlation" if covariance is None else covariance.value,
        missing=missing.value,
        repair=None if repair is None else repair.value,
        alpha_ratio=alpha_ratio,
        tol=tol,
        max_iter=max_iter,
        confidence=Confidence.asked(confidence, resamples),
        seed=seed,
        n_jobs=jobs,
    )
    _check_space(place, method, covariance, tau, constant)
    chosen = {"columns": columns or (), "drop": drop or ()}
    if stream:
        searched = "cv" if place is not None and tau in (None, "cv") else None
        settings = without_rows(settings, tau=searched, constant=constant)
        source = stream_source(data, is_discrete=method is Method.DISCRETE, **chosen)
    else:
        source = read_source(
            data,
            allow_missing=settings.missing != "error",
            allow_constant=place is not None,
            allow_identical=settings.repair is not None,
            is_discrete=_is_discrete(method, is_forced=covariance is not None or place is not None),
            **chosen,
        )
    if source.is_discrete:
        _check_discrete(source, alpha=alpha, repair=repair, alpha_ratio=alpha_ratio, tol=tol)
        settings = replace(settings, method=DISCRETE, criterion=(criterion or Criterion.BJP).value)
    elif criterion is not None:
        raise InputError(
            f"--criterion is for discrete columns, and {data} is learned as numbers. Pass "
            "--method discrete, or leave --criterion out."
        )
    if place is not None:
        source, settings = _in_space(place, source, settings, tau, constant)
    _run(source, settings, out, as_json=json)


def _is_discrete(method: Method | None, *, is_forced: bool) -> bool | None:
    """Whether the options say that columns are levels, or numbers; None where they do not."""
    if method is None:
        return False if is_forced else None
    return method is Method.DISCRETE


def _check_discrete(source: Source, **numerical: Any) -> None:
    """Refuse options that only make sense for numbers."""
    for name, value in numerical.items():
        if value is not None:
            raise InputError(
                f"{name}={value} is for columns of numbers, and {source.fingerprint['file']} is "
                "learned as a discrete network. Leave it out, or pass --method gaussian."
            )


def _check_space(
    place: Place | None,
    method: Method | None,
    covariance: Covariance | None,
    tau: str | None,
    constant: Constant | None,
) -> None:
    """Refuse options that make no sense with, or without, places of the columns."""
    if place is None:
        for option, value in (("--tau", tau), ("--constant", constant)):
            if value is not None:
                *others, last = PLACES
                raise InputError(
                    f"{option} is for columns that sit in space. Say where they do with "
                    f"{', '.join(others)} or {last}, or leave {option} out."
                )
        return
    if method is Method.NEIGHBORHOOD:
        raise InputError(
            f"{place.option} fits all columns together, and --method neighborhood one at a time. "
            "Leave one of the two out."
        )
    if method is Method.DISCRETE:
        raise InputError(
            f"{place.option} is for columns of numbers, and --method discrete for levels. Leave "
            "one of the two out."
        )
    if covariance not in (None, Covariance.EMPIRICAL):
        raise InputError(
            f"{place.option} compares neighbours in the unit they share, so it takes --covariance "
            f"empirical and not {covariance.value}. Leave --covariance out."
        )


def _in_space(
    place: Place, source: Source, settings: Settings, tau: str | None, constant: Constant | None
) -> tuple[Source, Settings]:
    """Add to source and settings which columns are neighbours, and how strongly that counts."""
    table = source.fingerprint["file"]
    found = place.neighbors(source.fingerprint["names"], table)
    if found.fingerprint is not None:
        fingerprint = {**source.fingerprint, "pairs": found.fingerprint}
        source = replace(source, fingerprint=fingerprint, notes=(*source.notes, *found.notes))
    settings = replace(
        settings,
        method=IN_SPACE,
        neighbors=found.neighbors,
        covariance="empirical",
        tau=strength(tau or "cv"),
        constant=None if constant is None else constant.value,
    )
    return source, settings


def _run(source: Source, settings: Settings, out: Path, *, as_json: bool) -> None:
    from edgewise.cli.learn.fit import learn_graph, record_of, write_learned
    from edgewise.cli.run import ALL_FILES, FILES, SPACE_FILES, files_in, results_folder
    from edgewise.cli.wording import announce, summary

    name = source.fingerprint["file"]
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Learning from the {source.fingerprint['n_samples']} rows of {name} ...")
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
        text = summary(learned, settings, name, source.fingerprint)
        write_learned(folder, learned, text, record)
        files = files_in(folder, (*FILES, *SPACE_FILES))
    announce(text, record, out, files, as_json=as_json, edges=_edges(learned.graph))


def _edges(graph: Graph) -> list[dict[str, Any]]:
    """List the edges, strongest first; confidence only where it is known."""
    edges = graph.edges()
    if graph.confidence is None:
        edges = edges.drop(columns="confidence")
    return rows_of(edges)
