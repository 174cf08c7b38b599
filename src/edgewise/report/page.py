"""HTML report of a run, in one self-contained page."""

from __future__ import annotations

import base64
import gzip
import importlib
import importlib.util
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._layout import is_joined
from edgewise.report.network import (
    as_script,
    asset,
    decimals,
    network_data,
    network_figures,
    shown,
)

if TYPE_CHECKING:
    import pandas as pd
    from PIL import Image


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A drawing, with words for those who cannot see it.

    Attributes
    ----------
    png : bytes
        The drawing.
    words : str
        What it shows; written above it too.
    """

    png: bytes
    words: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """What was asked, found and done in one run.

    Attributes
    ----------
    headline : str
        The finding in one plain sentence.
    findings : str
        More of it, in lines of text.
    graph : Graph
        The network to look at.
    record : mapping
        What `run.json` holds: data, treatment, parameters, versions, warnings and certificate.
    methods : tuple of str
        Names of the estimators that were used, for the methods paragraph.
    question : str
        What was asked, where a page answers several questions.
    noun : str
        What an edge of ``graph`` is called: "edge" or "change".
    subject : str
        What the edges of the network are, as the title of its drawing.
    pictures : tuple of Picture
        Drawings of the question's own.
    leads : bool
        Whether the first of them stands above the network, as what to look at first.
    tables : mapping of str to DataFrame
        Tables of the question's own, by title; the edges have one anyway.
    edge_values : mapping of str to ndarray of shape (p, p)
        Further columns of the table of edges, such as intervals and p-values.
    sites : ndarray of shape (p, 2) or None
        Where the nodes sit, such as the pixels of an image: horizontal and vertical position. The
        page then shows what the site under the pointer is joined to, and the network as lines is
        folded away.
    """

    headline: str
    findings: str
    graph: Graph
    record: Mapping[str, Any]
    methods: tuple[str, ...]
    question: str = ""
    subject: str = "The network"
    noun: str = "edge"
    pictures: tuple[Picture, ...] = ()
    leads: bool = True
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    edge_values: Mapping[str, FloatArray] = field(default_factory=dict)
    sites: FloatArray | None = None


#: What a record holds that is told in words or of no use to a reader.
TOLD = (
    "treatment",
    "findings",
    "warnings",
    "data",
    "versions",
    "parameters",
    "n_nodes",
    "n_edges",
    "files",
)


#: What the commands answer.
QUESTIONS: Final[Mapping[str, str]] = {
    "learn": "Which variables are linked?",
    "compare": "What changed between conditions?",
    "regress": "How does the network vary with covariates?",
    "direct": "Which way do influences run?",
    "classify": "Do the networks of groups tell them apart?",
}
#: Pixels across from which a picture has both columns of the page to itself.
WIDE: Final = 950
#: Names of nodes without an edge that the page writes out; the table of nodes has all.
MOST_NAMES: Final = 40
#: An edge of this confidence counts as sure.
SURE: Final = 0.95
#: And one of this q-value, where there is no confidence.
LEVEL: Final = 0.05


def _certainty(report: Report) -> list[str]:
    """Say how sure the edges are, and how exact the computation is."""
    lines = []
    graph = report.graph
    if graph.confidence is not None and graph.n_edges:
        found = graph.confidence[graph.adjacency]
        n_sure = round(float((found >= SURE).sum()) * graph.n_edges / len(found))
        lines.append(
            f"{n_sure} of {graph.n_edges} {report.noun}s with a confidence of at least {SURE:g}; "
            f"the least sure has {found.min():.2g}."
        )
    elif graph.n_edges and "qvalue" in report.edge_values:
        found = report.edge_values["qvalue"][graph.adjacency]
        n_sure = round(float((found <= LEVEL).sum()) * graph.n_edges / len(found))
        lines.append(f"{n_sure} of {graph.n_edges} edges have a q-value of at most {LEVEL:g}.")
    return lines + _certificate(report)


def _main_figures(report: Report) -> list[tuple[str, str]]:
    """List the numbers that a reader looks for first."""
    graph, record = report.graph, report.record
    data = record.get("data", {})
    alone, noun = len(_alone(graph)), report.noun
    alpha = record.get("alpha")
    figures = {
        "rows": data.get("n_samples"),
        "nodes": graph.n_nodes,
        f"{noun}s": graph.n_edges,
        f"nodes without {'an' if noun == 'edge' else 'a'} {noun}": alone,
        "penalty alpha": f"{alpha:.3g}" if isinstance(alpha, float) else None,
    }
    return [(name, f"{value}") for name, value in figures.items() if value is not None]


def _alone(graph: Graph) -> list[str]:
    """List the nodes that have no edge."""
    return [name for name, joins in zip(graph.names, is_joined(graph), strict=True) if not joins]


def _blocks(text: str) -> list[dict[str, Any]]:
    """Split the lines of a summary: those that are indented are rows of a table, others text.

    Branches of a tree that is drawn with letters keep their depth.
    """
    blocks: list[dict[str, Any]] = []
    for line in text.splitlines():
        if branch := _BRANCH.fullmatch(line):
            blocks.append({"text": branch[2], "rows": [], "depth": 1 + branch[1].count("|")})
        elif line.startswith("  "):
            row = [
                {"text": _with_signs(part), "is_number": _NUMBER.fullmatch(part) is not None}
                for part in re.split(r"\s{2,}", line.strip())
            ]
            if not blocks or not blocks[-1]["rows"]:
                blocks.append({"rows": [], "width": 0})
            blocks[-1]["rows"].append(row)
            blocks[-1]["width"] = max(blocks[-1]["width"], len(row))
        elif line.strip():
            # A sentence that goes on in the next line is one paragraph.
            goes_on = blocks and not blocks[-1]["rows"] and blocks[-1]["text"].endswith(",")
            text = f"{blocks.pop()['text']} {line.strip()}" if goes_on else line.strip()
            blocks.append({"text": text, "rows": [], "depth": 0})
    return blocks


def _with_signs(pair: str) -> str:
    """Write what joins two names as a page can and a terminal may not."""
    return pair.replace(" -- ", " \N{EN DASH} ").replace(" -> ", " \N{RIGHTWARDS ARROW} ")


_BRANCH: Final = re.compile(r"(?=\|)((?:\|   )*)(?:\|--- )?(.*)")
_NUMBER: Final = re.compile(r"(p )?[+-]?[\d.]+(e[+-]?\d+)?%?( \+- [\d.]+)?")


def details(report: Report) -> dict[str, Any]:
    """Words, facts and references of one report, as plain values for the template."""
    record = report.record
    # The package imports each estimator when it is asked for its name.
    learners = [getattr(importlib.import_module("edgewise"), name) for name in report.methods]
    said = [_sentence(learner, record) for learner in learners]
    paragraph, cited = _paragraph(record, [sentence for sentence, _ in said])
    keys = dict.fromkeys([*(key for _, keys in said for key in keys), *cited])
    entries = read_references()
    return {
        "done": [*_done(record), *_certificate(report)],
        "warnings": [str(text) for text in record.get("warnings", ())],
        "facts": _facts(record),
        "paragraph": paragraph,
        "bibtex": "\n\n".join(entries[key] for key in keys),
    }


def read_references() -> dict[str, str]:
    """BibTeX entries of the papers that estimators cite, by key."""
    entries = asset("references.bib").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def _done(record: Mapping[str, Any]) -> list[str]:
    """Tell data and treatment in sentences."""
    lines = []
    data = record.get("data", {})
    if "n_samples" in data:
        source = data.get("file") or data.get("bundled") or "the table"
        lines.append(f"{data['n_samples']} rows and {data['n_features']} columns of {source}.")
    lines += [_as_sentence(note) for note in _treatment(record)]
    return lines


def _treatment(record: Mapping[str, Any]) -> list[Any]:
    return list(record.get("treatment", ())) or ["the columns were used as they are"]


def _as_sentence(note: Any) -> str:
    """Write a note on what was done with a capital and a full stop."""
    return f"{str(note)[:1].upper()}{str(note)[1:].rstrip('.')}."


def _certificate(report: Report) -> list[str]:
    """Convergence in words, and which edges are proven."""
    from edgewise.estimators.base.table import ROUNDING
    from edgewise.graph.proven import describe_decided

    record = report.record
    if "converged" not in record:
        return []
    if not record["converged"]:
        return ["The fit stopped before it reached its tolerance: see the warnings."]
    if (gap := record.get("gap")) is None:
        return ["The fit converged."]
    if gap < ROUNDING:
        lines = ["The fit converged: it is at the optimum, up to rounding."]
    else:
        lines = [f"The fit converged: it is within {gap:.2g} of the optimum (duality gap)."]
    proven = describe_decided(report.graph, is_change=report.noun == "change")
    return lines + ([] if proven is None else [str(proven)])


def _facts(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything else that the record holds, one line each."""
    facts = [(name, _text(value)) for name, value in record.items() if name not in TOLD]
    for group in ("parameters", "versions"):
        facts += [
            (f"{group}: {name}", _text(value)) for name, value in record.get(group, {}).items()
        ]
    if "sha256" in record.get("data", {}):
        facts.append(("data: sha256", str(record["data"]["sha256"])))
    return facts


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


