"""Options of the commands, with their help."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.shell import add_settings, be_quiet

#: Seconds to wait for a scheduler to answer.
PATIENCE: Final = 10


@contextmanager
def on_cluster(address: str, *, patience: float = PATIENCE) -> Iterator[None]:
    """Send everything that runs in parallel to a Dask scheduler."""
    import joblib

    try:
        import distributed
    except ImportError as error:
        raise InputError("dask_not_installed") from error
    try:
        client = distributed.Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError("no_scheduler", address=address) from error
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


# `--help` shows the options without a panel, `--help-all` the others as well.
estimator_option: Final = partial(typer.Option, rich_help_panel="Estimator")
space_option: Final = partial(typer.Option, rich_help_panel="Space")
confidence_option: Final = partial(typer.Option, rich_help_panel="Confidence")
nodes_option: Final = partial(typer.Option, rich_help_panel="Nodes")
run_option: Final = partial(typer.Option, rich_help_panel="Run")

Dask: TypeAlias = Annotated[
    str | None,
    run_option(
        "--dask",
        help=(
            "Run resamples, permutations and folds on the Dask scheduler at this address; its "
            "workers need edgewise."
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


class PictureFormat(StrEnum):
    """Formats of pictures besides PNG; typer takes no list of a Literal."""

    SVG = "svg"
    PDF = "pdf"


#: Families of graphs to simulate from.
Kind: TypeAlias = Literal["erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"]

#: Ways for a network to vary with covariates.
Varying: TypeAlias = Literal["cells", "line", "square"]

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
            "Penalty: a number, or the rule that selects it (ebic, cv, stars); or a rule for "
            "unpenalised graphs (stepwise, fdr)."
        ),
        metavar="NUMBER|stepwise|ebic|cv|stars|fdr",
        show_default="stepwise; in space cv; neighborhood, mixed ebic",
    ),
]
MethodOption: TypeAlias = Annotated[
    Method | None,
    typer.Option(
        help=(
            "Graphical lasso; lasso regression of each column on the others; discrete Markov "
            "network (default if all columns are categorical); or penalised regressions by kind "
            "of column (default for numbers and categories)."
        ),
        show_default="by the kinds of the columns",
    ),
]
KindsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--kinds",
        help=(
            "Declare kinds of columns, as in item1=ordinal,city=nominal: continuous, ordinal, "
            "binary, nominal or count; or the order of levels, as in 'stage=I<II<III'. In `learn`, "
            "implies --method mixed."
        ),
        metavar="NAME=KIND",
        show_default=False,
    ),
]
CovarianceOption: TypeAlias = Annotated[
    Covariance | None,
    typer.Option(
        help=(
            "Correlation matrix: Pearson (correlation), covariance in the units of the columns "
            "(empirical), rank-based (nonparanormal, spearman, kendall), of ordinal answers "
            "(polychoric), or polychoric for columns of few levels only (auto). Treats 0 / 1 "
            "columns as numbers."
        ),
        show_default="auto or correlation",
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Keep only these columns, separated by commas.", metavar="NAMES"),
]
Drop: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Drop these columns, separated by commas.", metavar="NAMES"),
]
Grid: TypeAlias = Annotated[
    str | None,
    space_option(
        help=(
            "Fuse edges of neighbouring columns, which are the sites of a grid row by row (8x8, "
            "4x5x6), a chain, a ring, or neighbours listed in a file of pairs."
        ),
        metavar="SIZES|chain|ring|FILE",
        show_default=False,
    ),
]
Time: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--time",
        help=(
            "Column that says when each row was, by numbers or dates: learn how rows depend on the "
            "rows before them (temporal, contemporaneous and between-unit networks)."
        ),
        metavar="NAME",
        show_default=False,
    ),
]
Series: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--series",
        help=(
            "Columns of the series that rows follow each other in, separated by commas: the unit "
            "first, such as a person, then its parts, such as days."
        ),
        metavar="NAMES",
        show_default=False,
    ),
]
Lags: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--lags",
        help="Number of rows back that effects come from.",
        metavar="N",
        min=1,
        show_default="1",
    ),
]
Resamples: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--resamples",
        help="Number of bootstrap resamples for the confidence of edges; 0 for none.",
        metavar="N",
        show_default="100 if they take less than a minute",
    ),
]
Nodes: TypeAlias = Annotated[
    bool,
    nodes_option(
        "--nodes",
        help="Report centrality, community and predictability of every node.",
    ),
]
Groups: TypeAlias = Annotated[
    Path | None,
    nodes_option(
        "--groups",
        help=(
            "Report bridge centrality between groups of nodes, read from a table with a column "
            "and its group per line."
        ),
        metavar="FILE",
        show_default=False,
    ),
]
Stability: TypeAlias = Annotated[
    bool,
    nodes_option(
        "--stability",
        help="Case-dropping bootstrap of centrality (CS coefficient).",
    ),
]
Seed: TypeAlias = Annotated[int, run_option("--seed", help="Seed of the random numbers.", min=0)]
Jobs: TypeAlias = Annotated[
    int,
    run_option(
        "--jobs",
        help="Number of parallel fits, -1 for all cores.",
        callback=_check_jobs,
    ),
]
Formats: TypeAlias = Annotated[
    list[PictureFormat] | None,
    run_option(
        "--format",
        help="Also write pictures in this vector format; repeat for both.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[
    bool, run_option("--json", help="Print the results as one JSON object.")
]
Stream: TypeAlias = Annotated[
    bool,
    run_option(
        "--stream",
        help=(
            "Read a csv, tsv or parquet file larger than memory, or a folder of such files, in "
            "chunks; columns are numeric unless --method discrete."
        ),
    ),
]
Quiet: TypeAlias = Annotated[
    bool,
    run_option(
        "--quiet",
        help="Print only warnings and errors.",
        callback=be_quiet,
    ),
]
OutFolder: TypeAlias = Annotated[Path, typer.Option(help="Folder to write.", metavar="DIR")]


def settings_option(*names: str) -> Any:
    """Declare ``--set`` for some parameters of the estimators of a command."""
    return estimator_option(
        "--set",
        help=(
            f"Set another parameter of the estimator ({', '.join(names)}), as in "
            f"--set {names[0]}=VALUE; repeat for several."
        ),
        metavar="NAME=VALUE",
        show_default=False,
    )


def settings(words: Sequence[str] | None, *names: str) -> dict[str, Any]:
    """Read the values of ``--set``; what they may be is up to the constraints of the estimators."""
    add_settings("--set", names)
    found: dict[str, Any] = {}
    for word in words or ():
        name, text = setting(word, names, "--set")
        found[name] = _value(text.strip())
    return found


def setting(word: str, names: Sequence[str], option: str) -> tuple[str, str]:
    """Split ``NAME=VALUE`` of an option."""
    name, sign, text = word.partition("=")
    name = name.strip().replace("-", "_")
    if not sign or name not in names:
        raise InputError("unknown_setting", option=option, word=word, names=list(names))
    return name, text


def _value(text: str) -> Any:
    """Read a number or a switch; anything else is text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, (int, float)) or value is None else text


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
