"""The names that users rely on."""

import importlib
import inspect
import pkgutil

import pytest

import edgewise

#: What the documentation promises; a name may be added here, but none may go.
PROMISED = {
    "edgewise": [
        "BootstrapGraph",
        "DataWarning",
        "EdgewiseError",
        "GaussianGraph",
        "Graph",
        "InputError",
        "LocallyConstantGraph",
        "NeighborhoodGraph",
        "SolverError",
        "StabilitySelection",
        "load",
        "permutation_test",
    ],
    "edgewise.metrics": [
        "cpdag",
        "edge_metrics",
        "gaussian_kl",
        "irregularity",
        "pdag_errors",
        "precision_recall_curve",
        "shd",
    ],
    "edgewise.solvers": [
        "Solution",
        "difference_penalized",
        "graphical_lasso",
        "graphical_lasso_path",
        "locally_constant",
        "locally_constant_path",
    ],
    "edgewise.cli": ["main"],
}
STAGES = [
    module.name
    for module in pkgutil.iter_modules(edgewise.__path__, "edgewise.")
    if module.name.split(".")[1] not in ("__main__", "_core", "_version", "cli")
]


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PROMISED.items() for name in names]
)
def test_promised_names(module, name):
    assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("name", edgewise.__all__)
def test_every_listed_name_can_be_had(name):
    assert getattr(edgewise, name) is not None
    assert name in dir(edgewise)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_lists_what_it_offers(stage):
    module = importlib.import_module(stage)
    # Constants come first, as the linter has it.
    names = sorted(module.__all__, key=lambda name: (not name.isupper(), name))
    assert names == list(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{stage}.{name} has no docstring"


@pytest.mark.parametrize("stage", STAGES)
def test_stages_are_attributes_of_the_package(stage, monkeypatch):
    # An import by someone else would make it one too.
    name = stage.split(".")[1]
    monkeypatch.delattr(edgewise, name, raising=False)
    assert getattr(edgewise, name) is importlib.import_module(stage)
    assert name in dir(edgewise)


def test_no_two_names_differ_by_case_only():
    names = {name for stage in STAGES for name in importlib.import_module(stage).__all__}
    names |= set(edgewise.__all__)
    assert len({name.lower() for name in names}) == len(names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Grpah'"):
        _ = edgewise.Grpah


def test_version_is_one():
    from importlib import metadata

    assert edgewise.__version__ == metadata.version("edgewise")


def test_star_import():
    space = {}
    exec("from edgewise import *", space)
    assert set(edgewise.__all__) <= set(space)
