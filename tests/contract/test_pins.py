"""Whether the locked versions fit what the project asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.pins import lock, minimum

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "test.lock"


@pytest.fixture(scope="module")
def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def locked():
    pins = [line.split("==") for line in LOCK.read_text().splitlines() if line[0] != "#"]
    return {canonicalize_name(name): version for name, version in pins}


def test_the_lock_is_exact_versions_and_nothing_else():
    comment, *pins = LOCK.read_text().splitlines()
    assert comment.startswith("#")
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+", pin) for pin in pins)


def test_the_lock_has_what_is_asked_for_in_a_version_that_will_do(settings, locked):
    groups = settings["dependency-groups"]
    asked = [
        *settings["build-system"]["requires"],
        *settings["project"]["dependencies"],
        *groups["test"],
        *groups["docs"],
        *groups["dist"],
    ]
    for requirement in map(Requirement, asked):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked; run make lock"
        assert requirement.specifier.contains(version), f"{requirement}; run make lock"


def test_every_dependency_of_the_project_has_a_lower_bound(settings):
    project = settings["project"]
    assert len(minimum(project)) >= len(project["dependencies"])


def test_minimum_takes_the_lower_bound_also_of_extras():
    project = {
        "dependencies": ["one>=1.2,!=1.3", "two[part]>=2"],
        "optional-dependencies": {"more": ["three >= 3.0.1"]},
    }
    assert minimum(project) == ["one==1.2", "three==3.0.1", "two==2"]


def test_minimum_asks_for_a_lower_bound():
    with pytest.raises(SystemExit, match="'one' has no lower bound"):
        minimum({"dependencies": ["one"]})


def test_the_lock_leaves_the_project_itself_out():
    packages = [("Zeta", "1.0"), ("edgewise", "0.1"), ("alpha", "2")]
    report = {"install": [{"metadata": {"name": n, "version": v}} for n, v in packages]}
    assert lock(report, "edgewise") == ["alpha==2", "zeta==1.0"]
