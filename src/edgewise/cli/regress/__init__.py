"""``edgewise regress``: how the network of some columns varies with others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.input import rows_of
from edgewise.cli.options import Cluster, DataFile, Drop, Jobs, Json, OutFolder, Quiet, Seed
from edgewise.cli.regress.fit import TreeSettings
from edgewise.cli.shell import tell, warnings_told

if TYPE_CHECKING:
    from edgewise.cli.regress.rows import Rows


GROWTH: Final = "How the tree grows"


class Criterion(StrEnum):
    """What judges a split."""

    HELDOUT = "heldout"
    PENALIZED = "penalized"


class Search(StrEnum):
    """How the tree is found."""

    GREEDY = "greedy"
    OPTIMAL = "optimal"


class GrowRisk(StrEnum):
    """Whose risk counts while growing."""

    L1 = "l1"
    REFIT = "refit"
    BEST = "best"


class Mean(StrEnum):
    """Where the means of the responses come from."""

    GLOBAL = "global"
    LEAF = "leaf"


class Scale(StrEnum):
    """What is halved by a split."""

    RANGE = "range"
    QUANTILE = "quantile"


class MissingRows(StrEnum):
    """What to do with rows that have missing values."""

    ERROR = "error"
    DROP = "drop"


On: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--on",
        help=(
            "Columns that the network may vary with, separated by commas: numbers, or text that "
            "names groups."
        ),
        metavar="NAMES",
        show_default=False,
    ),
]
Responses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns of the network, separated by commas.",
        metavar="NAMES",
        show_default="all others",
    ),
]
HeldOut: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=(
            "Column that says by true or 1 which rows judge the tree, for rows that belong "
            "together, such as weeks."
        ),
        metavar="COLUMN",
        show_default="half of the rows, by --seed",
    ),
]
MissingRowsOption: TypeAlias = Annotated[
    MissingRows, typer.Option("--missing", help="Rows with missing values: refuse or drop them.")
]
SearchOption: TypeAlias = Annotated[
    Search,
    typer.Option(
        "--search",
        help=(
            "Take the best split of each part, or find the best of all trees, which refuses where "
            "there are too many."
        ),
        rich_help_panel=GROWTH,
    ),
]
CriterionOption: TypeAlias = Annotated[
    Criterion,
    typer.Option(
        "--criterion",
        help=(
            "Held-out rows judge a split; or the rows themselves, with a price for every part "
            "(--gamma)."
        ),
        rich_help_panel=GROWTH,
    ),
]
Gamma: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Price of parts for --criterion penalized.",
        show_default="0.03",
        rich_help_panel=GROWTH,
    ),
]
Lookahead: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Levels that the greedy search goes on below a split that does not pay off yet.",
        show_default="2",
        rich_help_panel=GROWTH,
    ),
]
GrowRiskOption: TypeAlias = Annotated[
    GrowRisk,
    typer.Option(
        "--grow-risk",
        help="Judge splits by the graphical lasso, by its graph fitted anew, or by the better.",
        rich_help_panel=GROWTH,
    ),
]
MeanOption: TypeAlias = Annotated[
    Mean,
    typer.Option(
        "--mean",
        help="One mean of the responses for all parts, or one for each.",
        rich_help_panel=GROWTH,
    ),
]
ScaleOption: TypeAlias = Annotated[
    Scale,
    typer.Option(
        "--scale", help="Halve the range of a column, or its rows.", rich_help_panel=GROWTH
    ),
]
Depth: TypeAlias = Annotated[
    int, typer.Option(help="How often each column can be halved.", rich_help_panel=GROWTH)
]
TotalDepth: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Largest number of splits above a part.",
        show_default="no limit",
        rich_help_panel=GROWTH,
    ),
]
MinLeaf: TypeAlias = Annotated[
    int,
    typer.Option(help="Fewest rows of a part, to fit to and to judge by.", rich_help_panel=GROWTH),
]
MinGain: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help=(
            "What a split must add to the log-likelihood of the rows that judge it; more gives "
            "fewer and larger parts."
        ),
        show_default="0 to 5, more with few columns",
        rich_help_panel=GROWTH,
    ),
]


def regress(
    data: DataFile,
    on: On,
    responses: Responses = None,
    drop: Drop = None,
    held_out: HeldOut = None,
    missing: MissingRowsOption = MissingRows.ERROR,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    search: SearchOption = Search.GREEDY,
    criterion: CriterionOption = Criterion.HELDOUT,
    gamma: Gamma = None,
    lookahead: Lookahead = None,
    grow_risk: GrowRiskOption = GrowRisk.L1,
    mean: MeanOption = Mean.GLOBAL,
    scale: ScaleOption = Scale.RANGE,
    depth: Depth = 10,
    total_depth: TotalDepth = None,
    min_leaf: MinLeaf = 10,
    min_gain: MinGain = None,
) -> None:
    """Learn how the network of some columns varies with others: a tree with a network per leaf.

    Writes the tree, its leaves and their networks, pictures, the model and a record of the run.
    """
    from edgewise.cli.regress.rows import read_regression

    _check_together(search, criterion, lookahead=lookahead, gamma=gamma, min_gain=min_gain)
    settings = TreeSettings(
        criterion=criterion.value,
        search=search.value,
        grow_risk=grow_risk.value,
        mean=mean.value,
        scale=scale.value,
        max_depth=depth,
        min_samples_leaf=min_leaf,
        lookahead=lookahead,
        gamma=gamma,
        min_gain=min_gain,
        max_total_depth=total_depth,
        seed=seed,
        n_jobs=jobs,
    )
    rows = read_regression(
        data,
        on=on,
        responses=responses or (),
        drop=drop or (),
        held_out=held_out,
        drop_missing=missing is MissingRows.DROP,
    )
    _regress(rows, settings, out, as_json=json)


def _check_together(search: Search, criterion: Criterion, **given: Any) -> None:
    """Refuse options that would mean nothing."""
    for name, value, option, is_fine in (
        ("--lookahead", given["lookahead"], "--search greedy", search is Search.GREEDY),
        ("--gamma", given["gamma"], "--criterion penalized", criterion is Criterion.PENALIZED),
        ("--min-gain", given["min_gain"], "--criterion heldout", criterion is Criterion.HELDOUT),
    ):
        if value is not None and not is_fine:
            raise InputError(f"{name} is for {option}. Leave one of the two out.")


def _regress(rows: Rows, settings: TreeSettings, out: Path, *, as_json: bool) -> None:
    from edgewise.cli.regress.fit import regress_rows, tree_record, tree_summary, write_regressed
    from edgewise.cli.run import ALL_FILES, TREE_FILES, files_in, results_folder
    from edgewise.cli.wording import announce

    name = rows.fingerprint["file"]
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Growing a tree of networks on {len(rows.Y)} rows of {name} ...")
        regressed = regress_rows(rows.X, rows.Y, settings, rows.held_out)
        record = tree_record(
            regressed,
            settings,
            command="regress",
            data=rows.fingerprint,
            treatment=rows.notes,
            warnings=told,
        )
        tell("Writing the files ...")
        text = tree_summary(regressed, name, rows.fingerprint)
        write_regressed(folder, regressed, text, record)
        files = files_in(folder, TREE_FILES)
    announce(text, record, out, files, as_json=as_json, edges=rows_of(regressed.edges))
