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
    Drop,
    Formats,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    Seed,
    confidence_option,
    estimator_option,
    given,
    penalty,
    settings,
    settings_option,
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

#: What a change is a change of.
Basis: TypeAlias = Literal["gaussian", "power", "polynomial", "ising"]

By: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Column with the group of each row; excluded from the network.",
        metavar="COLUMN",
        show_default=False,
    ),
]
Pair: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Groups to compare: reference first, or several in order.",
        metavar="BEFORE,AFTER",
        show_default="all, sorted",
    ),
]
ChangeMethodOption: TypeAlias = Annotated[
    ChangeMethod | None,
    typer.Option(
        "--method",
        help=(
            "Density ratio (KLIEP); D-trace, the most powerful for Gaussian columns; fused "
            "regressions; separate graphical lassos; or joint graphical lasso."
        ),
        show_default="ratio; joint for more than two groups",
    ),
]
BasisOption: TypeAlias = Annotated[
    Basis | None,
    estimator_option(
        help=(
            "Pair features of the density ratio: products of columns (gaussian), of their signed "
            "powers, of polynomials, or of values -1 and 1 (ising)."
        ),
        show_default="gaussian; ising where every column has two values",
    ),
]
ChangeAlpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help="Penalty on changes: a number, or the rule that selects it.",
        metavar="NUMBER|cv",
        show_default="cv; separate ebic",
    ),
]
Coupling: TypeAlias = Annotated[
    str | None,
    estimator_option(
        help=(
            "Penalty on differences between groups in --method fused and joint, whose --alpha "
            "penalises the networks."
        ),
        metavar="NUMBER|cv",
        show_default="cv; joint: chosen with alpha",
    ),
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--permutations",
        help="Number of permutations of the labels for the tests; 0 for no tests.",
        show_default="999; in each window 100",
    ),
]
Paired: TypeAlias = Annotated[
    str | None,
    design_option(help="Subject of each row; permute labels within subjects."),
]
Block: TypeAlias = Annotated[
    str | None,
    design_option(help="Site or batch of each row; permute labels within blocks."),
]
Adjust: TypeAlias = Annotated[
    str | None,
    design_option(
        help="Covariates to adjust for, such as age,sex; excluded from the network.",
        metavar="COLUMNS",
    ),
]
Ordered: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--ordered",
        help="Couple only consecutive groups, as for doses.",
        rich_help_panel="Design",
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Reference of each group, for --method ratio and several groups.",
        metavar="rest|pairs|LABEL",
        show_default="rest",
    ),
]
Risk: TypeAlias = Annotated[
    float | None,
    confidence_option(
        "--risk",
        help="Stop permuting once the verdict at 5 % is decided, up to this risk of error.",
        show_default=False,
    ),
]
WindowOption: TypeAlias = Annotated[
    int | None,
    order_option(
        "--window",
        help="Compare the first rows with sliding windows of this many rows.",
        metavar="ROWS",
        show_default=False,
    ),
]
Step: TypeAlias = Annotated[
    int | None,
    order_option(help="Step between windows.", metavar="ROWS", show_default="half a window"),
]
Reference: TypeAlias = Annotated[
    int | None,
    order_option(
        help="Number of first rows used as reference.",
        metavar="ROWS",
        show_default="as many as a window",
    ),
]


#: Parameters of the estimators that ``--set`` takes.
SETTINGS: Final = (
    *("tol", "max_iter", "alpha_ratio", "degree", "ridge", "standardize", "negligible", "device"),
)
Settings: TypeAlias = Annotated[list[str] | None, settings_option(*SETTINGS)]
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
    alpha: ChangeAlpha = None,
    coupling: Coupling = None,
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
    chosen_settings: Settings = None,
) -> None:
    """Learn how the network differs between groups of rows, or changes over time.

    Groups are labelled by a column (--by); rows in order are compared by windows (--window).
    Writes the changes with p-values, pictures, the model and a record of the run.
    """
    from edgewise.cli.run import run

    if n_permutations is not None and n_permutations < 0:
        raise InputError("negative_permutations", n_permutations=n_permutations)
    more = settings(chosen_settings, *SETTINGS)
    degree, ridge, device = (more.pop(name, None) for name in ("degree", "ridge", "device"))
    standardize, negligible = more.pop("standardize", "within"), more.pop("negligible", 0.0)
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
        random_state=random_state,
        n_jobs=n_jobs,
        **more,
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
            raise InputError("window_one_degree")
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
        raise InputError("nothing_to_compare")
    if by is not None and window is not None:
        raise InputError("by_and_window")
    for option, value, needed, is_there in (
        ("--pair", pair, "--by", by is not None),
        ("--step", step, "--window", window is not None),
        ("--reference", reference, "--window", window is not None),
        *((option, name, "--by", by is not None) for option, name in design.items()),
    ):
        if value is not None and not is_there:
            raise InputError("option_requires_option", option=option, needed=needed)
    is_in_blocks, cluster = (preparation().blocks or 1) > 1, preparation().cluster
    if is_in_blocks and by is None:
        raise InputError("blocks_with_window")
    others = [*design, *(["--cluster"] if cluster not in (None, "none") else [])]
    if is_in_blocks and others:
        raise InputError("blocks_with_design", other=others[0])
    if cluster not in (None, "none") and by is None:
        raise InputError("cluster_with_window")
    for option, rows in (("--window", window), ("--reference", reference)):
        if rows is not None and rows < 2:
            raise InputError("too_few_rows_in_option", option=option, rows=rows)


def _check_method(method: ChangeMethod, **options: Any) -> None:
    """Raise where an option means nothing to a method."""
    for name, value in options.items():
        if value is not None and method not in METHODS_WITH[name]:
            raise InputError(
                "option_of_other_method",
                name=name,
                listed=" or ".join(METHODS_WITH[name]),
                method=method,
            )


def _check_groups(
    method: ChangeMethod,
    groups: Groups | None,
    standardize: str,
    negligible: float,
    *,
    ordered: bool,
    against: str | None,
) -> None:
    """Raise where options do not go with the number of groups."""
    n_groups = 2 if groups is None else len(groups.names)
    if groups is not None and n_groups > 2 and method not in ("ratio", "joint"):
        raise InputError(
            "method_for_two_groups",
            method=method,
            n_groups=n_groups,
            again=again("--pair", ",".join(groups.names[:2])),
        )
    if groups is None and method == "joint":
        raise InputError("joint_with_window")
    if ordered and n_groups == 2 and method != "joint":
        raise InputError("ordered_two_groups")
    if against is not None and (n_groups == 2 or method != "ratio"):
        raise InputError("against_needs_ratio")
    if method == "joint" and (standardize != "within" or negligible):
        option = "negligible" if standardize == "within" else "standardize"
        raise InputError("option_of_two_group_methods", option=option)


def _read_as(method: ChangeMethod | None, basis: Basis | None) -> str | None:
    """Which basis tells whether columns of two values are recoded; None leaves it to them."""
    return basis if method in (None, "ratio") else "gaussian"


def _degrees(text: Any, basis: str) -> int | list[int] | None:
    if text is None:
        return None
    if basis not in WITH_DEGREE:
        raise InputError("degree_without_basis", listed=" or ".join(WITH_DEGREE), basis=basis)
    try:
        degrees = [int(part) for part in str(text).split(",")]
    except ValueError:
        raise InputError("degree_not_whole", text=text) from None
    return degrees if len(degrees) > 1 else degrees[0]
