import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import edgewise
from edgewise import (
    CV,
    EBIC,
    BootstrapGraph,
    GaussianGraph,
    Graph,
    InputError,
    LocallyConstantGraph,
    NeighborhoodGraph,
    StabilitySelection,
)
from edgewise.io.archive import read_archive, write_archive
from edgewise.selection.choose import PairSelection, Selection
from tests.messages import raises


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 1] += X[:, 0]
    return pd.DataFrame(X, columns=["a", "b", "ä c", "d"])


def assert_same(left, right):
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, (PairSelection, Selection)):
        for name in vars(left):
            assert_same(getattr(left, name), getattr(right, name))
    elif hasattr(left, "get_params"):
        assert_same(left.get_params(deep=False), right.get_params(deep=False))
        # What is private is made anew, or not kept.
        assert_same(*({k: v for k, v in vars(one).items() if k[0] != "_"} for one in (left, right)))
    elif isinstance(left, dict):
        assert left.keys() == right.keys()
        for name in left:
            assert_same(left[name], right[name])
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            assert_same(a, b)
    else:
        assert left == right


WEIGHTS = np.array(
    [[1, 1, np.inf, 0], [1, 1, 1, 1], [np.inf, 1, 1, 1], [0, 1, 1, 1]], dtype=np.float64
)

ESTIMATORS = {
    "rule": GaussianGraph(alpha=EBIC(n_alphas=5)),
    "weights": GaussianGraph(alpha=0.1, weights=WEIGHTS),
    "folds": GaussianGraph(alpha=CV(3, n_alphas=5), random_state=7, missing="em"),
    "search of two": LocallyConstantGraph(
        alpha=CV(3, n_alphas=3),
        tau=CV(3, n_alphas=2),
        neighbors=np.array([[True, True, False], [False, True, True]]),
        random_state=7,
    ),
    "pairs": LocallyConstantGraph(alpha=0.1, tau=0.1, neighbors=[(0, 1), (1, 3)], scale=None),
    "neighborhoods": NeighborhoodGraph(alpha=0.2, rule="or", repair="ridge"),
    "bootstrap": BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=3, random_state=0),
    "stability": StabilitySelection(
        NeighborhoodGraph(alpha=0.2), n_resamples=4, alphas=(0.5, 0.2), random_state=0
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_saved_and_loaded_estimators_are_equal(name, frame, tmp_path):
    model = ESTIMATORS[name].fit(frame)
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert_same(again, model)
    assert again.graph_ == model.graph_
    if hasattr(model, "score"):
        assert again.score(frame) == model.score(frame)


def test_a_saved_search_of_two_strengths_keeps_its_grid(frame, tmp_path):
    model = LocallyConstantGraph(
        alpha=CV(3, n_alphas=3), tau=CV(3, n_alphas=2), random_state=7, constant="drop"
    ).fit(frame.assign(d=1.0))
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert isinstance(again.selection_, PairSelection)
    assert again.selection_.values.shape == (3, 3)
    assert again.selection_.index == model.selection_.index
    assert (again.alpha_, again.tau_) == (model.alpha_, model.tau_)
    np.testing.assert_array_equal(again.kept_, [0, 1, 2])
    assert_same(again, model)


@pytest.mark.parametrize(
    "model",
    [
        GaussianGraph(alpha=CV(3, n_alphas=4), random_state=0),
        BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=3, random_state=0),
    ],
    ids=["search", "bootstrap"],
)
def test_a_model_holds_nothing_about_the_run(model, frame, tmp_path):
    """Neither jobs nor progress bars, of the model or of one inside it."""
    paths = [tmp_path / name for name in ("plain", "hurried")]
    clone(model).fit(frame).save(paths[0])
    hurried = clone(model).set_params(n_jobs=2, verbose=1)
    if hasattr(model, "estimator"):
        hurried.set_params(estimator__n_jobs=2, estimator__verbose=1)
    hurried.fit(frame).save(paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert edgewise.load(paths[1]).get_params(deep=False).keys() == model.get_params(False).keys()
    assert edgewise.load(paths[1]).n_jobs is None
    assert edgewise.load(paths[1]).verbose == 0


def test_unfitted_estimators_can_be_saved(tmp_path, frame):
    GaussianGraph(alpha=0.3).save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert again.alpha == 0.3
    assert not hasattr(again, "precision_")
    assert again.fit(frame).converged_


def test_file_holds_no_pickle_and_names_its_version(tmp_path, frame):
    GaussianGraph(alpha=0.1).fit(frame).save(tmp_path / "model.edgewise")
    with zipfile.ZipFile(tmp_path / "model.edgewise") as archive:
        names = archive.namelist()
        assert all(name == "document.json" or name.endswith(".npy") for name in names)
        document = json.loads(archive.read("document.json"))
    assert document["edgewise"] == edgewise.__version__
    assert document["format_version"] == 1


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GaussianGraph(CV(KFold(3))), "needs_pickling"),
        (GaussianGraph(random_state=np.random.default_rng(0)), "needs_pickling"),
        (BootstrapGraph(GaussianGraph(CV(KFold(3)))), "needs_pickling"),
        (GaussianGraph(weights=np.array([[None]])), "python_objects_not_saved"),
    ],
)
def test_what_cannot_be_saved_is_named(estimator, message, tmp_path):
    with raises(InputError, code=message):
        estimator.save(tmp_path / "model.edgewise")
    assert not (tmp_path / "model.edgewise").exists()


@pytest.fixture
def tampered(tmp_path, frame):
    """Return a function that saves a model with its document changed."""
    path = tmp_path / "model.edgewise"
    GaussianGraph(alpha=0.1).fit(frame).save(path)

    def change(edit):
        document, arrays = read_archive(path)
        edit(document)
        write_archive(path, document, arrays)
        return path

    return change


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d.update(format_version=2, edgewise="9.9"), r"edgewise 9\.9.*newer version"),
        (lambda d: d.update(format="table"), "does not contain an estimator"),
        (lambda d: d["estimator"].update({"class": "KFold"}), "'KFold'.*not an estimator"),
        (lambda d: d["estimator"].update({"class": "__import__"}), "not an estimator"),
        (lambda d: d["estimator"]["fitted"].update(fit=1), "'fit'"),
        (lambda d: d["estimator"]["fitted"].update(__class__=1), "'__class__'"),
        (lambda d: d["estimator"]["parameters"].update(power=1), "damaged.*power"),
        (lambda d: d["estimator"].pop("parameters"), "damaged"),
        (lambda d: d.update(estimator=3), "does not contain an estimator"),
        (lambda d: d["estimator"].update({"edgewise type": "socket"}), "'socket'"),
        (
            lambda d: d["estimator"]["fitted"].update(
                gap_={"edgewise type": "array", "name": "a99"}
            ),
            "damaged",
        ),
    ],
)
def test_files_that_were_changed_are_refused(edit, message, tampered):
    with pytest.raises(InputError, match=message):
        edgewise.load(tampered(edit))


def test_files_of_another_kind_are_refused(tmp_path):
    Graph([[0, 1], [1, 0]]).write(tmp_path / "graph.json")
    with pytest.raises(InputError):
        edgewise.load(tmp_path / "graph.json")
    with pytest.raises(InputError, match="no file"):
        edgewise.load(tmp_path / "nothing.edgewise")
