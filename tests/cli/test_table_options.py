"""Options that every command has for the table it reads: missing values, rows and columns."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgewise import GaussianGraph
from edgewise._core.errors import InputError
from edgewise.cli.prepare import rows_where
from edgewise.io import RawTable
from tests.cases import by_default
from tests.corpus.commands import COMMANDS


@pytest.fixture
def table():
    """Three measurements, of which two are linked, and what the commands take beside them."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 3))
    values[:, 1] += values[:, 0]
    frame = pd.DataFrame(values, columns=["dose", "pulse", "weight"])
    return frame.assign(age=rng.uniform(20, 60, 60), group=np.resize(["after", "before"], 60))


def complaint(run, *arguments):
    return run(*arguments, code=2).stderr.removeprefix("Error: ").strip()


def record_of(run, command, *options):
    run(command, "data.csv", "--out", "out", *COMMANDS[command], *options)
    return json.loads(Path("out/run.json").read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_words_for_missing_values(run, table, command):
    table["dose"] = table["dose"].astype(object)
    table.loc[[4, 9], "dose"] = ["n/a", "?"]
    table.to_csv("data.csv", index=False)
    line = complaint(run, command, "data.csv", *COMMANDS[command])
    assert "'n/a' in row 5" in line
    assert "Only an empty field, NA and NaN" in line
    assert "--read na=n/a --missing auto`" in line
    record = record_of(run, command, "--read", "na=?", "--read", "na=n/a", "--missing", "auto")
    how = "em" if command in ("learn", "direct") else "drop"
    assert any(f"--missing auto takes {how}" in note for note in record["treatment"])
    assert record["data"]["n_samples"] == (60 if how == "em" else 58)


def test_words_for_missing_values_are_not_split(run, table):
    dose = table["dose"].astype(object)
    dose[[4, 9]] = ["n/a", "low, lost"]
    table.assign(dose=dose).to_csv("data.csv", index=False)
    line = complaint(run, "learn", "data.csv", "--read", "na=n/a,lost")
    assert "'n/a,lost' does not occur" in line
    assert "'n/a' and 'lost'" in line
    run(
        "learn",
        "data.csv",
        "--read",
        "na=n/a",
        "--read",
        "na=low, lost",
        "--missing",
        "auto",
        "--alpha",
        "1",
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_spellings_of_a_level_are_read_as_one(run, table, command):
    by = table["group"].where(table.index % 7 > 0, table["group"].str.upper() + " ")
    table.assign(group=by).to_csv("data.csv", index=False)
    record = record_of(run, command)
    notes = [note for note in record["treatment"] if "several spellings" in note]
    assert len(notes) == 1
    first, second = sorted(table["group"].unique())
    assert f"'{first.upper()} ' as '{first}', '{second.upper()} ' as '{second}'" in notes[0]


def test_genotypes_and_named_columns_keep_their_spellings(run, table):
    table["gene"] = ["AA", "Aa", "aa"] * 20
    table["sex"] = ["m", "M", "w", "W"] * 15
    table.drop(columns="group").to_csv("data.csv", index=False)
    run("learn", "data.csv", "--alpha", "0.3", "--kinds", "sex=nominal", "--out", "out")
    columns = pd.read_csv("out/columns.csv").set_index("column")
    assert "AA" in str(columns.loc["gene"].tolist())
    assert not any(
        "spellings" in note for note in json.loads(Path("out/run.json").read_text())["treatment"]
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_levels_with_an_order_are_numbers(run, table, command):
    rank = np.argsort(np.argsort(table["dose"])) // 15
    table["stage"] = np.array(["I", "II", "III", "IV"])[rank]
    table["pain"] = np.array(["none", "some", "more", "most"])[rank[::-1]]
    table.to_csv("data.csv", index=False)
    record = record_of(run, command, "--kinds", "pain=none<some<more<most")
    notes = " ".join(record["treatment"])
    assert "levels of 'stage' have the order I < II < III < IV" in notes
    assert {"stage", "pain"} <= set(record["data"]["names"])
    for kinds, words in (
        ("pain=none<some", "'more' and 'most' are not among them"),
        ("pian=a<b", "Did you mean 'pain'"),
        ("dose=1<2", "'dose' in order, which holds no text"),
    ):
        more = ("--kinds", kinds)
        assert words in complaint(run, command, "data.csv", *COMMANDS[command], *more)


@pytest.mark.parametrize(
    ("levels", "is_ordered"),
    [
        (("T2", "T1", "T4a"), True),
        (("grade 3", "grade 1", "grade 10"), True),
        (("2nd", "1st", "3rd"), True),
        (("A1", "A3", "A2"), False),
    ],
)
def test_numbered_stages_have_an_order(run, table, levels, is_ordered):
    table.assign(stage=np.resize(levels, 60)).to_csv("data.csv", index=False)
    notes = " ".join(record_of(run, "learn", "--resamples=0")["treatment"])
    assert ("levels of 'stage' have the order" in notes) == is_ordered
    if is_ordered:
        assert f"{levels[1]} < {levels[0]} < {levels[2]}" in notes


@pytest.mark.parametrize("command", COMMANDS)
def test_limits_of_detection_are_asked_about(run, table, command):
    dose = [f"{value + 5:.2f}" if value > -1 else "<4" for value in table["dose"]]
    dose[3] = "n.d."
    remark = ["", *(f"see file {k}" for k in range(59))]
    table.assign(dose=dose, remark=remark).to_csv("data.csv", index=False)
    line = complaint(run, command, "data.csv", *COMMANDS[command])
    assert "values beyond a limit of detection, such as '<4'. 'n.d.' in 'dose' stands for" in line
    options = ("--read", "limits=half", "--read", "na=n.d.", "--missing", "auto")
    assert f"{' '.join(options)}`" in line
    record = record_of(run, command, *options)
    assert any("half of a lower limit" in note for note in record["treatment"])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_way_with_missing_values_works_or_says_why_not(run, table, command):
    table.loc[[4, 9], "dose"] = np.nan
    table.to_csv("data.csv", index=False)
    line = complaint(run, command, "data.csv", *COMMANDS[command])
    assert "2 values are missing" in line
    assert "--missing drop`" in line
    assert record_of(run, command, "--missing", "drop")["data"]["n_samples"] == 58
    for way in ("pairwise", "em"):
        if command in ("learn", "direct"):
            assert record_of(run, command, "--missing", way)["parameters"]["missing"] == way
        else:
            line = complaint(run, command, "data.csv", *COMMANDS[command], "--missing", way)
            assert f"--missing {way} is not available here" in line
            assert "--missing impute`" in line


@pytest.mark.parametrize("covariance", ["nonparanormal", "spearman", "kendall"])
def test_ranks_with_missing_values(run, table, covariance):
    table.loc[[4, 9], "dose"] = np.nan
    table.to_csv("data.csv", index=False)
    options = ("--covariance", covariance, "--missing", "auto")
    expected = "em" if covariance == "nonparanormal" else "pairwise"
    assert record_of(run, "learn", *options)["parameters"]["missing"] == expected
    if covariance != "nonparanormal":
        rows = table[["dose", "pulse"]]
        fit = GaussianGraph(alpha=0.0, covariance=covariance, missing="pairwise").fit(rows)
        whole = GaussianGraph(alpha=0.0, covariance=covariance).fit(rows.dropna())
        assert fit.covariance_[0, 1] == pytest.approx(whole.covariance_[0, 1], abs=1e-10)


def test_levels_are_kept(run):
    """Patients who did not improve are a level, and no gap."""
    rng = np.random.default_rng(0)
    levels = pd.DataFrame({"improved": rng.choice(["None", "Some", "Marked"], 80)})
    levels["treatment"] = np.where(rng.random(80) < 0.8, levels["improved"] == "Some", False)
    levels.to_csv("data.csv", index=False)
    run("learn", "data.csv", "--out", "out", "--resamples=0", "--missing", "drop")
    assert json.loads(Path("out/run.json").read_text())["data"]["n_samples"] == 80


@pytest.mark.parametrize("command", COMMANDS)
def test_conditions_for_rows(run, table, command):
    table.to_csv("data.csv", index=False)
    record = record_of(run, command, "--where", "age > 25 or group == before")
    n_kept = int(((table["age"] > 25) | (table["group"] == "before")).sum())
    assert record["data"]["n_samples"] == n_kept
    assert any(f"keeps {n_kept} of 60 rows" in note for note in record["treatment"])


def raw(**columns):
    arrays = tuple(np.array(values) for values in columns.values())
    return RawTable(names=tuple(columns), columns=arrays, n_rows=3, source="data.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 30", [False, True, True]),
        ("age != 30", [True, False, True]),
        ("age > 20 and age < 40 or sex = F", [False, True, True]),
        ("age > 20 and (age < 35 or sex == f)", [False, True, True]),
        ("'body mass' == 2", [False, False, True]),
        ("body mass < 2", [True, False, False]),
        ("sex != m", [False, False, True]),
    ],
)
def test_conditions(text, expected):
    sex = np.array(["m", None, "f"], dtype=object)
    table = raw(age=[20, 30, 40], **{"body mass": [1.0, np.nan, 2.0]}, sex=sex)
    assert rows_where(table, text).tolist() == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agee > 3", "Did you mean 'age'"),
        ("age > old", "'old' is none"),
        ("sex > m", "compared by == or !="),
        ("age >", "a value after > is missing"),
        ("(age > 3", "not closed"),
        ("age", "comes one of"),
        ("age > 3 )", "unexpected"),
        ("__import__('os').system('ls')", "comes one of"),
    ],
)
def test_conditions_that_cannot_be_used(text, words):
    with pytest.raises(InputError, match="--where") as caught:
        rows_where(raw(age=[1, 2, 3], sex=["m", "f", "f"]), text)
    assert words in str(caught.value)


