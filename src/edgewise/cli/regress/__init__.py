"""``edgewise regress``: how the network of some columns varies with others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgewise._core.errors import InputError
from edgewise.cli._cluster import Cluster
from edgewise.cli._options import DataFile, Drop, Jobs, Json, OutFolder, Quiet, Seed
from edgewise.cli._shell import tell, warnings_told
from edgewise.cli._tables import rows_of
from edgewise.cli.regress.regress_options import (
    Criterion,
    CriterionOption,
    Depth,
    Gamma,
    GrowRisk,
    GrowRiskOption,
    HeldOut,
    Lookahead,
    Mean,
    MeanOption,
    MinGain,
    MinLeaf,
    MissingRows,
    MissingRowsOption,
    On,
    Responses,
    Scale,
    ScaleOption,
    Search,
    SearchOption,
    TotalDepth,
)
from edgewise.cli.regress.regressing import TreeSettings

if TYPE_CHECKING:
    from edgewise.cli.regress.rows import Rows


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
    from edgewise.cli._folder import ALL_FILES, TREE_FILES, files_in, results_folder
    from edgewise.cli._summary import announce
    from edgewise.cli.regress.regress_files import write_regressed
    from edgewise.cli.regress.regress_words import tree_summary
    from edgewise.cli.regress.regressing import regress_rows, tree_record

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