#: What a network is learned from, by ``covariance``, and the references of it.
CORRELATIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "correlation": ("Pearson correlations", ()),
    "empirical": ("covariances", ()),
    "nonparanormal": ("correlations of normal scores (Liu et al. 2009)", ("liu2009",)),
    "spearman": ("Spearman's rank correlations (Liu et al. 2012)", ("liu2012",)),
    "kendall": ("Kendall's rank correlations (Liu et al. 2012)", ("liu2012",)),
    "polychoric": ("polychoric correlations (Olsson 1979)", ("olsson1979",)),
    "auto": ("latent correlations by the kind of each column (Olsson 1979)", ("olsson1979",)),
}
#: What an estimator does with missing values, by ``missing``.
MISSING: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "pairwise": ("Each pair of columns was judged by the rows that have both.", ()),
    "em": (
        "Missing values were treated by the EM algorithm (Städler and Bühlmann 2012).",
        ("staedler2012",),
    ),
}
#: Scores of discrete networks.
CRITERIA: Final = {
    "bjp": "blankets joint posterior",
    "ib": "independence-based score",
    "mpl": "marginal pseudo-likelihood",
}
#: What was computed of the nodes, by what the record holds of it.
NODES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "n_communities": (
        (
            "Nodes were described by their strength, closeness and betweenness (Opsahl et al. "
            "2010) and their expected influence (Robinaugh et al. 2016); communities were found by "
            "the walktrap algorithm (Pons and Latapy 2006)."
        ),
        ("opsahl2010", "robinaugh2016", "pons2006"),
    ),
    "mean_predictability": (
        (
            "Predictability is how well the neighbours of a node predict it in held-out rows: the "
            "variance explained, or the accuracy over the best guess (Haslbeck and Waldorp 2018)."
        ),
        ("haslbeck2018",),
    ),
    "cs_coefficient": (
        (
            "The stability of centrality was assessed by dropping rows: the correlation-stability "
            "coefficient is the largest share of rows that can be dropped so that the correlation "
            "with the centrality in all rows exceeds 0.7 with a probability of 95 % (Epskamp et "
            "al. 2018)."
        ),
        ("epskamp2018",),
    ),
}
#: How edges were tested, by what the record holds of it.
EDGE_TESTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "least squares": (
        (
            "Intervals and p-values of edges are those of partial correlations by least squares "
            "(Fisher 1924)"
        ),
        ("fisher1924",),
    ),
    "lassos": (
        (
            "Intervals and p-values of edges are those of partial correlations freed of the bias "
            "of a penalty (Liu 2013)"
        ),
        ("liu2013",),
    ),
    "residuals": (
        (
            "p-values of edges are those of products of what the other neighbours leave of two "
            "columns (Shah and Peters 2020)"
        ),
        ("shah2020",),
    ),
}
#: Rules that choose a penalty.
RULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "stepwise": ("the extended BIC{gamma} (Foygel and Drton 2010)", ("foygel2010",)),
    "ebic": ("the extended BIC{gamma} (Foygel and Drton 2010)", ("foygel2010",)),
    "cv": ("cross-validation", ()),
    "stars": ("stability on subsamples, StARS (Liu, Roeder and Wasserman 2010)", ("liu2010stars",)),
    "fdr": (
        "the tests, whose regressions it belongs to (0 for least squares)",
        ("liu2013", "fisher1924"),
    ),
}
#: Methods that search for the best score of a directed graph, and the scores.
SCORED: Final = ("boss", "ges", "exact")
SCORES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "bic": ("the Bayesian information criterion (Schwarz 1978)", ("schwarz1978",)),
    "bge": ("the marginal likelihood BGe (Kuipers, Moffa and Heckerman 2014)", ("kuipers2014",)),
    "bdeu": ("the marginal likelihood BDeu", ()),
}
#: What the networks of a command rest on, where no parameter says it.
RESTS_ON: Final = {
    "direct": "The networks rest on Pearson correlations.",
    "compare": "Columns were standardised within each group.",
    "regress": "The networks of the leaves rest on Pearson correlations of their rows.",
    "classify": "The networks rest on the covariances of standardised columns within each class.",
}
#: Criteria of a tree that its held-out rows judge, and what they choose.
PRUNED: Final = ("heldout",)
PRUNED_BY: Final = "those with the smallest risk on held-out rows (Liu et al. 2010)"
#: The test of whether two networks differ.
TEST: Final = (
    "Whether the networks differ was tested by the harmonic mean of the p-values (Wilson 2019) of "
    "several statistics of the differences between correlations of normal scores, held against "
    "those of permuted labels (Westfall and Young 1993)."
)
#: Sentence of an estimator in place of its own, by the rule.
SENTENCES: Final = {"stepwise": "_methods_stepwise", "fdr": "_methods_tested"}


