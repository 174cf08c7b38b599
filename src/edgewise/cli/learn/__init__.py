"""``edgewise learn``: the network of the columns of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from edgewise._core.errors import InputError
from edgewise.cli.confidence import Confidence
from edgewise.cli.input import Source, read_source, stream_source
from edgewise.cli.learn.places import Place, chosen_place, read_groups
from edgewise.cli.options import (
    Alpha,
    Columns,
    Covariance,
    CovarianceOption,
    Dask,
    DataFile,
    Drop,
    Formats,
    Grid,
    Groups,
    Jobs,
    Json,
    KindsOption,
    Lags,
    Method,
    MethodOption,
    Nodes,
    OutFolder,
    Quiet,
    Resamples,
    Seed,
    Series,
    Stability,
    Stream,
    Time,
    given,
    penalty,
    settings,
    settings_option,
)
from edgewise.cli.prepare import preparation

#: Values of options that need all rows at once, or again.
NEEDS_ROWS: Final = {
    "alpha": ("cv", "stars"),
    "missing": ("pairwise", "em", "drop", "auto"),
    "covariance": ("nonparanormal", "spearman", "kendall", "polychoric", "auto"),
    "tau": ("cv",),
    "constant": ("error", "drop", "ridge"),
}
#: Seconds on one core of a Gaussian graph by pair of columns (0.8 for 60 x 800, 0.3 for 100 x 300
#: and about 40 for 38 x 3051 rows and columns), and of levels by pair of columns and row.
SECONDS_PER_PAIR: Final = 4e-6
SECONDS_PER_PRODUCT: Final = 4e-7
#: Parameters of the estimators that ``--set`` takes.
SETTINGS: Final = (
    *("tol", "max_iter", "alpha_ratio", "repair", "tau", "constant", "criterion", "device"),
)
Settings: TypeAlias = Annotated[list[str] | None, settings_option(*SETTINGS)]


def learn(
    data: DataFile,
    alpha: Alpha = None,
    method: MethodOption = None,
    kinds: KindsOption = None,
    covariance: CovarianceOption = None,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
    grid: Grid = None,
    time: Time = None,
    series: Series = None,
    lags: Lags = None,
    stream: Stream = False,
    n_resamples: Resamples = None,
    nodes: Nodes = False,
    groups: Groups = None,
    stability: Stability = False,
    chosen_settings: Settings = None,
) -> None:
    """Learn the network of the columns of a table.

    An edge joins two columns that are dependent given all others (partial correlation).
    Writes the graph, its edges, pictures, the model and a record of the run.
    """
    from edgewise.cli.learn.fit import DISCRETE, IN_SPACE, MIXED, NodesAsked, learn_graph
    from edgewise.cli.run import run

    more = settings(chosen_settings, *SETTINGS)
    chosen: dict[str, Any] = {"columns": columns or (), "drop": drop or ()}
    resamples = Confidence.asked(n_resamples)
    if time is not None or series is not None or lags is not None:
        from edgewise.cli.learn.in_time import learn_in_time, read_rows

        rows = read_rows(data, time, series, settings=more, **chosen)
        options = {**given(alpha=alpha and penalty(alpha)), **more, "n_jobs": n_jobs}
        run(
            "learn",
            rows.source,
            lambda: learn_in_time(rows, lags or 1, options, resamples, random_state),
            out,
            message=f"Learning from the {rows.source.extent} (rows in time)",
            seed=random_state,
            formats=formats or (),
            as_json=json,
        )
        return
    repair, tau, constant, criterion, device = (
        more.pop(name, None) for name in ("repair", "tau", "constant", "criterion", "device")
    )
    place = chosen_place(grid)
    _check_space(place, method, covariance, tau, constant)
    is_mixed = _is_mixed(kinds, method, place, covariance, is_stream=stream)
    is_about_nodes = nodes or stability or groups is not None
    if stream:
        if is_about_nodes:
            raise InputError("nodes_exclude_stream")
        searched = "cv" if place is not None and tau in (None, "cv") else None
        rule = alpha or ("stepwise" if place is None else "cv")
        asked = given(alpha=rule, missing=preparation().missing, covariance=covariance)
        _check_stream(resamples, **asked, tau=searched, constant=constant)
        resamples = Confidence()
        source = stream_source(data, is_discrete=method == "discrete", **chosen)
    else:
        source = read_source(
            data,
            allow_constant=place is not None,
            allow_identical=repair is not None,
            is_discrete=_is_discrete(
                method,
                is_forced=covariance not in (None, "nonparanormal") or place is not None,
            ),
            covariance="empirical" if place is not None else covariance,
            kinds=kinds or (),
            is_mixed=is_mixed,
            **chosen,
        )
    name: str = method or "gaussian"
    parameters = given(missing=source.missing, random_state=random_state)
    if source.is_discrete:
        _check_discrete(source, alpha=alpha, repair=repair, **more)
        name, parameters = DISCRETE, {**parameters, "criterion": criterion or "bjp"}
    elif source.kinds and criterion is None:
        _check_discrete(source, repair=repair)
        name = MIXED
        parameters |= {"alpha": penalty(alpha or "ebic"), "n_jobs": n_jobs, **more}
        parameters["kinds"] = dict(source.kinds)
        parameters |= {"covariance": covariance} if covariance is not None else {}
    elif criterion is not None:
        raise InputError("criterion_for_levels", data=data)
    else:
        parameters |= given(repair=repair, n_jobs=n_jobs) | more
        if place is None:
            scale = covariance or ("auto" if source.has_answers else "correlation")
            rule = "ebic" if name == "neighborhood" else "stepwise"
            parameters |= {"alpha": penalty(alpha or rule), "covariance": scale}
            parameters |= given(device=device)
            if covariance is None and scale == "auto":
                # Also those that take the place of others may have negative eigenvalues: each
                # pair has rows of its own where answers are missing.
                parameters["repair"] = repair or "clip"
        else:
            source, neighbors = _in_space(place, source)
            name = IN_SPACE
            parameters |= {"alpha": penalty(alpha or "cv"), "tau": "cv" if tau is None else tau}
            parameters |= given(neighbors=neighbors, constant=constant)
            parameters |= given(device=device)
    _check_device(device, name)
    told: tuple[str, ...] = ()
    members = None
    if groups is not None:
        members, told = read_groups(groups, source.fingerprint["names"], source.name)
    asked_nodes = NodesAsked(wanted=is_about_nodes, stability=stability, groups=members, notes=told)
    run(
        "learn",
        source,
        lambda: learn_graph(source, name, parameters, resamples, asked_nodes, n_jobs=n_jobs),
        out,
        message=f"Learning from the {source.extent} ({name})",
        seed=random_state,
        formats=formats or (),
        as_json=json,
        seconds=_seconds(name, source.n_samples, source.n_features),
    )


def _seconds(method: str, n_samples: int, n_features: int) -> float:
    """Estimate how long a fit takes; one in space says so by itself, fold by fold."""
    from edgewise.cli.learn.fit import IN_SPACE

    if method == IN_SPACE:
        return 0.0
    by_pair = SECONDS_PER_PAIR if method == "gaussian" else SECONDS_PER_PRODUCT * n_samples
    return by_pair * n_features**2


def _check_stream(confidence: Confidence, **options: Any) -> None:
    """Raise where an option needs all rows at once, or again."""
    asked = ["--resamples"] if confidence.is_asked else []
    asked += preparation().options
    asked += [
        f"--set {name}={value}" if name in SETTINGS else f"--{name} {value}"
        for name, value in options.items()
        if value in NEEDS_ROWS[name]
    ]
    if asked:
        raise InputError("stream_needs_one_pass", asked=asked[0])


def _is_discrete(method: Method | None, *, is_forced: bool) -> bool | None:
    """Whether the options say that columns are levels, or numbers; None where they do not."""
    if method is None:
        return False if is_forced else None
    return method == "discrete"


def _is_mixed(
    kinds: list[str] | None,
    method: Method | None,
    place: Place | None,
    covariance: Covariance | None,
    *,
    is_stream: bool,
) -> bool:
    """Whether the options ask for regressions by the kinds of columns; other options may not."""
    is_asked = bool(kinds) or method == "mixed"
    option = "--kinds" if kinds else "--method mixed"
    others = {
        f"--method {method}": method not in (None, "mixed"),
        f"--covariance {covariance}": covariance not in (None, "nonparanormal"),
        "--stream": is_stream,
        "--grid": place is not None,
    }
    if is_asked and (given := [name for name, is_given in others.items() if is_given]):
        raise InputError("mixed_excludes_option", option=option, given=given[0])
    return is_asked


def _check_device(device: str | None, method: str) -> None:
    """Refuse a GPU for methods that have no use for it; a CPU is what they take anyway."""
    from edgewise.cli.learn.fit import IN_SPACE

    has_choice = device is not None and device not in ("auto", "cpu")
    if has_choice and method not in ("gaussian", IN_SPACE):
        raise InputError("device_not_supported", method=method)


def _check_discrete(source: Source, **numerical: Any) -> None:
    """Raise where an option is given that only makes sense for numbers."""
    for name, value in numerical.items():
        if value is not None:
            raise InputError(
                "option_for_numbers", name=name, value=value, name2=source.name, kinds=source.kinds
            )


def _check_space(
    place: Place | None,
    method: Method | None,
    covariance: Covariance | None,
    tau: float | str | None,
    constant: str | None,
) -> None:
    """Raise where options make no sense with, or without, positions of the columns."""
    if place is None:
        for option, value in (("--set tau", tau), ("--set constant", constant)):
            if value is not None:
                raise InputError("option_for_space", option=option)
        return
    if method == "neighborhood":
        raise InputError("space_excludes_neighborhood")
    if method == "discrete":
        raise InputError("space_excludes_discrete")
    if covariance not in (None, "empirical"):
        raise InputError("space_excludes_covariance", covariance=covariance)


def _in_space(place: Place, source: Source) -> tuple[Source, Any]:
    """Find which columns are neighbours; a file of pairs is recorded with the table."""
    found = place.neighbors(source.fingerprint["names"], source.name)
    if found.fingerprint is not None:
        fingerprint = {**source.fingerprint, "pairs": found.fingerprint}
        source = replace(source, fingerprint=fingerprint, notes=(*source.notes, *found.notes))
    return source, found.neighbors