def test_rows_as_columns(run, table):
    table[["dose", "pulse", "weight"]].T.to_csv("data.csv")
    run(
        "learn",
        "data.csv",
        "--transform=transpose",
        "--alpha",
        "0.2",
        "--resamples=0",
        "--out",
        "out",
    )
    edges = pd.read_csv("out/edges.csv").dropna(subset="target")
    assert set(edges.iloc[0][["source", "target"]]) == {"dose", "pulse"}
    frame = table[["dose", "pulse", "weight"]].T
    frame.insert(0, "description", "text")
    frame.rename_axis("gene").reset_index().to_csv("data.csv", index=False)
    said = run(
        "learn",
        "data.csv",
        "--transform=transpose",
        "--alpha",
        "0.2",
        "--resamples=0",
        "--out",
        "b",
    ).stdout
    assert "description" in said
    assert "60 rows" in said


@pytest.mark.parametrize("command", ["learn", "direct", "regress", "compare", "classify"])
@pytest.mark.parametrize("option", ["--transform=difference", "--transform=detrend"])
def test_rows_in_order(run, table, command, option):
    names = ["dose", "pulse", "weight"]
    table = table.sort_values("group", kind="stable").reset_index(drop=True)
    table[names] += np.arange(60)[:, None]
    table.to_csv("data.csv", index=False)
    record = record_of(run, command, option)
    n_lost = (
        0 if option == "--transform=detrend" else 2 if command in ("compare", "classify") else 1
    )
    assert record["data"]["n_samples"] == 60 - n_lost


