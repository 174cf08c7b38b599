"""Whether continuous integration runs what there is, on what the project says it supports."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
#: Targets as they stand in the Makefile; the stem of a pattern is anything.
TARGETS = re.findall(r"^([\w%-]+):", MAKEFILE, flags=re.MULTILINE)


def workflow(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def combinations(job):
    """All values that a job's matrix gives to each name."""
    matrix = job.get("strategy", {}).get("matrix", {})
    rows = matrix.get("include", [])
    values = {name: set(listed) for name, listed in matrix.items() if name != "include"}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, set()).add(value)
    return values


def commands(job):
    """The lines that a job runs, for each value of its matrix."""
    lines = [step["run"] for step in job["steps"] if "run" in step]
    for name, values in combinations(job).items():
        slot = f"${{{{ matrix.{name} }}}}"
        lines = [line.replace(slot, str(value)) for line in lines for value in values]
    return {line for line in lines if line.startswith("make ")}


def is_target(name):
    return any(re.fullmatch(target.replace("%", ".+"), name) for target in TARGETS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_calls_targets_of_the_makefile(path):
    for name, job in workflow(path)["jobs"].items():
        asked = commands(job)
        assert asked, f"{path.name}: {name} calls nothing"
        for line in asked:
            assert is_target(line.removeprefix("make ")), f"{path.name}: {line}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_targets_that_the_texts_name_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([\w-]+)", text))
    assert named
    assert {name for name in named if not is_target(name)} == set()


def test_all_versions_and_systems_that_are_supported_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = {
        found for line in project["classifiers"] if (found := line.rpartition(" ")[2])[:2] == "3."
    }
    tested = combinations(workflow(ROOT / ".github/workflows/test.yml")["jobs"]["test"])
    assert tested == {"python": said, "os": {"ubuntu", "macos", "windows"}}


def test_ruff_is_the_same_before_a_commit_and_in_the_tests():
    hooks = workflow(ROOT / ".pre-commit-config.yaml")["repos"]
    before = {hook["rev"] for hook in hooks if "ruff" in hook["repo"]}
    lock = (ROOT / "requirements" / "test.lock").read_text(encoding="utf-8")
    assert before == {f"v{version}" for version in re.findall(r"^ruff==(.*)$", lock, re.MULTILINE)}
