"""The study of networks that tell classes apart: tables, deciders, tasks, verdicts, figures."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from edgewise import BayesNetClassifier, InputError
from edgewise.data.checks import row_order
from edgewise.estimators.base.columns import arrangement
from studies.classify import (
    STUDY,
    accuracy,
    connectivity,
    data,
    with_table,
)
from studies.classify.accuracy import BIASES, KL, MM, OR, Accuracies, H

REGIONS = [
    "lh_G_front_sup", "rh_G_front_sup", "lh_S_central", "lh_G_precuneus", "rh_S_postcentral",
    "lh_Pole_occipital", "rh_G_cuneus", "lh_G_temporal_inf", "Left-Amygdala", "lh_Lat_Fis-post",
    "lh_S_pericallosal", "Left-Caudate",
]  # fmt: skip
#: Destrieux' atlas, one hemisphere, by lobe.
ATLAS = {
    "frontal": "G_and_S_frontomargin G_and_S_paracentral G_and_S_subcentral "
    "G_and_S_transv_frontopol G_front_inf-Opercular G_front_inf-Orbital G_front_inf-Triangul "
    "G_front_middle G_front_sup G_orbital G_precentral G_rectus G_subcallosal S_central "
    "S_front_inf S_front_middle S_front_sup S_orbital_lateral S_orbital_med-olfact "
    "S_orbital-H_Shaped S_precentral-inf-part S_precentral-sup-part S_suborbital",
    "parietal": "G_pariet_inf-Angular G_pariet_inf-Supramar G_parietal_sup G_postcentral "
    "G_precuneus S_interm_prim-Jensen S_intrapariet_and_P_trans S_parieto_occipital "
    "S_postcentral S_subparietal",
    "occipital": "G_and_S_occipital_inf G_cuneus G_occipital_middle G_occipital_sup "
    "G_oc-temp_med-Lingual Pole_occipital S_calcarine S_collat_transv_post "
    "S_oc_middle_and_Lunatus S_oc_sup_and_transversal S_occipital_ant",
    "temporal": "G_oc-temp_lat-fusifor G_oc-temp_med-Parahip G_temp_sup-G_T_transv "
    "G_temp_sup-Lateral G_temp_sup-Plan_polar G_temp_sup-Plan_tempo G_temporal_inf "
    "G_temporal_middle Pole_temporal S_collat_transv_ant S_oc-temp_lat "
    "S_oc-temp_med_and_Lingual S_temporal_inf S_temporal_sup S_temporal_transverse",
    "insula": "G_Ins_lG_and_S_cent_ins G_insular_short Lat_Fis-ant-Horizont "
    "Lat_Fis-ant-Vertical Lat_Fis-post S_circular_insula_ant S_circular_insula_inf "
    "S_circular_insula_sup",
    "cingulate": "G_and_S_cingul-Ant G_and_S_cingul-Mid-Ant G_and_S_cingul-Mid-Post "
    "G_cingul-Post-dorsal G_cingul-Post-ventral S_cingul-Marginalis S_pericallosal",
}


def people(n_old=36, n_young=43):
    """A table like that of the brains: the young have thicker regions, and one tie more."""
    rng = np.random.default_rng(0)
    is_young = np.repeat([False, True], [n_old, n_young])
    common = rng.normal(size=len(is_young))
    values = rng.normal(size=(len(is_young), len(REGIONS))) + 0.6 * common[:, None]
    values[:, :6] += is_young[:, None]
    values[:, 1] += np.where(is_young, 1.5, 0.0) * values[:, 0]
    frame = pd.DataFrame(values, columns=REGIONS)
    frame.insert(0, "lh_MeanThickness", values.mean(axis=1))
    for name in ("eTIV", "sex", "age"):
        frame.insert(0, name, 1.0 + is_young)
    frame.insert(0, "group", np.where(is_young, "YOUNG", "OLD"))
    frame.insert(0, "subject", [f"s{k}" for k in range(len(frame))])
    frame.insert(0, "dataset", "ds000222")
    return frame


@pytest.fixture(scope="module")
def brain_file(tmp_path_factory):
    other = people().head(5).assign(dataset="ds003653", group="HC")
    path = tmp_path_factory.mktemp("brain") / "brain.csv"
    pd.concat([other, people()]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def split():
    table = data.breast_cancer()
    return data.split_table(table, np.random.default_rng(3))


# Tables


def test_split_is_stratified_and_standardised_by_its_training_part(split):
    assert split.train.shape == (60, 30)
    assert split.test.shape == (200, 30)
    np.testing.assert_allclose(split.train.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(split.train.std(axis=0), 1.0)
    assert abs(split.train_labels.mean() - split.test_labels.mean()) < 0.02
    assert np.abs(split.test.mean(axis=0)).max() > 0.01


def test_brain_table(brain_file):
    assert data.sets_of(brain_file) == ["young-old"]
    table = data.brains(brain_file, "young-old")
    assert table.classes == ("OLD", "YOUNG")
    assert table.names == tuple(REGIONS)
    assert np.bincount(table.labels).tolist() == [36, 43]
    np.testing.assert_allclose(table.values, people()[REGIONS], rtol=1e-12)
    assert (table.n_train, table.n_test, table.n_chosen) == (50, 29, len(REGIONS))


def test_sets_of_several_datasets(tmp_path):
    path = tmp_path / "brain.csv"
    patients = people().assign(dataset="ds000115")
    groups = np.repeat(["SCZ", "CON", "CON-SIB", "SCZ-SIB"], [20, 20, 19, 20])
    pd.concat([people(), patients.assign(group=groups)]).to_csv(path, index=False)
    assert data.sets_of(path) == ["young-old", "schizophrenia"]
    table = data.brains(path, "schizophrenia")
    assert table.classes == ("SCZ", "CON+CON-SIB")
    assert table.labels.tolist() == [0] * 20 + [1] * 39
    names = [part.name for part in with_table(path).parts]
    assert names == [
        "breast-cancer", "young-old", "schizophrenia", "young-old, connectivity",
        "schizophrenia, connectivity",
    ]  # fmt: skip


def test_as_many_regions_of_each_lobe_and_the_hippocampi():
    rng = np.random.default_rng(0)
    names = [f"lh_{gyrus}" for lobe in ATLAS.values() for gyrus in lobe.split()]
    names += ["Left-Hippocampus", "Left-Caudate", "CSF"]
    labels = np.arange(60) % 2
    values = rng.normal(size=(60, len(names)))
    values[:, names.index("lh_G_precentral")] += 3 * labels
    table = data.LabelledTable(
        values=values, labels=labels, names=tuple(names), classes=("a", "b"), n_train=30, n_test=30
    )
    chosen, lobes = data.choose_by_lobe(table)
    assert {lobe: lobes.count(lobe) for lobe in set(lobes)} == dict.fromkeys(data.FOUR_LOBES, 10)
    found = [names[column] for column in chosen]
    assert {"Left-Hippocampus", "lh_G_precentral"} <= set(found)
    assert lobes[found.index("Left-Hippocampus")] == "temporal"
    values[:, names.index("Left-Caudate")] += 3 * labels
    again, _ = data.choose_by_lobe(table)
    assert names.index("Left-Caudate") in again
    assert (np.diff(again) > 0).all()
    names[:40] = [f"region {k}" for k in range(40)]
    unknown, lobes = data.choose_by_lobe(
        replace(table, names=tuple(names[:40]), values=values[:, :40])
    )
    assert (unknown.tolist(), set(lobes)) == (list(range(40)), {"other"})


def test_any_two_groups_of_a_column(tmp_path):
    path, lobes = tmp_path / "table.csv", tmp_path / "lobes.csv"
    frame = people().drop(columns=["dataset", "group"])
    frame.insert(0, "diagnosis", np.repeat(["AD", "CN", "AD"], [30, 40, 9]))
    frame.to_csv(path, index=False)
    pd.DataFrame({"part": ["amygdala"], "lobe": ["temporal pole"]}).to_csv(lobes, index=False)
    table = data.two_groups(path, "diagnosis", lobes)
    assert (table.classes, np.bincount(table.labels).tolist()) == (("AD", "CN"), [39, 40])
    assert (table.n_train, table.n_test, table.names) == (50, 29, tuple(REGIONS))
    np.testing.assert_allclose(table.values, people()[REGIONS], rtol=1e-12)
    assert data.lobe_of("Left-Amygdala", lobes) == "temporal pole"
    whole = with_table(path, by="diagnosis", lobes=lobes)
    (_, _, part) = whole.parts
    assert part.name == "by diagnosis, connectivity"
    rows = part.run(np.random.default_rng(0), **{**part.tasks(True)[0], "n_orders": 1})
    shuffled = part.run(np.random.default_rng(0), **{**part.tasks(True)[1], "n_shuffles": 2})
    frame_of = pd.DataFrame([*rows, *({**row, "bundle": 1} for row in shuffled)])
    report = part.report(frame_of.assign(table="by diagnosis"))
    assert "| lobes | CN | AD | lost |" in report.text
    assert "temporal pole" in report.text
    assert "CN and AD: " in report.claims[1].found
    three = tmp_path / "three.csv"
    frame.assign(diagnosis=["MCI", *frame["diagnosis"][1:]]).to_csv(three, index=False)
    with pytest.raises(InputError, match="has 3 different values in 'diagnosis'"):
        data.two_groups(three, "diagnosis")
    with pytest.raises(InputError, match="--lobes goes with --by"):
        with_table(path, lobes=lobes)


def test_columns_are_chosen_by_the_given_rows():
    values = np.zeros((8, 3))
    values[:, 0] = [0, 1, 0, 1, 5, 6, 5, 6]
    values[:, 1] = [0, 1, 0, 1, 0, 1, 1, 0]
    values[:, 2] = [3, 4, 3, 4, 0, 1, 0, 1]
    table = data.LabelledTable(
        values=values, labels=np.repeat([0, 1], 4), names=("a", "b", "c"), classes=("x", "y"),
        n_train=4, n_test=4, n_chosen=1,
    )  # fmt: skip
    assert data.choose_columns(table, np.arange(8)).tolist() == [0]
    values[[0, 1, 4, 5], 0] = [0, 1, 1, 0]
    assert data.choose_columns(table, np.array([0, 1, 4, 5])).tolist() == [2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="group"), "no column 'group'"),
        (lambda frame: frame.head(40), "fewer than 15 people"),
        (lambda frame: frame.assign(group="OLD"), "fewer than 15 people"),
        (lambda frame: frame.assign(**{REGIONS[0]: "thick"}), f"no numbers in '{REGIONS[0]}'"),
        (lambda frame: frame.assign(**{REGIONS[1]: np.nan}), f"missing values in '{REGIONS[1]}'"),
    ],
)
def test_tables_that_will_not_do(tmp_path, change, words):
    path = tmp_path / "table.csv"
    change(people()).to_csv(path, index=False)
    with pytest.raises(InputError, match=words):
        with_table(path)


def test_lobes_of_the_whole_atlas():
    for lobe, names in ATLAS.items():
        for name in names.split():
            assert data.lobe_of(f"lh_{name}") == data.lobe_of(f"rh_{name}") == lobe, name
    assert sum(len(names.split()) for names in ATLAS.values()) == 74
    assert data.lobe_of("Right-Hippocampus") == "temporal"
    assert data.lobe_of("Left-VentralDC") == "subcortical"
    assert data.lobe_of("Left-Lateral-Ventricle") == "other"


# Deciders


@pytest.fixture(scope="module")
def model(split):
    return accuracy.fit(split, "margin", alpha=0.2, bias="penalized", n_edges=30)


@pytest.mark.parametrize(
    ("decide", "name"), [("likelihood", accuracy.LIKELIHOOD), ("svm", accuracy.MACHINE)]
)
def test_deciders_are_those_of_the_classifier(split, model, decide, name):
    # In the order in which the classifier takes the rows: libsvm stops at a tolerance, and where
    # it stops depends on it.
    keys = np.column_stack([split.train[:, arrangement(split.train)], split.train_labels])
    order = row_order(keys)
    split = replace(split, train=split.train[order], train_labels=split.train_labels[order])
    whole = BayesNetClassifier("margin", decide, alpha=0.2, bias="penalized", n_edges=30)
    whole.fit(split.train, split.train_labels)
    scores = accuracy.DECIDERS[name](split, model.standard_coef_)
    np.testing.assert_allclose(scores, whole.decision_function(split.test), atol=1e-8)
    assert accuracy.accuracy(split, scores) == whole.score(split.test, split.test_labels)


def test_selected_scores_by_an_explicit_machine(split, model):
    """Squared slack is a hard margin with a feature of its own for every row."""
    scores = model.transform(split.train)
    centred = scores - scores.mean(axis=0)
    sign = split.train_labels - split.train_labels.mean()
    correlation = np.abs(sign @ centred) / np.maximum(np.linalg.norm(centred, axis=0), 1e-12)
    chosen = np.argsort(correlation)[-accuracy.N_COMPONENTS :]
    own, other = scores[:, chosen], model.transform(split.test)[:, chosen]
    scale = own.std(axis=0)
    features = np.column_stack([own / scale, np.eye(len(own))])
    machine = SVC(kernel="linear", C=1e6, tol=1e-8).fit(features, split.train_labels)
    expected = machine.decision_function(np.column_stack([other / scale, np.zeros((200, 60))]))
    found = accuracy.by_selected(split, model.standard_coef_)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_rivals(split):
    found = accuracy.rival_accuracies(split)
    assert list(found) == [accuracy.MAJORITY, accuracy.LINEAR, accuracy.SHRUNKEN]
    assert found.pop(accuracy.MAJORITY) == split.test_labels.mean()  # most tumours are benign
    assert min(found.values()) > 0.85


# Tasks


def test_tasks():
    assert len(accuracy.list_tasks(False)) == 30
    assert accuracy.list_tasks(True, digest="a")[1] == {"digest": "a", "split": 1, "grid": "coarse"}
    whole = accuracy._settings(accuracy.GRIDS["whole"])
    assert len(whole) == len(set(whole)) == 9 + 2 * 4
    tasks = connectivity.list_tasks(False)
    assert sum(task["n_shuffles"] for task in tasks) == 500
    assert [task["n_orders"] for task in tasks[:2]] == [100, 0]


@pytest.fixture(scope="module")
def measured(brain_file):
    load = partial(data.brains, brain_file, "young-old")
    rng = np.random.default_rng(1)
    rows = accuracy.run_task(rng, load=load, split=0, grid="coarse", digest="d")
    return pd.DataFrame(rows).assign(split=0, table="young-old")


def test_split_rows(measured, brain_file):
    networks = measured[measured["decider"].notna()]
    # OR, KL and MM at two alphas and another number of arcs; H at the alphas; three deciders.
    assert len(networks) == 2 * 3 * (3 * 3 + 2)
    rivals = {"linear SVM", "shrunken LDA", "larger class"}
    assert set(measured[measured["decider"].isna()]["method"]) == rivals
    learned = networks[networks["method"].isin([KL, MM])]
    assert learned["fit_error"].max() <= 1.01 + 1e-9
    assert learned["fit_error"].min() > 1.0
    split = data.split_table(data.brains(brain_file, "young-old"), np.random.default_rng(1))
    expected = {
        OR: accuracy.fit(split, "generative", alpha=0.4, bias="penalized"),
        H: accuracy.fit(split, "generative", alpha=0.4, bias="penalized", method="bcd"),
        KL: accuracy.fit(split, "fisher", alpha=0.4, bias="penalized", n_edges=100),
        MM: accuracy.fit(split, "margin", alpha=0.4, bias="penalized", n_edges=100),
    }
    found = Accuracies(measured)
    for method, model in expected.items():
        score = 100 * model.score(split.test, split.test_labels)
        assert found.of(method, "penalized", 0.4).tolist() == [pytest.approx(score)]
    fewer = accuracy.fit(split, "margin", alpha=0.4, bias="penalized", n_edges=30)
    np.testing.assert_array_less(np.count_nonzero(fewer.start_coef_ != fewer.standard_coef_), 31)


# Connectivity


def test_differences_by_lobe():
    arcs = np.zeros((2, 4, 4), dtype=bool)
    lobes = ["a", "b", "a", "c"]
    arcs[0, 0, 2] = arcs[0, 0, 1] = arcs[0, 1, 2] = True
    arcs[1, 3, 0] = True
    found = connectivity.differences(arcs, lobes, ["r", "s", "t", "Left-Hippocampus"])
    assert found.pop("into Left-Hippocampus") == 0
    assert found.pop("out of Left-Hippocampus") == -1
    assert found == {"all": 2, "a": 1, "a - b": 2, "b": 0, "a - c": -1, "b - c": 0, "c": 0}


@pytest.fixture(scope="module")
def brains(brain_file):
    load = partial(data.brains, brain_file, "young-old")
    about = {"table": "young-old"}
    tasks = [
        {**about, "n_shuffles": 0, "n_orders": 3, "bundle": 0},
        {**about, "n_shuffles": 9, "n_orders": 0, "bundle": 1},
    ]
    rng = np.random.default_rng(0)
    rows = [
        {**task, **row} for task in tasks for row in connectivity.run_task(rng, load=load, **task)
    ]
    return pd.DataFrame(rows)


def test_connectivity_rows(brains, brain_file):
    found = connectivity.Connectivity(brains)
    chosen, lobes = data.choose_by_lobe(data.brains(brain_file, "young-old"))
    regions = [REGIONS[column] for column in chosen]
    assert sorted(found.names) == sorted(regions)
    assert set(REGIONS) - set(regions) == {"lh_Lat_Fis-post", "lh_S_pericallosal"}
    assert set(lobes) == set(found.lobes) == set(data.FOUR_LOBES)
    assert found.lobes == sorted(found.lobes, key=data.LOBES.index)
    table = data.brains(brain_file, "young-old")
    model = BayesNetClassifier("generative", alpha=connectivity.ALPHA)
    centred = connectivity.centre(table.values[:, chosen], table.labels)
    np.testing.assert_allclose(centred[table.labels == 1].mean(axis=0), 0.0, atol=1e-12)
    model.fit(pd.DataFrame(centred, columns=regions)[found.names], table.labels)
    for group, label in (("OLD", 0), ("YOUNG", 1)):
        expected = model.networks_[label].weights
        np.testing.assert_allclose(
            found.weights(OR, group), np.where(np.abs(expected) > 0.01, expected, 0.0), atol=1e-6
        )
    assert len(found.shuffled) == 9
    assert {"all", "frontal", "frontal - parietal"} <= set(found.shuffled)
    assert len(found.orders) == 2 * 2 * 3
    averages = found.averages.set_index("method")["distance"]
    assert (averages[OR] < 1e-6).all()
    assert (averages[H] >= 0).all()
    assert len(found.sparser) == 2 * 2 * 3
    assert (found.sparser["kept"] <= found.sparser["joined"]).all()
    assert (found.sparser["joined"] <= found.sparser["arcs"]).all()


def test_intercepts_are_those_of_rows_that_are_not_centred(brains, brain_file):
    found = connectivity.Connectivity(brains)
    table = data.brains(brain_file, "young-old")
    chosen, _ = data.choose_by_lobe(table)
    regions = [REGIONS[column] for column in chosen]
    graph = found.with_bias(OR, "YOUNG")
    assert graph.names[-1] == "bias"
    assert not graph.weights[:, -1].any()
    rows = pd.DataFrame(table.values[:, chosen], columns=regions)[found.names].to_numpy()
    scale = connectivity.centre(rows, table.labels).std(axis=0)
    mean = (rows[table.labels == 1].mean(axis=0) - rows.mean(axis=0)) / scale
    rest = mean - mean @ found.weights(OR, "YOUNG")
    shown = np.abs(rest) > 0.03
    # Arcs below the cutoff are not drawn, and were there when the intercepts were found.
    np.testing.assert_allclose(graph.weights[-1, :-1][shown], rest[shown], atol=0.02)


def test_pvalues_count_the_shuffles(brains):
    found = connectivity.Connectivity(brains)
    observed = found.differences()["all"]
    shuffled = found.shuffled["all"].to_numpy()
    assert found.pvalue("all") == (1 + np.sum(np.abs(shuffled) >= abs(observed))) / 10
    found.shuffled[:] = 0.0
    found.shuffled.iloc[0] = 1000.0
    assert found.pvalue("all") == 0.2
    values = found.familywise()
    assert "all" not in values
    assert set(values.values()) <= {0.2, 1.0}


def test_connectivity_report(brains):
    report = connectivity.report(brains)
    found = connectivity.Connectivity(brains)
    old, young = (int(arcs.sum()) for arcs in found.arcs(OR))
    assert f"| all | {young} | {old} |" in report.text
    assert "Left-Amygdala has" in report.text
    assert "Not among the regions: hippocampus." in report.text
    assert len(report.claims) == 7
    assert "The table has no such regions." in report.claims[3].found
    assert all(claim.published.endswith(" (young-old)") for claim in report.claims)
    moved = connectivity.moved_alike(found, "penalized")
    same = int((moved[KL] * moved[MM] > 0).sum())
    assert f"{same} of {len(moved)} (penalized)" in report.claims[6].found


@pytest.mark.parametrize(
    ("columnwise", "ordered", "expected"),
    [(0.6, 0.5, "yes"), (0.6, 0.7, "partly"), (0.4, 0.5, "no")],
)
def test_verdict_on_triangles(brains, columnwise, ordered, expected):
    frame = brains.copy()
    for method, share in ((H, columnwise), (OR, ordered)):
        here = (frame["kind"] == connectivity.ORDER) & (frame["method"] == method)
        frame.loc[here, "upper"] = share
    assert connectivity.report(frame).claims[5].holds == expected


@pytest.mark.parametrize(
    ("n_shuffles", "sign", "expected"), [(0, 1, "yes"), (0, -1, "no"), (9, 1, "no")]
)
def test_verdict_on_the_frontal_and_the_temporal_lobe(brains, n_shuffles, sign, expected):
    """An increase counts if it has its sign, and few shuffles are as far apart."""
    found = connectivity.Connectivity(brains)
    block = "frontal - temporal"
    found.differences = lambda: {block: 3 * sign}
    found.shuffled = pd.DataFrame({block: [3 * (k < n_shuffles) for k in range(99)]})
    assert connectivity._increase(found).holds == expected


# Verdicts

TABLES = ("breast-cancer", "young-old")


def whole_study():
    """The study with the parts on the brains, which are not run."""
    return replace(
        STUDY,
        parts=(
            accuracy.part_of("breast-cancer", None, also=("young-old",)),
            accuracy.part_of("young-old", None),
            connectivity.part_of("young-old", None),
        ),
    )


def accuracy_frame(right, table="breast-cancer", majority=0.5):
    """Rows of all methods whose accuracies are given, with a little noise over accuracy."""
    rng = np.random.default_rng(0)
    settings = accuracy._settings(accuracy.GRIDS["whole"])
    rows = [
        {"split": task, "method": name, "accuracy": value + 1e-4 * rng.random()}
        for task in range(4)
        for name, value in (
            (accuracy.LINEAR, 0.9),
            (accuracy.SHRUNKEN, 0.8),
            (accuracy.MAJORITY, majority),
        )
    ]
    rows += [
        {"split": task, "method": method, "decider": decider, "bias": bias, "alpha": alpha,
         "n_edges": n_edges, "fit_error": 1.01, "converged": task > 0,
         "accuracy": right(method, decider, bias, alpha) + 1e-4 * rng.random()}
        for task in range(4)
        for bias in BIASES
        for alpha, n_edges in settings
        for method in accuracy.METHODS
        for decider in accuracy.DECIDERS
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(table=table)


def as_published(method, decider, bias, alpha):
    if decider == accuracy.LIKELIHOOD:
        return {KL: 0.94, MM: 0.96}.get(method, 0.86 - 0.3 * alpha)
    lower = 0.03 if decider == accuracy.MACHINE else 0.0
    return {KL: 0.91, MM: 0.89}.get(method, 0.7) - lower


def with_penalty_only(method, decider, bias, alpha):
    return as_published(method, decider, bias, alpha) if bias == "penalized" else 0.9


def the_other_way_round(method, decider, bias, alpha):
    if decider != accuracy.LIKELIHOOD:
        return {KL: 0.95, MM: 0.97}.get(method, 0.96) - 0.04 * (decider == accuracy.SELECTED)
    return {OR: 0.88, H: 0.7, KL: 0.8, MM: 0.7}[method]


def claims_of(right):
    results = {name: accuracy_frame(right, name) for name in TABLES}
    found = {name: Accuracies(frame) for name, frame in results.items()}
    return accuracy.judge_all(found, results)


def test_verdicts_as_published():
    assert [claim.holds for claim in claims_of(as_published)] == ["yes"] * 9


def test_verdicts_where_only_the_penalty_spoils_the_start():
    found = [claim.holds for claim in claims_of(with_penalty_only)]
    assert found == ["partly"] * 6 + ["yes", "yes", "partly"]


def test_verdicts_the_other_way_round():
    found = [claim.holds for claim in claims_of(the_other_way_round)]
    assert found == ["no"] * 7 + ["yes", "no"]


def test_gain_is_paired():
    frame = accuracy_frame(as_published)
    frame["accuracy"] += 0.05 * frame["split"]
    gain = Accuracies(frame.sample(frac=1, random_state=0)).gain(MM, "free", 0.4)
    assert gain.std() < 0.1
    assert gain.mean() == pytest.approx(22, abs=0.1)


def test_report_has_both_kinds_of_intercepts():
    results = {name: accuracy_frame(with_penalty_only, name) for name in TABLES}
    text = accuracy.report(*results.values()).text
    assert "| young-old | penalized | 74.0 ± 0.0 | 94.0 ± 0.0 | 96.0 ± 0.0 | +22.0" in text
    assert "**SVM, 100 components, penalized intercepts**" in text
    assert "worse by 1.00% at most" in text
    # Two methods, two intercepts, 17 settings, one of four accuracy.
    assert "Of 272 fits 68 stopped" in text
    assert "Not judged" not in text
    alone = STUDY.report({"breast-cancer": results["breast-cancer"]}).text
    assert "Young" not in alone


def test_tables_whose_classes_cannot_be_told_apart_are_not_judged():
    frames = [
        accuracy_frame(as_published),
        accuracy_frame(the_other_way_round, "depression", majority=0.9),
    ]
    report = accuracy.report(*frames)
    assert [claim.holds for claim in report.claims] == ["yes"] * 9
    assert "Not judged" in report.text
    assert "90.0 ± 0.0 (linear SVM) and 90.0 ± 0.0 (larger class) (depression)" in report.text


# Figures


@pytest.mark.slow
def test_figures(brains):
    results = {name: accuracy_frame(with_penalty_only, name) for name in TABLES}
    results |= {"young-old, connectivity": brains}
    drawn = whole_study().figures(results)
    names = ("matrices", "lobes", "changes")
    of_brains = [f"young-old-{name}" for name in names]
    assert list(drawn) == ["breast-cancer", "young-old", *of_brains]
    axes = drawn["young-old"].axes
    assert len(axes) == 8
    penalized = axes[1].containers[accuracy.METHODS.index(OR)].lines[0]
    alphas = np.array(accuracy.GRIDS["whole"].alphas)
    np.testing.assert_allclose(penalized.get_xdata(orig=False), alphas)
    np.testing.assert_allclose(penalized.get_ydata(orig=False), 86 - 30 * alphas, atol=0.1)
    np.testing.assert_allclose(axes[3].containers[1].lines[0].get_ydata(orig=False), 96, atol=0.1)
    assert [ax.get_title()[:6] for ax in drawn["young-old-matrices"].axes] == ["H-SGBN"] * 2 + [
        "OR-SGB"
    ] * 2
    assert drawn["young-old-changes"].axes[0].get_yticklabels()[0].get_text().count("→") == 1
    alone = whole_study().figures({"breast-cancer": results["breast-cancer"]})
    assert list(alone) == ["breast-cancer"]


# The study


def test_parts_depend_on_the_table(brain_file, tmp_path):
    assert [part.name for part in STUDY.parts] == ["breast-cancer"]
    whole = with_table(brain_file)
    assert [part.name for part in whole.parts] == [
        "breast-cancer",
        "young-old",
        "young-old, connectivity",
    ]
    changed = tmp_path / "changed.csv"
    changed.write_text(brain_file.read_text().replace("s0,", "s00,"))
    first, second = (study.parts[1].tasks(True)[0] for study in (whole, with_table(changed)))
    assert first["digest"] != second["digest"]
    assert "brain" not in str(first)


@pytest.mark.slow
def test_quick_study(tmp_path, brain_file):
    from studies.study import run_study
    from studies.tables import write_results

    study = with_table(brain_file)
    results = run_study(study, tmp_path / "checkpoints", quick=True).results
    report = write_results(tmp_path, study, results, quick=True, seed=0)
    assert len(report.claims) == 16
    gain = Accuracies(results["breast-cancer"]).gain(MM, "penalized", 0.4)
    assert gain.mean() >= 20.0
    assert (tmp_path / "young-old.png").stat().st_size > 10_000
