"""``edgewise direct``: which way influences run between the columns of a table."""

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
    ConfidenceOption,
    Dask,
    DataFile,
    Drop,
    Formats,
    Jobs,
    Json,
    KindsOption,
    OutFolder,
    Quiet,
    RepairOption,
    Seed,
    confidence_option,
    given,
    penalty,
)
from edgewise.cli.prepare import did_you_mean, named_columns

known_option: Final = partial(typer.Option, rich_help_panel="What is known in advance")

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
            "How directions are learned: by the best score (boss: by an order of the columns; ges: "
            "greedily; exact: the best of all, up to 20 columns), or by tests of independence (pc, "
            "or Markov blankets: the IAMB variants, gs, tc, tc-bw, and l1mb by lasso paths), or by "
            "a penalty (order: by an order of all columns; bcd: column by column)."
        ),
    ),
]
SecondMethodOption: TypeAlias = Annotated[
    SecondMethod | None,
    typer.Option(
        "--second",
        help=(
            "The second opinion: tests (blankets) beside a score, a score (boss) beside tests, or "
            "a penalised order of the columns, which gets fewer directions right."
        ),
        show_default="blankets beside a score, boss beside tests or a penalty",
    ),
]
Significance: TypeAlias = Annotated[
    float,
    typer.Option(help="Level of each test of independence; larger ones find more arcs."),
]
DirectAlpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help=(
            "Penalty of --method order or bcd, else of --second penalized, in units of "
            "correlation: a number, or the rule that picks it."
        ),
        metavar="NUMBER|ebic|cv|stars",
        show_default="ebic",
    ),
]
Standardize: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help=(
            "Whether --method order or bcd, else --second penalized, sees standardised columns. In "
            "their units, columns of small variance tend to come out as causes. The others never "
            "depend on units."
        ),
    ),
]
Forbid: TypeAlias = Annotated[
    list[str] | None,
    known_option(
        help="A forbidden arc; give the option once for each.",
        metavar="FROM,TO",
        show_default=False,
    ),
]
Require: TypeAlias = Annotated[
    list[str] | None,
    known_option(
        help="A required arc; give the option once for each.", metavar="FROM,TO", show_default=False
    ),
]
Tier: TypeAlias = Annotated[
    list[str] | None,
    known_option(
        help=(
            "Columns that come before those of the next --tier, such as in time: no arc leads "
            "back. Columns that none names may stand anywhere."
        ),
        metavar="NAMES",
        show_default=False,
    ),
]
SetBy: TypeAlias = Annotated[
    str | None,
    known_option(
        "--interventions",
        help=(
            "The column that names what was set from outside in each row, empty where nothing "
            "was: such rows tell directions."
        ),
        metavar="COLUMN",
        show_default=False,
    ),
]
ArcResamples: TypeAlias = Annotated[
    int | None,
    confidence_option(
        "--resamples",
        "--bootstrap",
        help="Number of bootstrap resamples; also skips the time estimate.",
        show_default="100",
    ),
]


def direct(
    data: DataFile,
    method: DirectMethodOption = "boss",
    significance: Significance = 0.01,
    second: SecondMethodOption = None,
    alpha: DirectAlpha = None,
    standardize: Standardize = True,
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
    confidence: ConfidenceOption = None,
    n_resamples: ArcResamples = None,
    repair: RepairOption = None,
) -> None:
    """Learn which way influences run between columns, as far as the rows can tell.

    By the order of the columns with the best score, and by tests as a second opinion. Columns may
    be numbers, levels, or some of each.
    Writes both networks, the directions that are identified, pictures, the model and a record.
    """
    from edgewise.cli.direct.fit import direct_columns
    from edgewise.cli.run import run

    resamples = Confidence.asked(confidence, n_resamples)
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
        raise InputError(
            f"--method {method} is penalised itself. Use --second boss or blankets, or none."
        )
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
        raise InputError(
            f"{option} is for rows in which nothing was set. Use --method boss, ges or exact with "
            "--interventions, and --second boss or none."
        )
    return second or ("ges" if method == "boss" else "boss")


def _second_of_levels(method: DirectMethod, second: SecondMethod | None) -> str:
    """Choose the second opinion on columns with levels; refuse methods that have none for them."""
    if method not in (*SCORED_METHODS, "pc"):
        does = "regresses columns" if method in PENALIZED_METHODS else "tests partial correlations"
        raise InputError(
            f"--method {method} {does}, and some columns have levels. Use --method pc for tests, "
            "or boss, ges or exact for scores."
        )
    if second not in (None, "boss"):
        raise InputError(
            f"--second {second} is for numbers, and some columns have levels. Leave it out"
            f"{', with --alpha and --no-standardize' if second == 'penalized' else ''}."
        )
    return second or ("pc" if method in SCORED_METHODS else "boss")


def _arcs(texts: Sequence[str], option: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Split each arc at the comma that has a column on either side."""
    found = []
    for text in texts:
        parts = text.split(",")
        if len(parts) < 2:
            raise InputError(f"{option} takes two columns, as in FROM,TO; got '{text}'.")
        ways = [
            (",".join(parts[:k]).strip(), ",".join(parts[k:]).strip()) for k in range(1, len(parts))
        ]
        matching = [way for way in ways if way[0] in names and way[1] in names]
        if not matching:
            unknown = next(end for end in ways[0] if end not in names)
            raise InputError(
                f"{option} names '{unknown}', which is no column of the table. "
                f"{did_you_mean(unknown, names)}"
            )
        found.append(matching[0])
    return found


def _tiers(texts: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Give the tiers numbers, in the order in which they come."""
    tiers: dict[str, int] = {}
    for number, text in enumerate(texts):
        for name in named_columns([text], names, "--tier"):
            if name in tiers:
                raise InputError(f"--tier names '{name}' twice. Leave one of them out.")
            tiers[name] = number
    return tiers
