"""``edgewise direct``: which way influences run between the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgewise._core.errors import InputError
from edgewise.cli._cluster import Cluster
from edgewise.cli._confidence import Confidence
from edgewise.cli._options import (
    Columns,
    ConfidenceOption,
    DataFile,
    Drop,
    Jobs,
    Json,
    OutFolder,
    Quiet,
    RepairOption,
    Seed,
    strength,
)
from edgewise.cli._shell import is_watched, tell, warnings_told
from edgewise.cli._tables import did_you_mean, named_columns, read_source, rows_of
from edgewise.cli.direct.direct_options import (
    ArcResamples,
    BlanketMethod,
    BlanketMethodOption,
    DirectAlpha,
    Forbid,
    MissingRows,
    MissingRowsOption,
    Require,
    Significance,
    Standardize,
    Tier,
)
from edgewise.cli.direct.directing import DirectSettings


def direct(
    data: DataFile,
    method: BlanketMethodOption = BlanketMethod.IAMB,
    significance: Significance = 0.01,
    alpha: DirectAlpha = "ebic",
    standardize: Standardize = True,
    missing: MissingRowsOption = MissingRows.ERROR,
    columns: Columns = None,
    drop: Drop = None,
    out: OutFolder = Path("edgewise-out"),
    json: Json = False,
    quiet: Quiet = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    forbid: Forbid = None,
    require: Require = None,
    tier: Tier = None,
    confidence: ConfidenceOption = None,
    resamples: ArcResamples = None,
    repair: RepairOption = None,
) -> None:
    """Learn which way influences run between columns, as far as the rows can tell.

    Two methods: Markov blankets with tests, and a penalised order as a second opinion.
    Writes both networks, what the data can tell, pictures, the model and a record.
    """
    from edgewise.cli._folder import ALL_FILES, DIRECT_FILES, files_in, results_folder
    from edgewise.cli._summary import announce
    from edgewise.cli.direct.direct_files import write_directed
    from edgewise.cli.direct.direct_words import direct_summary
    from edgewise.cli.direct.directing import direct_columns, direct_record

    source = read_source(
        data,
        columns=columns or (),
        drop=drop or (),
        allow_missing=missing is not MissingRows.ERROR,
        allow_identical=repair is not None,
        is_discrete=False,
    )
    names = list(source.frame.columns)
    settings = DirectSettings(
        method=method.value,
        significance=significance,
        alpha=strength(alpha),
        standardize=standardize,
        forbidden=_arcs(forbid or (), "--forbid", names),
        required=_arcs(require or (), "--require", names),
        tiers=_tiers(tier or (), names),
        missing=missing.value,
        repair=None if repair is None else repair.value,
        confidence=Confidence.asked(confidence, resamples),
        seed=seed,
        n_jobs=jobs,
    )
    name = source.fingerprint["file"]
    with warnings_told() as told, results_folder(out, outdated=ALL_FILES) as folder:
        tell(f"Learning directions from the {len(source.frame)} rows of {name} ...")
        directed = direct_columns(source.frame, settings, verbose=is_watched())
        record = direct_record(
            directed,
            settings,
            command="direct",
            data=source.fingerprint,
            treatment=source.notes,
            warnings=told,
        )
        tell("Writing the files ...")
        text = direct_summary(directed, settings, name, source.fingerprint)
        write_directed(folder, directed, text, record)
        files = files_in(folder, DIRECT_FILES)
    announce(text, record, out, files, as_json=json, arcs=rows_of(directed.arcs))


def _arcs(given: Sequence[str], option: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Split each arc at the comma that has a column on either side."""
    found = []
    for text in given:
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
    return tuple(found)


def _tiers(given: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Give the tiers numbers, in the order in which they come."""
    tiers: dict[str, int] = {}
    for number, text in enumerate(given):
        for name in named_columns([text], names, "--tier"):
            if name in tiers:
                raise InputError(f"--tier names '{name}' twice. Leave one of them out.")
            tiers[name] = number
    return tiers