def test_differences_and_lines_are_taken(learn, table):
    walks = table[["dose", "pulse", "weight"]].cumsum() + 10
    found = learn(walks, "--transform=difference", "--alpha", "0.1").edges
    expected = learn(walks.diff().dropna(), "--alpha", "0.1").edges
    assert np.allclose(found["weight"], expected["weight"])
    steep = table[["dose", "pulse", "weight"]] + 5 * np.arange(60)[:, None]
    edges = learn(steep, "--transform=detrend", "--alpha", "0.3").edges
    assert set(edges.iloc[0][["source", "target"]]) == {"dose", "pulse"}
    assert len(edges) == 1


@pytest.mark.parametrize("option", ["--where", "--transform=difference"])
def test_rows_piece_by_piece_are_taken_as_they_come(run, table, option):
    table.drop(columns="group").to_csv("data.csv", index=False)
    more = ["age > 3"] if option == "--where" else []
    line = complaint(run, "learn", "data.csv", "--stream", option, *more)
    assert f"{option.partition('=')[0]} requires all rows" in line


@pytest.mark.drawn
@pytest.mark.parametrize("command", by_default(1, COMMANDS))
def test_what_is_unusual_is_said_before_the_fit_and_recorded(run, table, command):
    table.loc[7, "dose"] = 1000.0
    table.to_csv("data.csv", index=False)
    result = run(command, "data.csv", "--out", "out", *COMMANDS[command])
    assert "1 value lies more than 15 robust standard deviations" in result.stderr
    assert "--covariance nonparanormal" in result.stderr
    record = json.loads(Path("out/run.json").read_text())
    assert record["findings"][0]["kind"] == "outliers"
    assert record["findings"][0]["columns"] == ["dose"]
    assert "robust standard deviations" in Path("out/report.html").read_text()
    scores = run(
        command, "data.csv", "--out", "b", *COMMANDS[command], "--covariance", "nonparanormal"
    )
    assert "robust standard deviations" not in scores.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_long_fits_are_announced_with_their_time_and_short_ones_are_not(
    run, table, command, monkeypatch
):
    table.to_csv("data.csv", index=False)
    told = run(command, "data.csv", "--out", "out", *COMMANDS[command])
    assert "or more ..." not in told.stderr
    monkeypatch.setattr("edgewise.cli.run.LONG", 0.0)
    told = run(command, "data.csv", "--out", "out", *COMMANDS[command], "--json")
    assert re.search(r"60 rows and \d columns of data.csv.*: .*seconds? or more", told.stderr)
    assert json.loads(told.stdout)["command"] == command
    silent = run(command, "data.csv", "--out", "out", *COMMANDS[command], "--quiet")
    assert silent.stderr == ""


