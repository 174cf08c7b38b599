"""``edgewise compare``: changes between groups of rows, or along ordered rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.labels import TWO_VALUES, read_rows
from edgewise.cli.options import (
    Columns,
    Dask,
    DataFile,
    DeviceOption,
    Drop,
    Formats,
    Jobs,
    Json,
    MaxIter,
    OutFolder,
    Quiet,
    Seed,
    confidence_option,
    given,
    numerics_option,
    penalty,
)
from edgewise.cli.prepare import preparation
from edgewise.cli.shell import again

if TYPE_CHECKING:
    from edgewise.cli.input import Source
    from edgewise.cli.labels import Groups
    from edgewise.cli.run import Result

order_option: Final = partial(typer.Option, rich_help_panel="Rows in order")
design_option: Final = partial(
    typer.Option, rich_help_panel="Design", metavar="COLUMN", show_default=False
)

#: How a change between two groups is learned.
ChangeMethod: TypeAlias = Literal["ratio", "dtrace", "fused", "separate", "joint"]

#: What columns are divided by.
Standardization: TypeAlias = Literal["within", "pooled"]

#: What a change is a change of.
Basis: TypeAlias = Literal["gaussian", "power", "polynomial", "ising"]

By: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column that holds the label of each row; it is left out of the network.",
        metavar="COLUMN",
        show_default=False,
    ),
]
Pair: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels to compare: the one before and the one after, or several in their order.",
        metavar="BEFORE,AFTER",
        show_default="all, sorted",
    ),
]
ChangeMethodOption: TypeAlias = Annotated[
    ChangeMethod | None,
    typer.Option(
        "--method",
        help=(
            "Ratio of the densities; the difference of two precision matrices by D-trace, the "
            "strongest simple method for Gaussian columns; regressions with a sparse difference; "
            "two graphical lassos; or the networks of all groups learned together."
        ),
        show_default="ratio; joint for more than two groups",
    ),
]
BasisOption: TypeAlias = Annotated[
    Basis | None,
    typer.Option(
        help=(
            "What the ratio is of: products of two columns; of their signed powers; all products "
            "of powers up to a degree; or products of values -1 and 1, which a table of two values "
            "in every column gets by itself."
        ),
        show_default="gaussian; ising where every column has two values",
    ),
]
Degree: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Degree of power or polynomial; of several, held-out rows choose one.",
        metavar="K[,K...]",
        show_default="2",
    ),
]
StandardizeOption: TypeAlias = Annotated[
    Standardization,
    typer.Option(
        "--standardize",
        help=(
            "Divide columns by their spread within each group, so that networks are compared; or "
            "by one of both groups, so that a change of spread counts."
        ),
    ),
]
ChangeAlpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help="Penalty on changes: a number, or the rule that picks it.",
        metavar="NUMBER|cv",
        show_default="cv; separate ebic",
    ),
]
Ridge: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Curvature that keeps the ratio finite; with 0, alpha must not be too small.",
        show_default="0.1",
    ),
]
Coupling: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=(
            "Penalty on differences of --method fused and joint, whose --alpha is the sparsity of "
            "the networks themselves."
        ),
        metavar="NUMBER|cv",
        show_default="cv; joint: chosen with alpha",
    ),
]
Permutations: TypeAlias = Annotated[
    int | None,
    confidence_option(
        "--permutations",
        help="Permutations of the labels to test the changes against; 0 for none.",
        show_default="999; in each window 100",
    ),
]
Negligible: TypeAlias = Annotated[
    float, typer.Option(help="Leave out changes up to this size.", show_default="0")
]
Paired: TypeAlias = Annotated[
    str | None,
    design_option(
        help="Subject of each row, with rows in every group: labels change places within subjects."
    ),
]
Block: TypeAlias = Annotated[
    str | None,
    design_option(help="Site, batch or the like: labels change places within blocks only."),
]
Adjust: TypeAlias = Annotated[
    str | None,
    design_option(
        help="Covariates to adjust the columns for, such as age,sex; not of the network.",
        metavar="COLUMNS",
    ),
]
Ordered: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--ordered",
        help="Groups have an order, as doses have: only those that follow each other are coupled.",
        rich_help_panel="Design",
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="With --method ratio and several groups: what each group is compared with.",
        metavar="rest|pairs|LABEL",
        show_default="rest",
    ),
]
Risk: TypeAlias = Annotated[
    float | None,
    confidence_option(
        "--risk",
        help="End permutations once the verdict at 5 % is decided, at this risk of another one.",
        show_default=False,
    ),
]
WindowOption: TypeAlias = Annotated[
    int | None,
    order_option(
        "--window",
        help="Compare the first rows with windows of this many rows that follow them.",
        metavar="ROWS",
        show_default=False,
    ),
]
Step: TypeAlias = Annotated[
    int | None,
    order_option(
        help="Rows from one window to the next.", metavar="ROWS", show_default="half a window"
    ),
]
Reference: TypeAlias = Annotated[
    int | None,
    order_option(
        help="How many of the first rows are the reference.",
        metavar="ROWS",
        show_default="as many as a window",
    ),
]
ChangeAlphaRatio: TypeAlias = Annotated[
    float | None,
    numerics_option(
        "--alpha-ratio",
        help="Smallest alpha that a rule tries, as a share of the largest.",
        show_default="0.1",
    ),
]
ChangeTolerance: TypeAlias = Annotated[
    float | None,
    numerics_option(
        "--tol",
        help="Duality gap per column at which the fit stops.",
        show_default="1e-8; other methods 1e-6",
    ),
]


#: Permutations of the labels of two groups, and of those in each window.
PERMUTATIONS, IN_WINDOWS = 999, 100
#: Seconds on one core by permutation, row and pair of columns: 9 for 999, 1,000 x 100.
SECONDS_PER_PRODUCT: Final = 1e-9
#: Methods that an option means something to.
METHODS_WITH: Final = {
    "basis": ("ratio",),
    "degree": ("ratio",),
    "ridge": ("ratio", "dtrace"),
    "coupling": ("fused", "joint"),
    "device": ("ratio",),
}
#: Bases whose features have a degree.
WITH_DEGREE: Final = ("power", "polynomial")


def compare(
    data: DataFile,
    by: By = None,
    pair: Pair = None,
    method: ChangeMethodOption = None,
    basis: BasisOption = None,
    degree: Degree = None,
    standardize: StandardizeOption = "within",
    alpha: ChangeAlpha = None,
    ridge: Ridge = None,
    coupling: Coupling = None,
    negligible: Negligible = 0.0,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    formats: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
    paired: Paired = None,
    block: Block = None,
    adjust: Adjust = None,
    ordered: Ordered = False,
    against: Against = None,
    window: WindowOption = None,
    step: Step = None,
    reference: Reference = None,
    n_permutations: Permutations = None,
    risk: Risk = None,
    alpha_ratio: ChangeAlphaRatio = None,
    tol: ChangeTolerance = None,
    max_iter: MaxIter = None,
    device: DeviceOption = None,
) -> None:
    """Learn what changed between groups of rows: which groups, which pairs of columns, and how.

    The rows have a label in a column (--by), or an order (--window).
    Writes the changes with p-values, pictures, the model and a record of the run.
    """
    from edgewise.cli.run import run

    if n_permutations is not None and n_permutations < 0:
        raise InputError(f"--permutations must be at least 1, or 0 for none; got {n_permutations}.")
    design = given(**{"--paired": paired, "--block": block, "--adjust": adjust})
    _check_rows(by, pair, window, step, reference, design)
    ratio_only = {"basis": basis, "degree": degree, "ridge": ridge}
    # Methods that have no use for a GPU take the CPU anyway.
    gpu = device if device == "cuda" else None
    _check_method(method or "ratio", **ratio_only, device=gpu)
    if n_permutations is None:
        n_permutations = PERMUTATIONS if window is None else IN_WINDOWS
    chosen = {"columns": columns or (), "drop": drop or ()}
    source, groups = read_rows(
        data, by=by, pair=pair, basis=_read_as(method, basis), design=design, **chosen
    )
    is_ratio = any(value is not None for value in (*ratio_only.values(), against))
    n_groups = 2 if groups is None else len(groups.names)
    method = method or ("ratio" if n_groups == 2 or is_ratio else "joint")
    _check_method(method, device=gpu, coupling=coupling)
    _check_groups(method, groups, standardize, negligible, ordered=ordered, against=against)
    parameters = given(
        alpha=penalty(alpha),
        ridge=ridge,
        coupling=penalty(coupling),
        negligible=None if method == "joint" else negligible,
        alpha_ratio=alpha_ratio,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if method == "ratio":
        parameters["basis"] = basis or (TWO_VALUES if source.is_discrete else "gaussian")
        parameters |= given(degree=_degrees(degree, parameters["basis"]), device=device)
    if method != "joint" and parameters.get("basis") != TWO_VALUES:
        parameters["standardize"] = standardize
    what: dict[str, Any] = {"method": method, "n_permutations": n_permutations}
    sizes: dict[str, Any] = {"window": window, "step": step, "reference": reference}
    several = {"risk": risk, "ordered": ordered, "against": against}
    message, fit = _fit(source, groups, parameters, what, sizes, several)
    run(
        "compare",
        source,
        fit,
        out,
        message=message,
        seed=random_state,
        formats=formats or (),
        as_json=json,
        seconds=SECONDS_PER_PRODUCT * n_permutations * source.n_samples * source.n_features**2,
    )


def _fit(
    source: Source,
    groups: Groups | None,
    parameters: dict[str, Any],
    what: dict[str, Any],
    sizes: dict[str, Any],
    several: dict[str, Any],
) -> tuple[str, Callable[[], Result]]:
    """Say what will be compared, and return the call that does it."""
    from edgewise.cli.compare.groups import compare_groups
    from edgewise.cli.compare.several import compare_several
    from edgewise.cli.compare.windows import compare_windows

    if groups is None:
        if isinstance(parameters.get("degree"), list):
            raise InputError(
                "--window takes one degree to compare windows by. Pass one to --degree."
            )
        message = f"Comparing windows of the {source.extent}"
        return message, partial(compare_windows, source, parameters, **sizes, **what)
    if len(groups.names) > 2 or what["method"] == "joint":
        message = f"Comparing {len(groups.names)} groups in {source.extent}"
        return message, partial(compare_several, source, groups, parameters, **several, **what)
    message = f"Comparing two groups in {source.extent}"
    options = {"risk": several["risk"], **what}
    return message, partial(compare_groups, source, groups, parameters, **options)


def _check_rows(
    by: str | None,
    pair: str | None,
    window: int | None,
    step: int | None,
    reference: int | None,
    design: Mapping[str, str],
) -> None:
    """Raise unless rows are compared either by label or by order, with options that go with it."""
    if by is None and window is None:
        raise InputError(
            "Which rows are to be compared? Name the column of their labels (--by COLUMN), or, "
            "for rows in order, the size of a sliding window (--window ROWS)."
        )
    if by is not None and window is not None:
        raise InputError("--by compares labels and --window rows in order. Give one of them.")
    for option, value, needed, is_there in (
        ("--pair", pair, "--by", by is not None),
        ("--step", step, "--window", window is not None),
        ("--reference", reference, "--window", window is not None),
        *((option, name, "--by", by is not None) for option, name in design.items()),
    ):
        if value is not None and not is_there:
            raise InputError(f"{option} goes with {needed}. Leave it out.")
    is_in_blocks, cluster = (preparation().blocks or 1) > 1, preparation().cluster
    if is_in_blocks and by is None:
        raise InputError(
            "--blocks goes with --by: windows of rows are compared as they are. Leave it out, or "
            "keep one row in several with --every."
        )
    others = [*design, *(["--cluster"] if cluster not in (None, "none") else [])]
    if is_in_blocks and others:
        raise InputError(
            f"--blocks is for rows in time, and {others[0]} for rows that are otherwise "
            "free to change groups. Give one of them."
        )
    if cluster not in (None, "none") and by is None:
        raise InputError("--cluster goes with --by. Leave it out.")
    for option, rows in (("--window", window), ("--reference", reference)):
        if rows is not None and rows < 2:
            raise InputError(f"{option} must be at least 2 rows, got {rows}.")


def _check_method(method: ChangeMethod, **options: Any) -> None:
    """Raise where an option means nothing to a method."""
    for name, value in options.items():
        if value is not None and method not in METHODS_WITH[name]:
            raise InputError(
                f"--{name} is for --method {' or '.join(METHODS_WITH[name])}, and the method is "
                f"{method}. Leave one of the two out."
            )


def _check_groups(
    method: ChangeMethod,
    groups: Groups | None,
    standardize: Standardization,
    negligible: float,
    *,
    ordered: bool,
    against: str | None,
) -> None:
    """Raise where options do not go with the number of groups."""
    n_groups = 2 if groups is None else len(groups.names)
    if groups is not None and n_groups > 2 and method not in ("ratio", "joint"):
        raise InputError(
            f"--method {method} compares two groups, and there are {n_groups}. Name two: "
            f"{again('--pair', ','.join(groups.names[:2]))}. Or leave --method out."
        )
    if groups is None and method == "joint":
        raise InputError("--method joint goes with --by: windows are compared two at a time.")
    if ordered and n_groups == 2 and method != "joint":
        raise InputError("--ordered is for three groups or more, and there are two. Leave it out.")
    if against is not None and (n_groups == 2 or method != "ratio"):
        raise InputError("--against is for --method ratio with three groups or more.")
    if method == "joint" and (standardize != "within" or negligible):
        option = "--negligible" if standardize == "within" else "--standardize pooled"
        raise InputError(
            f"{option} is for the methods of two groups; --method joint compares correlations. "
            "Leave it out."
        )


def _read_as(method: ChangeMethod | None, basis: Basis | None) -> str | None:
    """Which basis tells whether columns of two values are recoded; None leaves it to them."""
    return basis if method in (None, "ratio") else "gaussian"


def _degrees(text: str | None, basis: str) -> int | list[int] | None:
    if text is None:
        return None
    if basis not in WITH_DEGREE:
        raise InputError(
            f"--degree is for --basis {' or '.join(WITH_DEGREE)}, and the basis is {basis}. Leave "
            "--degree out, or choose one of them."
        )
    try:
        degrees = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--degree takes whole numbers, as in 2 or 2,3,4; got '{text}'.") from None
    return degrees if len(degrees) > 1 else degrees[0]
