"""Options of the commands, with their help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.shell import be_quiet

#: Seconds to wait for a scheduler to answer.
PATIENCE: Final = 10


@contextmanager
def on_cluster(address: str, *, patience: float = PATIENCE) -> Iterator[None]:
    """Send everything that runs in parallel to a Dask scheduler."""
    import joblib

    try:
        import distributed
    except ImportError as error:
        raise InputError(
            "--dask needs Dask, which is not installed. Run: pip install 'edgewise[dask]'."
        ) from error
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at '{address}'. Give its address as it prints it, as in "
            "--dask tcp://127.0.0.1:8786."
        ) from error
    with client, joblib.parallel_config("dask", client=client):
        yield


def _use_cluster(context: typer.Context, address: str | None) -> str | None:
    if address is not None:
        context.with_resource(on_cluster(address))
    return address


def _check_jobs(n_jobs: int) -> int:
    # Without joblib, so that the help stays quick.
    if n_jobs == 0:
        from edgewise._core.parallel import check_jobs

        check_jobs(n_jobs)
    return n_jobs


Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help=(
            "Address of a Dask scheduler that resamples, permutations, folds and tasks are sent "
            "to; its workers need edgewise too. The result does not depend on it."
        ),
        metavar="ADDRESS",
        show_default=False,
        callback=_use_cluster,
    ),
]

#: How the graph is learned.
Method: TypeAlias = Literal["gaussian", "neighborhood", "discrete", "mixed"]

#: What the graph is learned from.
Covariance: TypeAlias = Literal[
    "correlation", "empirical", "nonparanormal", "spearman", "kendall", "polychoric", "auto"
]

#: How the structure of a discrete network is scored.
Criterion: TypeAlias = Literal["bjp", "ib", "mpl"]

#: Where to solve.
Device: TypeAlias = Literal["cpu", "cuda", "auto"]
#: Options that say where columns sit.
PLACES: Final = ("--grid", "--ring", "--chain", "--pairs")

#: What to do with correlations that do not fit together.
Repair: TypeAlias = Literal["ridge", "clip"]

#: What to do with columns that have one value in every row.
Constant: TypeAlias = Literal["error", "drop", "ridge"]


class PictureFormat(StrEnum):
    """Formats of pictures besides PNG; typer takes no list of a Literal."""

    SVG = "svg"
    PDF = "pdf"


#: Families of graphs to simulate from.
Kind: TypeAlias = Literal["erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"]

#: Ways for a network to vary with covariates.
Varying: TypeAlias = Literal["cells", "line", "square"]

space_option: Final = partial(typer.Option, rich_help_panel="Columns that are sites in space")
confidence_option: Final = partial(typer.Option, rich_help_panel="Confidence")
numerics_option: Final = partial(typer.Option, rich_help_panel="Numerics")
nodes_option: Final = partial(typer.Option, rich_help_panel="Nodes")

DataFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help=(
            "Table with a line of column names: csv, tsv, txt, parquet, npz, xlsx, ods, sav, dta, "
            "sas7bdat, feather or jsonl; - for csv from standard input."
        ),
        metavar="DATA",
        show_default=False,
    ),
]
Alpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=(
            "Penalty: a number, or the rule that picks it (ebic, cv or stars); or a rule for "
            "graphs without a penalty (stepwise or fdr)."
        ),
        metavar="NUMBER|stepwise|ebic|cv|stars|fdr",
        show_default="stepwise; in space cv; neighborhood, mixed ebic",
    ),
]
MethodOption: TypeAlias = Annotated[
    Method | None,
    typer.Option(
        help=(
            "Graphical lasso; a lasso regression of each column on the others; a Markov network of "
            "discrete columns, which a table of levels gets by itself; or a regression by the kind "
            "of each column, which a table of numbers and levels gets."
        ),
        show_default="by the kinds of the columns",
    ),
]
KindsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--kinds",
        help=(
            "What columns are, as in item1=ordinal,city=nominal: continuous, ordinal, binary, "
            "nominal or count. The others are guessed. `learn` then goes by --method mixed."
        ),
        metavar="NAME=KIND",
        show_default=False,
    ),
]
CriterionOption: TypeAlias = Annotated[
    Criterion | None,
    typer.Option(
        help=(
            "Score of a discrete network: blankets joint posterior, independence-based score or "
            "marginal pseudo-likelihood."
        ),
        show_default="bjp",
    ),
]
CovarianceOption: TypeAlias = Annotated[
    Covariance | None,
    typer.Option(
        help=(
            "What to learn from: correlation treats all columns alike, empirical keeps their "
            "units, nonparanormal, spearman and kendall see ranks only, polychoric takes numbers "
            "for ordered answers, and auto those of few levels. The default is auto where a "
            "column has few levels, else correlation. Naming one also forces a table of two "
            "levels to count as numbers."
        ),
        show_default="auto or correlation",
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Use only these columns, separated by commas.", metavar="NAMES"),
]
Drop: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Leave these columns out, separated by commas.", metavar="NAMES"),
]
Grid: TypeAlias = Annotated[
    str | None,
    space_option(
        help=(
            "The columns are the sites of a grid of these sizes, row by row, as the pixels of an "
            "image: 8x8, or 4x5x6. Edges of neighbouring sites are drawn to equal strength."
        ),
        metavar="SIZES",
        show_default=False,
    ),
]
Ring: TypeAlias = Annotated[
    bool,
    space_option(
        "--ring", help="The columns follow each other around a closed line, as along an outline."
    ),
]
Chain: TypeAlias = Annotated[
    bool,
    space_option("--chain", help="The columns follow each other along a line."),
]
Pairs: TypeAlias = Annotated[
    Path | None,
    space_option(
        help=(
            "Table of neighbours, two columns per line: names, or numbers that start at 0. A line "
            "of headings may come first."
        ),
        metavar="FILE",
        show_default=False,
    ),
]
Tau: TypeAlias = Annotated[
    str | None,
    space_option(
        help="How strongly edges of neighbours are drawn together: a number, or cv to pick it.",
        metavar="NUMBER|cv",
        show_default="cv",
    ),
]
ConstantOption: TypeAlias = Annotated[
    Constant | None,
    space_option(
        help=(
            "Columns with one value in every row, as pixels at the border of an image: refuse "
            "them, leave them without an edge, or add a thousandth of the mean variance to every "
            "variance."
        ),
        show_default="error",
    ),
]
ConfidenceOption: TypeAlias = Annotated[
    bool | None,
    confidence_option(
        "--confidence/--no-confidence",
        help="Learn again from resampled rows and tell how often each edge comes back.",
        show_default="where it takes less than a minute",
    ),
]
Resamples: TypeAlias = Annotated[
    int | None,
    confidence_option(
        "--resamples",
        help="Number of bootstrap resamples; also skips the time estimate.",
        show_default="100",
    ),
]
Nodes: TypeAlias = Annotated[
    bool,
    nodes_option(
        "--nodes",
        help="Describe every column too: centrality, community, and how well others predict it.",
    ),
]
Groups: TypeAlias = Annotated[
    Path | None,
    nodes_option(
        "--groups",
        help=(
            "Table of groups, a column and its group per line: which nodes are bridges between "
            "them. A line of headings may come first."
        ),
        metavar="FILE",
        show_default=False,
    ),
]
Stability: TypeAlias = Annotated[
    bool,
    nodes_option(
        "--stability",
        help="Learn again from parts of the rows: does the order of the nodes stay?",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Random seed; equal seeds give equal results.", min=0)
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        "--jobs",
        help="Number of parallel fits, -1 for all cores; the result does not depend on it.",
        callback=_check_jobs,
    ),
]
Formats: TypeAlias = Annotated[
    list[PictureFormat] | None,
    typer.Option(
        "--format",
        help="Write each picture in this format too, for print. Give it again for both.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of words.")
]
Stream: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--stream",
        help=(
            "Read the table piece by piece and keep its sums alone: for a csv, tsv or parquet "
            "file larger than memory, or a folder of such files. Columns count as numbers, unless "
            "--method discrete."
        ),
    ),
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quiet",
        help="Write the files and say nothing but warnings and errors.",
        callback=be_quiet,
    ),
]
OutFolder: TypeAlias = Annotated[Path, typer.Option(help="Folder to write.", metavar="DIR")]
RepairOption: TypeAlias = Annotated[
    Repair | None,
    numerics_option(
        help="Repair correlations that are not positive definite instead of refusing them.",
        show_default=False,
    ),
]
AlphaRatio: TypeAlias = Annotated[
    float | None,
    numerics_option(
        help="Smallest alpha (and tau) that a rule tries, as a share of the largest.",
        show_default="by number of rows; in space 1e-3",
    ),
]
Tolerance: TypeAlias = Annotated[
    float | None,
    numerics_option(
        help="Duality gap per column at which the fit stops.",
        show_default="1e-6; neighborhood 1e-8",
    ),
]
MaxIter: TypeAlias = Annotated[
    int | None,
    numerics_option(
        help="Largest number of iterations of one fit.", show_default="that of the method"
    ),
]
DeviceOption: TypeAlias = Annotated[
    Device | None,
    numerics_option(
        help="Solve on a GPU (cuda), by way of PyTorch, or where that is the faster one (auto).",
        show_default="cpu",
    ),
]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given, as keywords of an estimator."""
    return {name: value for name, value in options.items() if value is not None}


def penalty(text: str | None) -> float | str | None:
    """Parse a float, or return the text unchanged (e.g. 'cv')."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