@pytest.mark.usefixtures("lines_at_once")
def test_long_fits_tell_that_they_go_on(run, table, monkeypatch):
    table.to_csv("data.csv", index=False)
    options = ("--out", "out", "--resamples=0")
    assert "Still at work" not in run("learn", "data.csv", *options).stderr
    monkeypatch.setattr("edgewise.cli.run.LONG", 0.0)
    assert "Still at work, after 1 second\n" in run("learn", "data.csv", *options).stderr
    assert run("learn", "data.csv", *options, "--quiet").stderr == ""


def test_one_row_in_so_many(run, table):
    table.to_csv("data.csv", index=False)
    assert record_of(run, "learn", "--every", "4")["data"]["n_samples"] == 15


def test_blocks(run, table):
    rng = np.random.default_rng(0)
    for name in ("dose", "pulse", "weight"):
        noise = rng.normal(size=60)
        for t in range(1, 60):
            noise[t] += 0.9 * noise[t - 1]
        table[name] = noise
    table["group"] = np.repeat(["after", "before"], 30)
    table.to_csv("data.csv", index=False)
    for command in ("learn", "direct"):
        notes = record_of(run, command, "--blocks", "6")["treatment"]
        assert any(
            re.match(r"60 rows in order count as \d+ independent ones.*as --blocks asks", note)
            for note in notes
        )
    notes = record_of(run, "compare", "--blocks", "3")["treatment"]
    assert "labels permuted in blocks of 3 consecutive rows" in notes
    record = record_of(run, "compare", "--blocks", "6")
    assert "test" not in record
    assert "fewer than 10 blocks of 6, too few for a p-value" in record["untested"]
    line = complaint(run, "learn", "data.csv", "--drop", "group", "--blocks", "40")
    assert line.endswith("Use `edgewise learn data.csv --drop group --blocks 6`.")
    notes = record_of(run, "classify", "--blocks", "6")["treatment"]
    assert "rows held out in blocks of 6 of a class, as --blocks asks" in notes
    line = complaint(run, "classify", "data.csv", *COMMANDS["classify"], "--blocks", "16")
    assert "leaves fewer than 2 blocks (one per fold)" in line
    in_windows = ("--drop", "group", "--window", "20", "--blocks", "2")
    line = complaint(run, "compare", "data.csv", *in_windows)
    assert "--blocks requires --by" in line
    notes = record_of(run, "regress", "--blocks", "6")["treatment"]
    assert "blocks of 6 rows are held out and permuted, as --blocks asks" in notes


@pytest.mark.parametrize("command", ["learn", "compare"])
def test_numbers_that_people_write(run, table, command):
    table.assign(dose=[f"{1e3 * value:,.1f}" for value in table["dose"]]).to_csv(
        "data.csv", index=False
    )
    line = complaint(run, command, "data.csv", *COMMANDS[command])
    assert "'dose' of data.csv holds numbers that are written in groups of digits" in line
    assert "--read decimal=.`" in line
    record = record_of(run, command, "--read", "decimal=.")
    assert any("with a decimal point" in note for note in record["treatment"])


def test_a_comma_may_group_digits_or_be_the_decimal_mark(run, table):
    comma = [f"{value:.2f}".replace(".", ",") for value in table["dose"]]
    table.assign(dose=["n/a", *comma[1:]]).drop(columns="group").to_csv("data.csv", index=False)
    line = complaint(run, "learn", "data.csv")
    assert "`edgewise learn data.csv --read decimal=, --read na=n/a --missing auto`" in line
    table.assign(dose=[f"{k + 1},500" for k in range(60)]).drop(columns="group").to_csv(
        "data.csv", index=False
    )
    line = complaint(run, "learn", "data.csv")
    assert "--read decimal=.` if the comma groups digits; `edgewise" in line


@pytest.mark.parametrize("command", ["compare", "regress"])
def test_ordered_answers_count_by_normal_scores(run, table, command):
    table["dose"] = np.digitize(table["dose"], [-1, 0, 1])
    table.to_csv("data.csv", index=False)
    record = record_of(run, command, "--covariance", "auto")
    assert any("ordered answers ('dose') count by normal" in note for note in record["treatment"])


def test_a_table_too_wide_is_refused_before_it_is_read(run, table, small_machine):
    # More rows would take minutes to read.
    Path("wide.csv").write_text(",".join(f"g{k}" for k in range(60_000)) + "\n")
    line = complaint(run, "learn", "wide.csv")
    assert line.startswith("A network of the 60,000 columns of wide.csv needs")
    assert "screened_graphical_lasso" in line
