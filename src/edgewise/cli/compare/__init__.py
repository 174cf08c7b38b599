"""``edgewise compare``: what changed between two groups of rows, or as rows go on."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import RATIO, WITH_DEGREE, ChangeSettings
from edgewise.cli.compare.windows import SHUFFLES, Window
from edgewise.cli.input import Source, rows_of
from edgewise.cli.labels import TWO_VALUES, Groups, read_rows
from edgewise.cli.options import (
    CONFIDENCE,
    NUMERICS,
    Cluster,
    Columns,
    DataFile,
    Drop,
    Jobs,
    Json,
    MaxIter,
    OutFolder,
    Quiet,
    Seed,
    strength,
)
from edgewise.cli.shell import is_watched, tell, warnings_told

ORDER: Final = "Rows in order"


class ChangeMethod(StrEnum):
    """How a change between two groups is learned."""

    RATIO = "ratio"
    DTRACE = "dtrace"
    FUSED = "fused"
    SEPARATE = "separate"


class Basis(StrEnum):
    """What a change is a change of."""

    GAUSSIAN = "gaussian"
    POWER = "power"
    POLYNOMIAL = "polynomial"
    ISING = "ising"


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
        help="Labels to compare, the one before and the one after, where there are more than two.",
        metavar="BEFORE,AFTER",
        show_default="both, sorted",
    ),
]
ChangeMethodOption: TypeAlias = Annotated[
    ChangeMethod,
    typer.Option(
        "--method",
        help=(
            "Ratio of the densities; the difference of two precision matrices by D-trace, the "
            "strongest simple method for Gaussian columns; regressions with a sparse difference; "
            "or two graphical lassos."
        ),
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
        help="Degree of power or polynomial; of several, held-out rows choose.",
        metavar="K[,K...]",
        show_default="2",
    ),
]
ChangeAlpha: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help="Strength of the penalty on changes: a number, or the rule that picks it.",
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
Sparsity: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Penalty of --method fused on both networks themselves; needed where rows are few.",
        show_default="0",
    ),
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Shuffles of the labels to test the changes against; 0 for none.",
        show_default="200; in each window 100",
        rich_help_panel=CONFIDENCE,
    ),
]
Negligible: TypeAlias = Annotated[
    float, typer.Option(help="Leave out changes up to this size.", show_default="0")
]
WindowOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--window",
        help="Compare the first rows with windows of this many rows that follow them.",
        metavar="ROWS",
        show_default=False,
        rich_help_panel=ORDER,
    ),
]
Step: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Rows from one window to the next.",
        metavar="ROWS",
        show_default="half a window",
        rich_help_panel=ORDER,
    ),
]
Reference: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many of the first rows are the reference.",
        metavar="ROWS",
        show_default="as many as a window",
        rich_help_panel=ORDER,
    ),
]
ChangeAlphaRatio: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--alpha-ratio",
        help="Smallest alpha that a rule tries, as a share of the largest.",
        show_default="0.1",
        rich_help_panel=NUMERICS,
    ),
]
ChangeTolerance: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--tol",
        help="Duality gap per column at which the fit stops.",
        show_default="1e-8; other methods 1e-6",
        rich_help_panel=NUMERICS,
    ),
]


#: Shuffles of the labels of two groups.
PERMUTATIONS: Final = 200
#: Methods that an option means something to.
METHODS_WITH: Final = {
    "basis": (RATIO,),
    "degree": (RATIO,),
    "ridge": (RATIO, ChangeMethod.DTRACE.value),
    "sparsity": (ChangeMethod.FUSED.value,),
}


def compare(
    data: DataFile,
    by: By = None,
    pair: Pair = None,
    method: ChangeMethodOption = ChangeMethod.RATIO,
    basis: BasisOption = None,
    degree: Degree = None,
    alpha: ChangeAlpha = None,
    ridge: Ridge = None,
    sparsity: Sparsity = None,
    negligible: Negligible = 0.0,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    window: WindowOption = None,
    step: Step = None,
    reference: Reference = None,
    permutations: Permutations = None,
    alpha_ratio: ChangeAlphaRatio = None,
    tol: ChangeTolerance = None,
    max_iter: MaxIter = None,
) -> None:
    """Learn what changed between two groups of rows: which pairs of columns, and how.

    The rows have a label in a column (--by), or an order (--window).
    Writes the changes with p-values, pictures, the model and a record of the run.
    """
    sliding = _window(by, pair, window, step, reference)
    _check_method(method, basis=basis, degree=degree, ridge=ridge, sparsity=sparsity)
    default = PERMUTATIONS if sliding is None else SHUFFLES
    settings = ChangeSettings(
        method=method.value,
        alpha=None if alpha is None else strength(alpha),
        ridge=ridge,
        sparsity=sparsity,
        negligible=negligible,
        n_permutations=default if permutations is None else permutations,
        alpha_ratio=alpha_ratio,
        tol=tol,
        max_iter=max_iter,
        seed=seed,
        n_jobs=jobs,
    )
    source, groups = read_rows(
        data,
        columns=columns or (),
        drop=drop or (),
        by=by,
        pair=pair,
        basis=_read_as(method, basis),
    )
    if method is ChangeMethod.RATIO:
        chosen = (TWO_VALUES if source.is_discrete else Basis.GAUSSIAN) if basis is None else basis
        settings = replace(settings, basis=str(chosen), degree=_degrees(degree, str(chosen)))
    if groups is not None:
        _compare_groups(source, groups, settings, out, as_json=json, is_asked=pair is not None)
    elif sliding is not None:
        _compare_windows(source, sliding, settings, out, as_json=json)


def _window(
    by: str | None, pair: str | None, size: int | None, step: int | None, reference: int | None
) -> Window | None:
    """Find whether rows are compared by label or by order, and refuse what goes with the other."""
    if by is None and size is None:
        raise InputError(
            "Which rows are to be compared? Name the column of their labels (--by COLUMN), or, "
            "for rows in order, the size of a sliding window (--window ROWS)."
        )
    if by is not None and size is not None:
        raise InputError("--by compares labels and --window rows in order. Give one of them.")
    for option, value, needed, is_there in (
        ("--pair", pair, "--by", by is not None),
        ("--step", step, "--window", size is not None),
        ("--reference", reference, "--window", size is not None),
    ):
        if value is not None and not is_there:
            raise InputError(f"{option} goes with {needed}. Leave it out.")
    for option, rows in (("--window", size), ("--reference", reference)):
        if rows is not None and rows < 2:
            raise InputError(f"{option} must be at least 2 rows, got {rows}.")
    return None if size is None else Window(size=size, step=step, reference=reference)


def _check_method(method: ChangeMethod, **given: Any) -> None:
    """Refuse options that mean nothing to a method."""
    for name, value in given.items():
        if value is not None and method.value not in METHODS_WITH[name]:
            raise InputError(
                f"--{name} is for --method {' or '.join(METHODS_WITH[name])}, and the method is "
                f"{method.value}. Leave one of the two out."
            )


def _read_as(method: ChangeMethod, basis: Basis | None) -> str | None:
    """Which basis tells whether columns of two values are recoded; None leaves it to them."""
    if method is not ChangeMethod.RATIO:
        return Basis.GAUSSIAN.value
    return None if basis is None else basis.value


def _degrees(text: str | None, basis: str) -> tuple[int, ...]:
    if text is None:
        return ()
    if basis not in WITH_DEGREE:
        raise InputError(
            f"--degree is for --basis {' or '.join(WITH_DEGREE)}, and the basis is {basis}. Leave "
            "--degree out, or choose one of them."
        )
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--degree takes whole numbers, as in 2 or 2,3,4; got '{text}'.") from None


def _compare_groups(
    source: Source,
    groups: Groups,
    settings: ChangeSettings,
    out: Path,
    *,
    as_json: bool,
    is_asked: bool,
) -> None:
    from edgewise.cli.compare.groups import (
        change_record,
        change_summary,
        compare_groups,
        write_compared,
    )
    from edgewise.cli.run import ALL_FILES, CHANGE_FILES, files_in, results_folder
    from edgewise.cli.wording import announce

    name = source.fingerprint["file"]
    notes = list(source.notes)
    if not is_asked and isinstance(groups.y.cat.categories[0], str):
        before, after = groups.names
        notes.append(f"labels in the order of the alphabet; --pair {after},{before} turns it round")
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Comparing {' and '.join(map(str, groups.counts))} rows of {name} ...")
        compared = compare_groups(source.frame, groups, settings, verbose=is_watched())
        record = change_record(
            compared,
            settings,
            command="compare",
            data={**source.fingerprint, "by": str(groups.y.name)},
            treatment=notes,
            warnings=told,
        )
        tell("Writing the files ...")
        text = change_summary(compared, settings, name, source.fingerprint)
        write_compared(folder, compared, settings, text, record)
        files = files_in(folder, CHANGE_FILES)
    announce(text, record, out, files, as_json=as_json, changes=rows_of(compared.changes))


def _compare_windows(
    source: Source, window: Window, settings: ChangeSettings, out: Path, *, as_json: bool
) -> None:
    from edgewise.cli.compare.windows import (
        compare_windows,
        window_record,
        window_summary,
        write_slid,
    )
    from edgewise.cli.run import ALL_FILES, WINDOW_FILES, files_in, results_folder
    from edgewise.cli.wording import announce

    if len(settings.degree) > 1:
        raise InputError("--window takes one degree, to compare windows by. Pass one to --degree.")
    name = source.fingerprint["file"]
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Comparing windows of the {len(source.frame)} rows of {name} ...")
        slid = compare_windows(source.frame, window, settings, verbose=is_watched())
        record = window_record(
            slid,
            settings,
            command="compare",
            data=source.fingerprint,
            treatment=source.notes,
            warnings=told,
        )
        tell("Writing the files ...")
        text = window_summary(slid, settings, name, source.fingerprint)
        write_slid(folder, slid, settings, text, record)
        files = files_in(folder, WINDOW_FILES)
    announce(text, record, out, files, as_json=as_json, changes=rows_of(slid.changes))
