"""``edgewise direct``: a directed acyclic graph of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.confidence import Confidence
from edgewise.cli.input import read_source
from edgewise.cli.options import (
    Columns,
    Dask,
    DataFile,
    Drop,
    Formats,
    Jobs,
    Json,
    KindsOption,
    OutFolder,
    Quiet,
    Resamples,
    Seed,
    estimator_option,
    given,
    penalty,
    settings,
    settings_option,
)
from edgewise.cli.prepare import did_you_mean, named_columns

known_option: Final = partial(typer.Option, rich_help_panel="Background knowledge")

#: Seconds of both opinions on one core by pair of columns: 5 for 1,000.
SECONDS_PER_PAIR: Final = 5e-6
#: Ways to find Markov blankets.
Blankets: TypeAlias = Literal[
    "iamb", "inter-iamb", "fast-iamb", "iamb-npc", "inter-iamb-npc", "gs", "tc", "tc-bw", "l1mb"
]
#: Penalised networks: by an order of all columns, or column by column.
PenalizedMethod: TypeAlias = Literal["order", "bcd"]
#: How directions are learned: by a score, by PC, by Markov blankets, or by a penalty.
DirectMethod: TypeAlias = Literal["boss", "ges", "exact", "pc", Blankets, PenalizedMethod]

#: Those that go by a score, and those that go by a penalty.
SCORED_METHODS: Final = ("boss", "ges", "exact")
PENALIZED_METHODS: Final = ("order", "bcd")
#: How the second opinion is learned.
SecondMethod: TypeAlias = Literal["boss", "blankets", "penalized"]

DirectMethodOption: TypeAlias = Annotated[
    DirectMethod,
    typer.Option(
        "--method",
        help=(
            "Score-based search (boss, ges; exact up to 20 columns); independence tests (pc, or "
            "Markov blankets: IAMB variants, gs, tc, tc-bw, l1mb); or penalised structural "
            "equations (order: OR-SGBN; bcd: H-SGBN)."
        ),
    ),
]
SecondMethodOption: TypeAlias = Annotated[
    SecondMethod | None,
    estimator_option(
        "--second",
        help=(
            "Second method for comparison: tests (blankets), a score (boss) or penalised "
            "equations (penalized)."
        ),
        show_default="blankets for a score, else boss",
    ),
]
Significance: TypeAlias = Annotated[
    float,
    estimator_option(help="Significance level of the independence tests."),
]
DirectAlpha: TypeAlias = Annotated[
    str | None,
    estimator_option(
        "--alpha",
        help=(
            "Penalty of --method order or bcd, or of --second penalized, on the correlation "
            "scale: a number, or the rule that selects it."
        ),
        metavar="NUMBER|ebic|cv|stars",
        show_default="ebic",
    ),
]
Forbid: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Forbid an arc; repeat for several.",
        metavar="FROM,TO",
        show_default=False,
    ),
]
Require: TypeAlias = Annotated[
    list[str] | None,
    known_option(help="Require an arc; repeat for several.", metavar="FROM,TO", show_default=False),
]
Tier: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help=(
            "Order columns in tiers, such as in time: no arc leads from a later --tier to an "
            "earlier one. Other columns are unrestricted."
        ),
        metavar="NAMES",
        show_default=False,
    ),
]
SetBy: TypeAlias = Annotated[
    str | None,
    known_option(
        "--interventions",
        help=("Column with the intervened variable of each row, empty for observational rows."),
        metavar="COLUMN",
        show_default=False,
    ),
]
#: Parameters of the estimators that ``--set`` takes.
SETTINGS: Final = ("repair", "standardize")
Settings: TypeAlias = Annotated[list[str] | None, settings_option(*SETTINGS)]


def direct(
    data: DataFile,
    method: DirectMethodOption = "boss",
    significance: Significance = 0.01,
    second: SecondMethodOption = None,
    alpha: DirectAlpha = None,
    columns: Columns = None,
    drop: Drop = None,
    kinds: KindsOption = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
    forbid: Forbid = None,
    require: Require = None,
    tier: Tier = None,
    interventions: SetBy = None,
    n_resamples: Resamples = None,
    chosen_settings: Settings = None,
) -> None:
    """Learn a directed acyclic graph of the columns, up to Markov equivalence.

    A score-based search and, for comparison, independence tests; columns may be numeric,
    categorical or both.
    Writes both networks, the identified directions, pictures, the model and a record of the run.
    """
    from edgewise.cli.direct.fit import direct_columns
    from edgewise.cli.run import run

    more = settings(chosen_settings, *SETTINGS)
    repair, standardize = more.get("repair"), more.get("standardize", True)
    resamples = Confidence.asked(n_resamples)
    source = read_source(
        data,
        columns=columns or (),
        drop=drop or (),
        allow_identical=repair is not None,
        kinds=kinds or (),
        is_mixed=bool(kinds),
        set_by=interventions,
        is_directed=True,
    )
    names = list(source.frame.columns)
    both = given(missing=source.missing, repair=repair, random_state=random_state)
    known = {
        "forbidden": _arcs(forbid or (), "--forbid", names) or None,
        "required": _arcs(require or (), "--require", names) or None,
        "tiers": _tiers(tier or (), names) or None,
    }
    is_penalized = method in PENALIZED_METHODS
    about_penalty = {
        "alpha": penalty(alpha or "ebic"), "standardize": standardize, "n_jobs": n_jobs
    }  # fmt: skip
    first = {"method": method, **both, **known}
    first |= about_penalty if is_penalized else {"significance": significance}
    if is_penalized and second == "penalized":
        raise InputError("second_of_penalised", method=method)
    if not is_penalized and second is None and (alpha is not None or not standardize):
        second = "penalized"
    chosen: str | None = second
    if source.interventions is not None:
        chosen = _second_of_experiments(method, second)
    elif source.is_discrete or source.kinds:
        chosen = _second_of_levels(method, second)
    if source.is_discrete or source.kinds:
        both["kinds"] = dict(source.kinds) or "guess"
        first["kinds"] = both["kinds"]
    other = {"method": chosen, **both}
    if second == "penalized":
        other |= about_penalty
    run(
        "direct",
        source,
        lambda: direct_columns(source, first, other, resamples, n_jobs=n_jobs),
        out,
        message=f"Learning directions from the {source.extent}",
        seed=random_state,
        formats=formats or (),
        as_json=json,
        seconds=SECONDS_PER_PAIR * source.n_features**2,
    )


def _second_of_experiments(method: DirectMethod, second: SecondMethod | None) -> str:
    """Choose the second opinion on rows of experiments, which only scores know what to do with."""
    if method not in SCORED_METHODS or second not in (None, "boss"):
        option = f"--second {second}" if method in SCORED_METHODS else f"--method {method}"
        raise InputError("observational_only", option=option)
    return second or ("ges" if method == "boss" else "boss")


def _second_of_levels(method: DirectMethod, second: SecondMethod | None) -> str:
    """Choose the second opinion on columns with levels; refuse methods that have none for them."""
    if method not in (*SCORED_METHODS, "pc"):
        does = "regresses columns" if method in PENALIZED_METHODS else "tests partial correlations"
        raise InputError("method_refuses_levels", method=method, does=does)
    if second not in (None, "boss"):
        raise InputError("second_refuses_levels", second=second, is_second=second == "penalized")
    return second or ("pc" if method in SCORED_METHODS else "boss")


def _arcs(texts: Sequence[str], option: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Split each arc at the comma that has a column on either side."""
    found = []
    for text in texts:
        parts = text.split(",")
        if len(parts) < 2:
            raise InputError("option_takes_pair", option=option, text=text)
        ways = [
            (",".join(parts[:k]).strip(), ",".join(parts[k:]).strip()) for k in range(1, len(parts))
        ]
        matching = [way for way in ways if way[0] in names and way[1] in names]
        if not matching:
            unknown = next(end for end in ways[0] if end not in names)
            raise InputError(
                "unknown_column_in_option",
                option=option,
                unknown=unknown,
                did_you_mean=did_you_mean(unknown, names),
            )
        found.append(matching[0])
    return found


def _tiers(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Give the tiers numbers, in the order in which they come."""
    tiers: dict[str, int] = {}
    for number, text in enumerate(texts):
        for name in named_columns([text], names, "--tier"):
            if name in tiers:
                raise InputError("tier_named_twice", name=name)
            tiers[name] = number
    return tiers
