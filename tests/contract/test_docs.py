"""Whether the texts are true: their code runs and prints what they show, their links lead on."""

import ast
import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import edgewise
from docs.make_api import listed_names, lists, members, signature, summary
from docs.make_options import SHARED, add_options, commands, entry

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SEPARATOR = "-- next block --"
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: How close a fit came is for the solver to better; that it is said must not change.
GAP = re.compile(r"within \S+ of the optimum")
#: A busy machine gets lines that a free one is too fast for.
PROGRESS = re.compile(r"^(.* of \d+ done, about .* left|Still at work, .*)\n", flags=re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, its text, its first line, and the text block right after."""

    language: str
    text: str
    line: int
    output: str | None


def test_words_that_lead_to_a_page_are_on_it():
    """Those of the field that a search of the site answers by a page, as docs/conf.py has them."""
    names = ast.parse(read(ROOT / "docs" / "conf.py")).body
    given = next(
        node.value
        for node in names
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "WORDS"
    )
    words = eval(compile(ast.Expression(given), "conf.py", "eval"))
    for name, listed in words.items():
        text = " ".join(read(ROOT / "docs" / f"{name}.md").lower().split())
        assert [word for word in listed if word.lower() not in text] == [], name
    found = {word for listed in words.values() for word in listed}
    assert {"permutation", "centrality", "Likert", "polychoric", "transpose"} <= found
    assert {"p-value", "penalty"} <= found


def read(page):
    return page.read_text(encoding="utf-8")


def blocks_of(page):
    text = read(page)
    found = list(FENCE.finditer(text))
    blocks = []
    for match, after in zip(found, [*found[1:], None], strict=True):
        is_output = (
            after is not None
            and after[1] == "text"
            and not text[match.end() : after.start()].strip()
        )
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(match[1], match[2], line, after[2] if is_output else None))
    return blocks


def assert_same(wanted, got, where):
    checker = doctest.OutputChecker()
    wanted, got = (GAP.sub("within ... of the optimum", text) for text in (wanted, got))
    if not checker.check_output(wanted, got, SAME):
        example = doctest.Example("", wanted)
        pytest.fail(f"{where}:\n{checker.output_difference(example, got, SAME)}", pytrace=False)


def run_command(line):
    from tests.commands import invoke

    program, *arguments = shlex.split(line)
    assert program == "edgewise", f"only edgewise itself is run: {line}"
    return PROGRESS.sub("", invoke(*arguments, prog_name="edgewise").output)


def name_of(page):
    return str(page.relative_to(ROOT))


#: Of this page a package is built, see `test_adding_a_method`.
BUILT = ROOT / "docs" / "adding-a-method.md"


LONG_PAGES = (
    "change.md",
    "command-line.md",
    "covariates.md",
    "inference.md",
    "space.md",
    "survey.md",
    "tutorial.md",
)
#: Pages that resample, permute or grow trees all the way through.
LONG = tuple(ROOT / "docs" / name for name in LONG_PAGES)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page in LONG else ())
        for page in PAGES
        if re.search("^```(python|console)", read(page), flags=re.MULTILINE) and page != BUILT
    ],
    ids=name_of,
)
def test_blocks_run_in_their_order_and_print_what_the_page_shows(
    page, tmp_path, monkeypatch, request
):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "docs"}
    if "```console" in read(page):
        request.getfixturevalue("undrawn")
    for block in blocks_of(page):
        where = f"{name_of(page)}, line {block.line}"
        if block.language == "python":
            printed = io.StringIO()
            # The blank lines make tracebacks point into the page.
            code = compile("\n" * block.line + block.text, str(page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
            if block.output is not None:
                assert_same(block.output, printed.getvalue(), where)
        if block.language == "console":
            for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, wanted = command.partition("\n")
                assert_same(wanted, run_command(line), where)


@pytest.mark.slow
def test_a_method_can_be_added_from_the_page_alone(tmp_path):
    """Write and append what the page says to a copy of the package, then run the other blocks."""
    package = tmp_path / "src" / "edgewise"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "edgewise", package, ignore=ignored)
    script, wanted = [], []
    for block in blocks_of(BUILT):
        if block.language != "python":
            continue
        if named := re.match(r"# (src/\S+)\n", block.text):
            with (tmp_path / named[1]).open("a", encoding="utf-8") as file:
                file.write(block.text)
            continue
        script.append(block.text + f"print({SEPARATOR!r})\n")
        wanted.append(block)
    (tmp_path / "script.py").write_text("\n".join(script), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "EDGEWISE_NUMBA_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for block, printed in zip(wanted, done.stdout.split(f"{SEPARATOR}\n"), strict=False):
        if block.output is not None:
            assert_same(block.output, printed, f"{name_of(BUILT)}, line {block.line}")


def slug(heading):
    """The anchor that a heading gets where Markdown is shown."""
    letters = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return letters.replace(" ", "-")


@pytest.mark.parametrize(
    "page", [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs/internals").glob("*.md"))], ids=name_of
)
def test_source_files_that_are_named_are_there(page):
    homes = (ROOT, ROOT / "src" / "edgewise")
    named = set(re.findall(r"`([a-z_]+/[\w/]+\.py)", read(page)))
    assert [file for file in sorted(named) if not any((h / file).exists() for h in homes)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_to_a_file_and_a_heading(page):
    prose = FENCE.sub("", read(page))
    for link in LINK.findall(prose):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)} links to {link}, which is not there"
        assert target.is_relative_to(ROOT), f"{name_of(page)} links out of the repository"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", FENCE.sub("", read(target)), flags=re.MULTILINE)
            assert anchor in map(slug, headings), f"{name_of(page)}: no heading for {link}"


@pytest.mark.parametrize(
    "chapter", ["gaussian", "space", "discrete", "change", "covariates", "directed", "classify"]
)
def test_every_question_is_answered_in_the_same_parts(chapter):
    text = FENCE.sub("", read(ROOT / "docs" / f"{chapter}.md"))
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert {"When to use it", "Options", "Reading the result", "Pitfalls"} <= set(headings)
    assert "$$" in text, "no mathematics"
    assert f"({chapter}.md)" in read(ROOT / "docs" / "index.md")


def long_lines(text):
    """Lines of prose above 100 characters; tables, code and addresses cannot be broken."""
    prose = FENCE.sub("", text)
    return [
        line
        for line in prose.splitlines()
        if len(line) > 100 and not re.match(r"\s*(\||!\[|\$\$)|\S*https?://", line)
    ]


def test_the_list_of_public_names_has_each_with_a_sentence():
    listed = listed_names()
    assert {f"edgewise.{name}" for name in dir(edgewise) if name not in edgewise.__all__} >= (
        listed.keys() - {"edgewise"}
    )
    page = lists()
    for module_name, names in listed.items():
        module = importlib.import_module(module_name)
        for name in names:
            value = getattr(module, name)
            assert f"`{signature(name, value)}`" in page
            assert summary(value).endswith("."), name
            for text, member in members(value):
                assert f"  - `{text}`" in page
                assert summary(member).endswith("."), f"{name}{text}"


def test_the_site_lists_every_option_of_every_command_once():
    page = add_options(read(ROOT / "docs" / "command-line.md"))
    sections = dict(
        re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    )
    for name, command in commands().items():
        listed = sections[name] + sections[SHARED]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert listed.count(f"\n{entry(parameter)}\n") == 1, f"{name} {parameter.name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_have_at_most_100_characters(page):
    is_generated = page.name == "benchmarks.md" or page.parent.name == "results"
    if not is_generated:
        assert long_lines(read(page)) == []


def test_version_is_the_same_everywhere():
    assert f"## [{edgewise.__version__}]" in read(ROOT / "CHANGELOG.md")
    assert f"\nversion: {edgewise.__version__}\n" in read(ROOT / "CITATION.cff")
