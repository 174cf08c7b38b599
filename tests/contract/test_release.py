"""Whether what is needed to publish is there, and says the same everywhere."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from tools.release import changes_of, problems_of, version_of

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = PROJECT["urls"]["Repository"]
#: Packages that conda knows by another name.
CONDA_NAMES = {"igraph": "python-igraph", "matplotlib": "matplotlib-base"}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def values_of(name):
    return yaml.safe_load(text_of(name))


def test_every_file_has_the_address_of_the_repository_that_the_project_has():
    citation, about = values_of("CITATION.cff"), values_of("recipe/recipe.yaml")["about"]
    links = values_of(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]
    assert citation["repository-code"] == about["repository"] == about["homepage"] == ADDRESS
    assert citation["url"] == about["documentation"] == PROJECT["urls"]["Documentation"]
    assert all(url.startswith(ADDRESS) for url in PROJECT["urls"].values())
    assert all(link["url"].startswith(f"{ADDRESS}/") for link in links)


def test_the_citation_has_what_the_project_has():
    citation = values_of("CITATION.cff")
    assert citation["license"] == PROJECT["license"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_recipe_asks_for_what_the_project_asks_for():
    recipe = values_of("recipe/recipe.yaml")
    wanted = [f"python {PROJECT['requires-python']}"]
    for line in PROJECT["dependencies"]:
        name, bound = re.fullmatch(r"([\w-]+)(.*)", line).groups()
        wanted.append(f"{CONDA_NAMES.get(name, name)} {bound}")
    assert recipe["requirements"]["run"] == wanted
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["context"]["version"] == version_of(ROOT)


def test_the_site_is_built_from_the_locked_versions_with_warnings_as_errors():
    settings = values_of(".readthedocs.yaml")
    assert (ROOT / settings["sphinx"]["configuration"]).exists()
    assert settings["sphinx"]["fail_on_warning"]
    assert "requirements/test.lock" in settings["build"]["jobs"]["install"][-1]


def table_rows(text):
    """Rows of all tables, each as its first cell and the others by the heads of their columns."""
    rows, head = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
        elif set(line) - set("|-: "):
            rows[cells[0]] = dict(zip(head[1:], cells[1:], strict=True))
    return rows


def test_the_paper_compares_as_the_readme_does():
    paper, readme = (table_rows(text_of(name)) for name in ("paper/paper.md", "README.md"))
    assert len(paper) >= 8
    for row, cells in paper.items():
        for package, mark in cells.items():
            column = "edgewise now" if package == "edgewise" else package
            assert readme[row][column][:1] == mark, f"{row}: {package}"


def test_the_paper_cites_what_its_bibliography_has():
    paper = text_of("paper/paper.md")
    _, front, body = paper.split("---\n", 2)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(
        yaml.safe_load(front)
    )
    cited = set(re.findall(r"@([a-z]+\w*)", body))
    entries = text_of("paper/paper.bib")
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, flags=re.MULTILINE))
    for heading in (
        *("Summary", "Statement of need", "State of the field", "Software design"),
        *("Research impact statement", "AI usage disclosure", "Acknowledgements", "References"),
    ):
        assert f"\n# {heading}\n" in body
    assert 750 <= len(body.split()) <= 1750
    for picture in re.findall(r"\]\(([^)]+\.png)\)", body):
        assert (ROOT / "paper" / picture).exists()


@pytest.fixture
def copy(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "recipe/recipe.yaml",
                 "src/edgewise/_version.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_no_release_without_date_and_address(copy):
    version = version_of(copy)
    found = "\n".join(problems_of(copy))
    assert "placeholder" in found
    replace(copy / "CHANGELOG.md", f"[{version}] - unreleased", f"[{version}] - 2026-12-01")
    citation = copy / "CITATION.cff"
    replace(citation, f"\nversion: {version}\n",
            f"\nversion: {version}\ndate-released: 2026-12-01\n")  # fmt: skip
    replace(
        copy / "pyproject.toml", "https://example.org/edgewise", "https://code.invalid/edgewise"
    )
    assert problems_of(copy) == []
    date, section = changes_of(copy)
    assert date == "2026-12-01"
    assert section.startswith("The first release.")


def test_a_release_is_of_one_version(copy):
    replace(copy / "src/edgewise/_version.py", version_of(copy), "9.9.9")
    found = "\n".join(problems_of(copy))
    for file in ("CHANGELOG.md", "CITATION.cff", "recipe/recipe.yaml"):
        assert file in found
