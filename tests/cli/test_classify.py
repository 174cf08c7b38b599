"""``edgewise classify``: networks of classes and how well they tell them apart."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

import edgewise
from edgewise import BayesNetClassifier, Graph
from edgewise.cli.classify import _points, verdict
from edgewise.inference.accuracy import ClassAccuracy, Gain
from tests.cli.files import CLASS_FILES

#: Few folds, and no pictures where they are not the point.
QUICK = ("--folds", "3", "--repeats", "1")


@pytest.fixture
def classify(run, tmp_path):
    """Classify the rows of a frame; return what the folder holds."""

    def invoke(data, *options):
        data.to_csv(tmp_path / "data.csv", index=False)
        out = tmp_path / "out"
        result = run("classify", tmp_path / "data.csv", "--by", "state", "--out", out, *options)
        return SimpleNamespace(
            result=result,
            out=out,
            record=json.loads(Path(out, "run.json").read_text()),
            accuracy=pd.read_csv(out / "accuracy.csv").set_index("classifier"),
            model=edgewise.load(out / "model.edgewise"),
        )

    return invoke


@pytest.fixture(scope="module")
def patients():
    """Two signals that go together in the sick only; the well have a higher pulse."""
    rng = np.random.default_rng(0)
    state = np.repeat(["sick", "well"], 40)
    first, second, pulse = rng.normal(size=(3, 80))
    second = np.where(state == "sick", 0.9 * first + 0.4 * second, second)
    pulse += 2.0 * (state == "well")
    return pd.DataFrame({"first": first, "second": second, "pulse": pulse, "state": state})


def complaint(run, *arguments):
    result = run("classify", *arguments, code=2)
    assert result.stdout == ""
    assert not Path("edgewise-out").exists()
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.drawn
def test_everything_is_written_and_agrees(classify, patients):
    run = classify(patients, *QUICK)
    written = sorted(path.name for path in run.out.iterdir())
    assert written == sorted(CLASS_FILES)
    rows, labels = patients.drop(columns="state"), patients["state"]
    model = BayesNetClassifier().fit(rows, labels)
    np.testing.assert_allclose(run.model.coef_, model.coef_, atol=1e-9)
    sick = Graph.read(run.out / "network-1.graphml")
    np.testing.assert_allclose(sick.weights, model.networks_["sick"].weights, atol=1e-9)
    changes = pd.read_csv(run.out / "changes.csv")
    np.testing.assert_allclose(changes["change"], model.explain()["change"], atol=1e-9)
    assert run.record["classes"] == ["sick", "well"]
    assert run.record["data"]["by"] == "state"
    assert run.record["fit_error_ratio"]["sick"] <= 1.01 + 1e-9
    page = (run.out / "report.html").read_text()
    assert page.count("<img") == 3
    assert "2 classes in 80 rows and 3 columns" in run.result.stdout
    assert "; clearly more than the 50.0% of the most frequent class" in run.result.stdout
    assert "when learned together (margin); clearly more than the" in page


def test_a_column_that_the_classes_were_made_from_is_said(classify, run, patients):
    made = patients.assign(state=np.where(patients["pulse"] > 1, "fast", "slow"))
    said = classify(made, *QUICK).result.stderr
    assert "Column 'pulse' separates the classes perfectly" in said
    advice = re.search(r"derived from it: `edgewise (classify .* --drop pulse)`", said)[1]
    assert "separates the classes" not in run(*advice.split()).stderr
    assert "separates the classes" not in classify(patients, *QUICK).result.stderr


def test_accuracies_are_those_of_cross_validation(classify, patients):
    run = classify(patients, *QUICK, "--seed", "4")
    names = ["generative", "fisher", "margin", "linear SVM", "shrunken LDA"]
    assert list(run.accuracy.index) == names
    seed = int(np.random.default_rng(4).integers(2**31 - 1))
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=seed)
    rows, labels = patients.drop(columns="state"), patients["state"]
    for learning in names[:3]:
        scores = cross_val_score(BayesNetClassifier(learning), rows, labels, cv=folds)
        assert run.accuracy.loc[learning, "accuracy"] == pytest.approx(scores.mean())
    assert run.record["accuracy"]["margin"]["mean"] == run.accuracy.loc["margin", "accuracy"]


def test_options_reach_the_classifier(classify, patients):
    options = {
        "--learning": ("learning", "fisher"),
        "--decide": ("decide", "svm"),
        "--alpha": ("alpha", 0.3),
        "--edges": ("n_edges", 2),
        "--set slack": ("slack", 0.05),
        "--set method": ("method", "bcd"),
        "--set C": ("C", 3.0),
        "--set nu": ("nu", 0.3),
        "--set bias": ("bias", "penalized"),
    }
    given = [
        word
        for key, (_, value) in options.items()
        for word in (
            (*key.split()[:1], f"{key.split()[1]}={value}") if " " in key else (key, value)
        )
    ]
    run = classify(patients, *QUICK, *given)
    for name, value in options.values():
        assert run.model.get_params()[name] == value
    assert len(run.model.explain()) == 2


@pytest.mark.drawn
def test_networks_by_themselves_have_no_changes(classify, patients):
    run = classify(patients, *QUICK, "--learning", "generative")
    assert not (run.out / "changes.png").exists()
    assert "moved by learning together" not in run.result.stdout


def test_three_classes_and_number_labels(classify, patients):
    numbers = patients.assign(state=np.arange(80) % 3)
    run = classify(numbers, *QUICK)
    assert run.record["classes"] == ["0", "1", "2"]
    assert (run.out / "network-3.graphml").exists()
    assert "By class (margin), and what the others are mostly taken for:" in run.result.stdout
    assert re.search(r"\n  0  \d+% found, \d+% taken for [12]\n", run.result.stdout)
    assert re.search(r"alpha 0.15\): 0 with \d+ arcs?, 1 with \d+ arcs?, 2 ", run.result.stdout)
    confusion = pd.read_csv(run.out / "confusion.csv")
    np.testing.assert_allclose(confusion[["as_0", "as_1", "as_2"]].sum(axis=1), 1.0)


def test_few_rows_of_a_class_mean_fewer_folds(classify, patients):
    few = patients.iloc[np.r_[0:4, 40:80]]
    run = classify(few, "--repeats", "1")
    assert "4 folds, because the smallest class has 4 rows" in run.result.stdout


def test_json(classify, patients):
    run = classify(patients, *QUICK, "--json")
    found = json.loads(run.result.stdout)
    assert found["changes"][0].keys() >= {"class", "source", "target", "before", "after"}


def accuracies(generative, together):
    rng = np.random.default_rng(1)
    noise = 0.02 * rng.normal(size=(5, 10))
    means = np.array([generative, together, together, 0.8, 0.8])
    names = ("generative", "fisher", "margin", "linear SVM", "shrunken LDA")
    return ClassAccuracy(names=names, scores=means[:, None] + noise, chance=0.5, overlap=0.25)


def test_a_gain_is_claimed_only_beyond_noise():
    assert "gains accuracy beyond noise" in verdict(accuracies(0.7, 0.8))
    assert "nothing beyond noise" in verdict(accuracies(0.8, 0.801))
    assert "loses accuracy" in verdict(accuracies(0.8, 0.7))


def test_a_gain_says_how_far_beyond_noise_it_is(classify, patients):
    """The claim follows from the figures as printed, also next to the limit."""
    assert _points(Gain(0.0066, 0.0032)) == "+0.7 points, 2.1 standard errors"
    assert _points(Gain(0.072, 0.041)) == "+7.2 points, 1.8 standard errors"
    assert _points(Gain(-0.0803, 0.04)) == "-8.0 points, 2.01 standard errors"
    assert _points(Gain(0.0, 0.0)) == "0.0 points in every fold"
    said = classify(patients, *QUICK).result.stdout
    assert "where up to 2 standard errors are noise" in said


def test_identical_classes_gain_nothing(classify):
    rows = np.random.default_rng(3).normal(size=(30, 4))
    frame = pd.DataFrame(np.vstack([rows, rows]), columns=list("abcd"))
    run = classify(frame.assign(state=np.repeat(["p", "q"], 30)), *QUICK)
    assert "gains nothing beyond noise" in run.result.stdout
    assert "beyond noise no more than the 50.0% of the most frequent class" in run.result.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(state="sick"), "Every row of"),
        (lambda f: f.assign(state=[None] + ["a", "b"] * 39 + ["a"]), "1 missing label"),
        (lambda f: f.assign(state=np.arange(80)), "80 different values"),
        (lambda f: f.assign(state=["alone"] + ["rest"] * 79), "Only 1 row"),
        (lambda f: f.drop(columns="state"), "--by names 'state'"),
        (lambda f: f.assign(first=["some", "text"] * 40), "hold"),
        (lambda f: f[["first", "state"]].assign(pulse=np.nan), "'pulse' has no value"),
        (lambda f: f[["first", "state"]].assign(pulse=1.0), "'pulse' has one value"),
        (lambda f: f[["first", "state"]], "at least 2 columns"),
    ],
)
def test_bad_tables(run, tmp_path, patients, change, message):
    change(patients).to_csv(tmp_path / "bad.csv", index=False)
    assert message in complaint(run, tmp_path / "bad.csv", "--by", "state")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--alpha", "0"), "alpha must be positive"),
        (("--edges", "0"), "--edges must be a whole number"),
        (("--set", "slack=-1"), "slack must be positive"),
        (("--folds", "1"), "--folds must be between 2"),
        (("--repeats", "0"), "--repeats must be at least 1"),
        (("--jobs", "0"), "is not allowed"),
    ],
)
def test_bad_options(run, tmp_path, patients, options, message):
    patients.to_csv(tmp_path / "data.csv", index=False)
    assert message in complaint(run, tmp_path / "data.csv", "--by", "state", *options)
