"""``edgewise compare``: what changed between two groups of rows, or as rows go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from edgewise._core.errors import InputError
from edgewise.cli._cluster import Cluster
from edgewise.cli._labels import TWO_VALUES, Groups, read_rows
from edgewise.cli._options import (
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
from edgewise.cli._shell import is_watched, tell, warnings_told
from edgewise.cli._tables import Source, rows_of
from edgewise.cli.compare.change_options import (
    Basis,
    BasisOption,
    By,
    ChangeAlpha,
    ChangeAlphaRatio,
    ChangeMethod,
    ChangeMethodOption,
    ChangeTolerance,
    Degree,
    Negligible,
    Pair,
    Permutations,
    Reference,
    Ridge,
    Sparsity,
    Step,
    WindowOption,
)
from edgewise.cli.compare.comparing import RATIO, WITH_DEGREE, ChangeSettings
from edgewise.cli.compare.windows import SHUFFLES, Window

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
    from edgewise.cli._folder import ALL_FILES, CHANGE_FILES, files_in, results_folder
    from edgewise.cli._summary import announce
    from edgewise.cli.compare.change_files import write_compared
    from edgewise.cli.compare.change_words import change_summary
    from edgewise.cli.compare.comparing import change_record, compare_groups

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
    from edgewise.cli._folder import ALL_FILES, WINDOW_FILES, files_in, results_folder
    from edgewise.cli._summary import announce
    from edgewise.cli.compare.windows import (
        compare_windows,
        window_record,
        window_summary,
        write_slid,
    )

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