def _sentence(learner: Any, record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Say what an estimator does, with references; a graph that was fitted again has no penalty."""
    rule = record.get("alpha_rule") or ""
    # Where no graph had a maximum likelihood, there is a penalty after all.
    special = getattr(learner, SENTENCES.get(rule, ""), "") if record.get("alpha") is None else ""
    sentence = str(special or learner._methods)
    ways = getattr(learner, "_methods_by", {})
    how, cited = ways.get(record.get("parameters", {}).get("method"), ("", ()))
    if how:
        sentence = f"{sentence.rstrip('.')} by {how}."
    return sentence, (*learner._cites, *cited)


#: What notes on rows that depend on each other have in common.
ABOUT_ROWS: Final = (
    "blocks of",
    "belong together",
    "centred",
    "first differences",
    "whole '",
)


#: Note of rows that were chosen by a condition.
_KEPT: Final = re.compile(r"--where '(.*)' keeps (\d+) of (\d+) rows")


def _paragraph(record: Mapping[str, Any], sentences: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Write a methods paragraph, and list the keys of what it cites besides the methods."""
    if not sentences:
        return "", ()
    versions, data = record.get("versions", {}), record.get("data", {})
    parameters = record.get("parameters", {})
    made = f"Networks were learned with edgewise {versions.get('edgewise', '')}".rstrip()
    if "n_samples" in data:
        made += f" from {data['n_samples']} rows and {data['n_features']} columns"
    parts = [f"{made}."]
    parts += sentences
    cited: list[str] = []
    if (known := CORRELATIONS.get(parameters.get("covariance"))) is not None:
        parts.append(f"The networks rest on {known[0]}.")
        cited += known[1]
    elif parameters.get("kinds") is not None and record.get("command") == "direct":
        parts.append(
            "The networks rest on counts of levels; numbers are Gaussian given the levels."
        )
    elif (rests := RESTS_ON.get(record.get("command", ""))) and parameters.get("basis") != "ising":
        pooled = parameters.get("scale") == "pooled"
        parts.append(rests.replace("within each group", "over both groups") if pooled else rests)
    treatment = [str(note) for note in record.get("treatment", ())]
    kept = [found for note in treatment if (found := _KEPT.match(note))]
    parts += [f"Rows where {one[1]} were taken ({one[2]} of {one[3]})." for one in kept]
    parts += [_as_sentence(note) for note in treatment if "take their place" in note]
    notes = [note for note in treatment if "missing" in note]
    sentence, keys = MISSING.get(parameters.get("missing"), ("", ()))
    parts += [_as_sentence(note) for note in notes]
    if sentence or not notes:
        parts.append(sentence or "There were no missing values.")
        cited += keys
    if parameters.get("method") in SCORED:
        name, keys = SCORES[parameters["criterion"]]
        penalty = "doubled, or that of the extended BIC with gamma = 1 where this is more"
        if parameters.get("kinds") is not None:
            penalty = "as it is"
        more = f", its penalty {penalty}" if parameters["criterion"] == "bic" else ""
        parts.append(f"Graphs were scored by {name}{more}.")
        cited += keys
    elif "significance" in parameters:
        parts.append(f"Each test had a level of {parameters['significance']:g}.")
    if parameters.get("criterion") in PRUNED:
        parts.append(f"Penalties of the leaves and the size of the tree were {PRUNED_BY}.")
    if "n_folds" in record and parameters.get("alpha") is not None:
        parts.append(
            f"The penalty was alpha = {parameters['alpha']:.3g}; there were {record['n_folds']} "
            "folds."
        )
    if "test" in record:
        parts.append(TEST)
        cited += ("wilson2019", "westfall1993")
        design = [str(text) for text in record["test"].get("design", ())]
        parts += [
            _as_sentence(text) for text in design if not any(words in text for words in ABOUT_ROWS)
        ]
    rows = [note for note in treatment if any(words in note for words in ABOUT_ROWS)]
    # What to run instead is no part of a method.
    parts += [_as_sentence(note.partition("; --")[0].partition(", as --")[0]) for note in rows]
    if any("in blocks" in note and "resamples" in note for note in rows):
        cited += ("kunsch1989", "bartlett1946")
    if isinstance(criterion := parameters.get("criterion"), str) and criterion in CRITERIA:
        parts.append(f"The criterion was the {CRITERIA[criterion]}.")
    if (alpha := record.get("alpha")) is not None:
        name, keys = RULES.get(record.get("alpha_rule") or "", ("", ()))
        gamma = f" with gamma = {record['gamma']:g}" if record.get("gamma") is not None else ""
        how = f", chosen by {name.format(gamma=gamma)}" if name else ", as given"
        parts.append(f"The penalty was alpha = {alpha:.3g}{how}.")
        cited += keys
    elif (rule := record.get("alpha_rule")) in SENTENCES:
        cited += RULES[rule][1]
        if record.get("gamma") is not None:
            parts.append(f"Gamma of the extended BIC was {record['gamma']:g}.")
    if alphas := record.get("alphas"):
        name, keys = RULES.get(record.get("alpha_rule") or "", ("", ()))
        how = f", each chosen by {name.format(gamma='')}" if name else ", as given"
        low, high = min(alphas.values()), max(alphas.values())
        parts.append(f"The penalties of the regressions were {low:.3g} to {high:.3g}{how}.")
        cited += keys
    for name, what in (("n_resamples", "bootstrap resamples"), ("n_permutations", "permutations")):
        if (number := parameters.get(name) or record.get(name)) is not None:
            parts.append(f"There were {number} {what}.")
    if (tested := record.get("edge_tests")) is not None:
        regressions = "lassos" if record.get("edge_tests_alpha") else "least squares"
        sentence, keys = EDGE_TESTS[tested if tested in EDGE_TESTS else regressions]
        if tested == "bootstrap":
            sentence += ", with standard errors from bootstrap resamples"
        if tested in ("confirmed", "robust"):
            what = "small p-values confirmed by" if tested == "confirmed" else "errors of"
            sentence += f", with {what} robust scores, since tails are heavy (Efron 1969)"
            keys = (*keys, "efron1969")
        if record.get("edge_tests_of_both"):
            sentence += (
                "; since rows are few, the p-value of an edge is the larger of this one and that "
                "of its plain correlation"
            )
        parts.append(f"{sentence}; q-values are corrected for all pairs of columns (Benjamini and "
                     "Hochberg 1995).")  # fmt: skip
        cited += (*keys, "benjamini1995")
    for name, (sentence, keys) in NODES.items():
        if name in record:
            parts.append(sentence)
            cited += keys
    if "seed" in record:
        parts.append(f"The seed of random numbers was {record['seed']}.")
    used = [f"{name} {version}" for name, version in versions.items() if name != "edgewise"]
    if used:
        parts.append(f"The software ran on {', '.join(used)}.")
        cited += [key for key in ("numpy", "scipy") if key in versions]
    return " ".join(parts), tuple(cited)


def render(reports: Sequence[Report], *, title: str) -> str:
    """Write a page with one section for each report.

    Parameters
    ----------
    reports : sequence of Report
        One for a run, several for a page that answers several questions.
    title : str
        Of the page.

    Returns
    -------
    str
        HTML with everything inside: styles, scripts, pictures and data.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.report import Report, render
    >>> graph = Graph([[0, 0.5], [0.5, 0]], names=["sun", "warmth"])
    >>> found = Report(
    ...     headline="Sun and warmth go together.", findings="", graph=graph, record={}, methods=()
    ... )
    >>> page = render([found], title="weather.csv")
    >>> "Sun and warmth go together." in page
    True
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(asset("page.html.j2"))
    return template.render(
        title=title,
        sections=[_section(report, k) for k, report in enumerate(reports)],
        style=asset("page.css"),
        code=asset("page.js"),
        bokeh=_bokeh(),
        figures=as_script(_figures(reports)),
        names_at_most=MOST_NAMES,
    )


@cache
def _bokeh() -> str:
    """Read Bokeh's JavaScript and pack it, which takes two thirds off a page.

    Importing the package to ask for the script would take a second.
    """
    spec = importlib.util.find_spec("bokeh")
    if spec is None or spec.origin is None:
        raise InputError("bokeh_not_installed")
    script = Path(spec.origin).parent / "server" / "static" / "js" / "bokeh.min.js"
    return base64.b64encode(gzip.compress(script.read_bytes(), mtime=0)).decode("ascii")


def _figures(reports: Sequence[Report]) -> tuple[Any, Any]:
    """Write the document of each section, and where its figures go, as BokehJS takes them."""
    documents, items = {}, []
    for k, report in enumerate(reports):
        figures = network_figures(report.graph, str(k))
        documents[str(k)] = {"version": metadata.version("bokeh"), "title": "", "roots": figures}
        roots = {
            figure["id"]: f"{name}-{k}"
            for figure, name in zip(figures, ("network", "matrix"), strict=True)
        }
        items.append({"docid": str(k), "roots": roots, "root_ids": list(roots)})
    return documents, items


def _section(report: Report, k: int) -> dict[str, Any]:
    """Everything that the template needs of one report, as plain values."""
    from PIL import Image

    graph = report.graph
    data = {"noun": report.noun, **network_data(graph, report.edge_values, report.sites)}
    drawings = [Image.open(io.BytesIO(picture.png)) for picture in report.pictures]
    return {
        "key": str(k),
        "question": report.question or QUESTIONS.get(report.record.get("command", ""), ""),
        "headline": _with_signs(report.headline),
        "certainty": _certainty(report),
        "main": _main_figures(report),
        "findings": _blocks(report.findings),
        "data": as_script(data),
        "has_sites": report.sites is not None,
        "subject": report.subject,
        "noun": report.noun,
        "has_signs": graph.signed is None or bool((graph.signed & graph.adjacency).any()),
        "alone": _alone(graph),
        "has_nodes": "Nodes" in report.tables,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_shown": len(data["shown"]),
        "n_hidden": graph.n_edges - len(data["source"]),
        "leads": report.leads and bool(report.pictures),
        "has_confidence": graph.confidence is not None,
        "has_open": graph.decided is not None and bool(graph.adjacency[~graph.decided].any()),
        "pictures": [
            {
                "words": picture.words,
                "data": base64.b64encode(_packed(drawn)).decode("ascii"),
                "is_wide": drawn.width > WIDE,
                "is_tall": drawn.height > drawn.width,
            }
            for picture, drawn in zip(report.pictures, drawings, strict=True)
        ],
        "tables": [{"title": title, **_table(table)} for title, table in report.tables.items()],
        **details(report),
    }


def _packed(drawing: Image.Image) -> bytes:
    """Write a drawing as WebP without loss, a third of the size of PNG."""
    content = io.BytesIO()
    drawing.save(content, format="WEBP", lossless=True)
    return content.getvalue()


def _table(table: pd.DataFrame) -> dict[str, Any]:
    """Heads and rows of text, the numbers of a column with the same digits."""
    columns = [table.iloc[:, k].tolist() for k in range(table.shape[1])]
    digits = [
        decimals([value for value in values if _is_number(value)])
        if any(isinstance(value, float) for value in values)
        else None
        for values in columns
    ]
    return {
        "heads": [str(head).replace("_", " ") for head in table.columns],
        "rows": [
            [_cell(value, known) for value, known in zip(row, digits, strict=True)]
            for row in zip(*columns, strict=True)
        ],
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any, digits: int | None) -> dict[str, Any]:
    """Write one entry; a number that is not known is left out."""
    if not _is_number(value):
        return {"text": str(value), "is_number": False}
    text = "" if value != value else str(value) if isinstance(value, int) else shown(value, digits)
    return {"text": text, "is_number": True}
