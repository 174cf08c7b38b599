"""Graphs as files, and to and from networkx, igraph and plain lists of edges.

The suffix of a file sets its format, and it appears whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple
from xml.parsers import expat

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.messages import Note
from edgewise.graph.graph import Graph, check_names, edge_positions
from edgewise.io.archive import atomic_path

if TYPE_CHECKING:
    import networkx as nx


class Edge(NamedTuple):
    """One edge between node positions; no ``weight`` counts as 1, no ``confidence`` stays None.

    ``signed`` is False where the weight has no sign, ``decided`` None where nothing is known of it;
    both are text in some files.
    """

    source: int
    target: int
    weight: Any = None
    confidence: Any = None
    signed: Any = True
    decided: Any = None


def edge_list(graph: Graph) -> list[Edge]:
    """List the edges in index order, with plain Python numbers."""
    rows, columns = edge_positions(graph.adjacency, directed=graph.directed)
    weights = graph.weights[rows, columns].tolist()
    confidence = (
        [None] * len(rows) if graph.confidence is None else graph.confidence[rows, columns].tolist()
    )
    signed = [True] * len(rows) if graph.signed is None else graph.signed[rows, columns].tolist()
    decided = [None] * len(rows) if graph.decided is None else graph.decided[rows, columns].tolist()
    parts = rows.tolist(), columns.tolist(), weights, confidence, signed, decided
    return [Edge(*edge) for edge in zip(*parts, strict=True)]


def from_edge_list(names: Sequence[str], edges: Iterable[Edge], *, directed: bool) -> Graph:
    """Build a graph; an edge given twice must be given alike."""
    checked_names = check_names(names, len(names))
    if not checked_names:
        raise InputError("no_nodes")
    shape = (len(checked_names), len(checked_names))
    require_memory(
        f"A graph of {len(checked_names):,} nodes",
        [Arrays(5.0, shape)],
        advice="Keep fewer nodes, such as those that have edges.",
    )
    weights, confidence = np.zeros(shape), np.full(shape, np.nan)
    adjacency, signed = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    decided, is_told = np.zeros(shape, dtype=bool), False
    for edge in edges:
        source, target = edge.source, edge.target
        ends = checked_names[source], checked_names[target]
        if source == target:
            raise InputError("self_loop", node=checked_names[source])
        weight = _number(edge.weight, 1.0, "weight", *ends)
        sureness = _number(edge.confidence, np.nan, "confidence", *ends)
        # NaN stands for "not known" and must equal itself here, hence array_equal.
        if adjacency[source, target] and not np.array_equal(
            (weights[source, target], confidence[source, target]),
            (weight, sureness),
            equal_nan=True,
        ):
            raise InputError(
                "conflicting_edges",
                source=checked_names[source],
                target=checked_names[target],
                directed=directed,
            )
        ways = [(source, target)] if directed else [(source, target), (target, source)]
        for way in ways:
            adjacency[way], weights[way], confidence[way] = True, weight, sureness
            signed[way] = _is_true(edge.signed)
            decided[way] = edge.decided is not None and _is_true(edge.decided)
        is_told = is_told or edge.decided is not None
    return Graph(
        weights,
        names=checked_names,
        directed=directed,
        adjacency=adjacency,
        confidence=_complete(confidence, adjacency, checked_names),
        signed=signed,
        decided=decided if is_told else None,
    )


def _is_true(value: Any) -> bool:
    """Whether a value of a file says True; some hold text."""
    return str(value).strip().lower() != "false"


def _number(value: Any, missing: float, label: str, source: str, target: str) -> float:
    if value is None:
        return missing
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(
            "edge_not_finite", attribute=label, source=source, target=target, got=value
        )
    return number


def _complete(confidence: Any, adjacency: Any, names: Sequence[str]) -> Any:
    """Return None when no edge has a confidence; refuse a graph where only some have."""
    unknown = adjacency & np.isnan(confidence)
    if np.array_equal(unknown, adjacency):
        return None
    if unknown.any():
        row, column = np.argwhere(unknown)[0]
        raise InputError("confidence_incomplete", source=names[row], target=names[column])
    return np.where(adjacency, confidence, 0.0)


def _values(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """Weight, confidence, whether there is a sign and whether it is decided, of an edge."""
    signed, decided = data.get("signed"), data.get("decided")
    return data.get("weight"), data.get("confidence"), True if signed is None else signed, decided


def _attributes(edge: Edge) -> dict[str, float]:
    known = {"weight": edge.weight}
    if edge.confidence is not None:
        known["confidence"] = edge.confidence
    if not edge.signed:
        known["signed"] = False
    if edge.decided is not None:
        known["decided"] = edge.decided
    return known


def to_networkx(graph: Graph) -> nx.Graph[str]:
    """Convert to networkx, nodes and edges in index order."""
    import networkx as nx

    converted: nx.Graph[str] = nx.DiGraph() if graph.directed else nx.Graph()
    converted.add_nodes_from(graph.names)
    converted.add_edges_from(
        (graph.names[edge.source], graph.names[edge.target], _attributes(edge))
        for edge in edge_list(graph)
    )
    return converted


def from_networkx(graph: nx.Graph[Any], names: Sequence[str] | None = None) -> Graph:
    """Convert from networkx, nodes named by ``names`` or by their text; parallel edges agree."""
    positions = {node: index for index, node in enumerate(graph.nodes)}
    edges = [
        Edge(positions[source], positions[target], *_values(data))
        for source, target, data in graph.edges(data=True)
    ]
    if names is None:
        names = [str(node) for node in positions]
    return from_edge_list(names, edges, directed=graph.is_directed())


def to_igraph(graph: Graph) -> Any:
    """Convert to igraph, vertices and edges in index order."""
    import igraph

    edges = edge_list(graph)
    converted = igraph.Graph(
        n=graph.n_nodes,
        edges=[(edge.source, edge.target) for edge in edges],
        directed=graph.directed,
        vertex_attrs={"name": list(graph.names)},
    )
    converted.es["weight"] = [edge.weight for edge in edges]
    if graph.confidence is not None:
        converted.es["confidence"] = [edge.confidence for edge in edges]
    if graph.signed is not None:
        converted.es["signed"] = [edge.signed for edge in edges]
    if graph.decided is not None:
        converted.es["decided"] = [edge.decided for edge in edges]
    return converted


def from_igraph(graph: Any) -> Graph:
    """Convert from igraph; parallel edges must agree."""
    attributes = graph.vs.attributes()
    names = (
        [str(name) for name in graph.vs["name"]]
        if "name" in attributes
        else [f"x{index}" for index in range(graph.vcount())]
    )
    edges = [Edge(edge.source, edge.target, *_values(edge.attributes())) for edge in graph.es]
    return from_edge_list(names, edges, directed=graph.is_directed())


#: Characters that neither XML 1.0 nor a text file in UTF-8 can hold (most controls, lone
#: surrogates, two non-characters), and the carriage return, which readers take for a line end.
_UNWRITABLE = "\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff"
# An underscore is escaped too where it would begin something that reads like an escape.
_TO_ESCAPE = re.compile(f"[{_UNWRITABLE}]|_(?=x[0-9A-F]{{4}}[_{_UNWRITABLE}])")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")
_ESCAPABLE = re.compile(f"[{_UNWRITABLE}_]")

#: A cell that begins like this, or with the full-width form, may run in a spreadsheet.
_FORMULA_STARTS = frozenset("=+-@\t\n\uff1d\uff0b\uff0d\uff20")
_GUARD = "'"


def escape(name: str) -> str:
    """Write unwritable characters as ``_xHHHH_``, the way Office Open XML does."""
    return _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


def unescape(text: str) -> str:
    """Undo `escape`; escapes that it never makes, such as ``_x0041_``, are left as they are."""

    def restore(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if _ESCAPABLE.match(character) else match[0]

    return _ESCAPED.sub(restore, text)


def guard_cell(name: str) -> str:
    """Put an apostrophe before a name that a spreadsheet would run as a formula."""
    name = escape(name)
    begins_guarded = name[:1] == _GUARD and (name[1:2] in {*_FORMULA_STARTS, _GUARD})
    return _GUARD + name if name[:1] in _FORMULA_STARTS or begins_guarded else name


def unguard_cell(cell: str) -> str:
    """Undo `guard_cell`."""
    if cell[:1] == _GUARD and cell[1:2] in {*_FORMULA_STARTS, _GUARD}:
        cell = cell[1:]
    return unescape(cell)


#: What networkx and the XML library below it raise on a file they cannot follow.
UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


#: Attributes of the outermost element of a GraphML file.
_GRAPHML: Final = {
    "xmlns": "http://graphml.graphdrawing.org/xmlns",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsi:schemaLocation": "http://graphml.graphdrawing.org/xmlns "
    "http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd",
}


def write_graphml(graph: Graph, file: IO[bytes]) -> None:
    """Write GraphML with the names as node ids, to the byte as networkx does.

    Importing networkx takes longer than a fit of a small table.
    """
    from xml.etree import ElementTree

    edges = edge_list(graph)
    names = [escape(name) for name in graph.names]
    root = ElementTree.Element("graphml", _GRAPHML)
    known = {"weight": "d0"} if edges else {}
    if edges and graph.confidence is not None:
        known["confidence"] = "d1"
    if graph.signed is not None:
        known["signed"] = "d2"
    if edges and graph.decided is not None:
        known["decided"] = "d3"
    for attribute, key in reversed(known.items()):
        kind = "boolean" if attribute in ("signed", "decided") else "double"
        about = {"id": key, "for": "edge", "attr.name": attribute, "attr.type": kind}
        ElementTree.SubElement(root, "key", about)
    direction = "directed" if graph.directed else "undirected"
    body = ElementTree.SubElement(root, "graph", {"edgedefault": direction})
    for name in names:
        ElementTree.SubElement(body, "node", {"id": name})
    for edge in edges:
        ends = {"source": names[edge.source], "target": names[edge.target]}
        drawn = ElementTree.SubElement(body, "edge", ends)
        for attribute, key in known.items():
            value = ElementTree.SubElement(drawn, "data", {"key": key})
            value.text = str(getattr(edge, attribute))
    ElementTree.indent(root)
    root.tail = "\n"
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def write_gexf(graph: Graph, file: IO[bytes]) -> None:
    """Write GEXF with the names as node ids and labels."""
    import networkx as nx

    renamed = {name: escape(name) for name in graph.names}
    nx.write_gexf(nx.relabel_nodes(to_networkx(graph), renamed), file)


def read_graphml(content: bytes, directed: bool | None) -> Graph:
    """Read GraphML; the file itself says whether it is directed."""
    import networkx as nx

    return _read(content, nx.read_graphml)


def read_gexf(content: bytes, directed: bool | None) -> Graph:
    """Read GEXF; the file itself says whether it is directed."""
    import networkx as nx

    return _read(content, nx.read_gexf)


def _read(content: bytes, reader: Callable[[IO[bytes]], Any]) -> Graph:
    import networkx as nx

    _refuse_doctype(content)
    try:
        graph = reader(io.BytesIO(content))
    except (nx.NetworkXException, *UNREADABLE) as error:
        raise InputError("unreadable_by_networkx", reason=str(error)) from None
    return from_networkx(graph, _names(graph))


def _refuse_doctype(content: bytes) -> None:
    """Check that the XML is whole and declares no document type, the way to expansion attacks."""

    def refuse(*_: Any) -> None:
        raise InputError("doctype_refused")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise InputError("invalid_format", format="XML", reason=str(error)) from None


def _names(graph: Any) -> list[str]:
    """Choose what names the nodes: ``name``, then ``label``, where unique; else the id."""
    for attribute in ("name", "label"):
        labels = [data.get(attribute) for _, data in graph.nodes(data=True)]
        is_complete = all(isinstance(label, str) and label for label in labels)
        if is_complete and len(set(labels)) == len(labels):
            return [unescape(label) for label in labels]
    return [unescape(str(node)) for node in graph]


CSV_COLUMNS = (
    "source",
    "target",
    "weight",
    "confidence",
    "directed",
    "source_index",
    "target_index",
)


#: Columns of a file of nodes.
NODE, DIRECTED = "node", "directed"


def nodes_beside(edges: Path) -> Path:
    """Return the file of the nodes that belongs to a csv file of edges.

    Examples
    --------
    >>> nodes_beside(Path("edges.csv")).name, nodes_beside(Path("graph.csv")).name
    ('nodes.csv', 'graph-nodes.csv')
    """
    stem = edges.stem
    name = stem.replace("edges", "nodes") if "edges" in stem else f"{stem}-nodes"
    return edges.with_name(f"{name}{edges.suffix}")


def _nodes(graph: Graph) -> bytes:
    """Write the names; without edges, which say it else, also whether the graph is directed."""
    more = [] if graph.n_edges else [(DIRECTED, str(graph.directed).lower())]
    head, row = [NODE, *(name for name, _ in more)], [value for _, value in more]
    return _as_csv([head, *([guard_cell(name), *row] for name in graph.names)])


def write(graph: Graph, path: Path) -> None:
    """Write ``graph`` in the format that the suffix of ``path`` names; csv has a file of nodes."""
    writer, _ = _format(path)
    with atomic_path(path) as draft, draft.open("wb") as file:
        writer(graph, file)
        if path.suffix.lower() == ".csv":
            with atomic_path(nodes_beside(path)) as nodes:
                nodes.write_bytes(_nodes(graph))


def read(path: Path, directed: bool | None) -> Graph:
    """Read a graph; every fault of the file becomes an `InputError` that names it."""
    _, reader = _format(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError("cannot_read_file", path=path, reason=error.strerror) from None
    more: tuple[bytes, ...] = ()
    if path.suffix.lower() == ".csv" and nodes_beside(path).is_file():
        more = (nodes_beside(path).read_bytes(),)
    try:
        graph = reader(content, directed, *more)
    except InputError as error:
        raise InputError("in_file", path=path, problem=error) from None
    except (UnicodeDecodeError, RecursionError, csv.Error) as error:
        raise InputError(
            "in_file",
            path=path,
            problem=Note("invalid_format", format=path.suffix, reason=str(error)),
        ) from None
    if directed is not None and graph.directed != directed:
        raise InputError("direction_mismatch", path=path, directed=directed)
    return graph


def _format(path: Path) -> tuple[Callable[..., None], Callable[..., Graph]]:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise InputError(
            "unknown_graph_suffix", path=path, suffix=path.suffix, known=list(_FORMATS)
        ) from None


def _write_csv(graph: Graph, file: IO[bytes]) -> None:
    """Write one row per edge, heaviest first."""
    names = [guard_cell(name) for name in graph.names]
    directed = str(graph.directed).lower()
    rows: list[tuple[Any, ...]] = [
        (
            names[edge.source],
            names[edge.target],
            repr(edge.weight),
            "" if edge.confidence is None else repr(edge.confidence),
            directed,
            edge.source,
            edge.target,
            *([] if graph.signed is None else [str(edge.signed).lower()]),
            *([] if graph.decided is None else [str(edge.decided).lower()]),
        )
        for edge in sorted(edge_list(graph), key=lambda edge: -abs(edge.weight))
    ]
    head = CSV_COLUMNS if graph.signed is None else (*CSV_COLUMNS, "signed")
    head = head if graph.decided is None else (*head, "decided")
    file.write(_as_csv([head, *rows]))


def _as_csv(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _cells(content: bytes) -> Iterator[list[str]]:
    # newline="" leaves the line ends inside quoted names to csv.
    return csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)


def _read_csv(content: bytes, directed: bool | None, nodes: bytes | None = None) -> Graph:
    """Read edges, and the file of nodes next to them, if there is one."""
    reader = _cells(content)
    columns = [column.strip().lower() for column in next(reader, [])]
    if not {"source", "target"} <= set(columns):
        raise InputError("edge_list_columns", columns=columns)
    order: dict[str, float] = {}
    said: set[str] = set()
    pairs = []
    for record in reader:
        cells = defaultdict(str, zip(columns, record, strict=False))
        said.add(cells["directed"].strip().lower())
        for end in ("source", "target"):
            if cells[end]:
                order.setdefault(cells[end], _position(cells[f"{end}_index"], f"{end}_index"))
        if cells["source"] and cells["target"]:
            pairs.append(cells)
    # sorted is stable: nodes without a position keep the order in which they appear.
    listed = sorted(order, key=order.__getitem__)
    if nodes is not None:
        head, *rows = [row for row in _cells(nodes) if row] or [[NODE]]
        known = [row[0] for row in rows]
        if DIRECTED in head:
            said |= {row[head.index(DIRECTED)] for row in rows}
        if unknown := [unguard_cell(node) for node in listed if node not in {*known}]:
            raise InputError("unlisted_nodes", nodes=unknown)
        listed = known
    place = {node: position for position, node in enumerate(listed)}
    edges = [
        Edge(
            place[cells["source"]],
            place[cells["target"]],
            cells["weight"] or None,
            cells["confidence"] or None,
            cells["signed"] or True,
            cells["decided"] or None,
        )
        for cells in pairs
    ]
    names = [unguard_cell(node) for node in listed]
    return from_edge_list(names, edges, directed=_direction(said, directed))


def _position(text: str, column: str) -> float:
    if not text.strip():
        return float("inf")
    try:
        return int(text)
    except ValueError:
        raise InputError("not_whole_in_column", column=column, text=text) from None


def _direction(said: set[str], wanted: bool | None) -> bool:
    known = {"true": True, "false": False}
    answers = {known[text] for text in said - {""} if text in known}
    if len(answers) > 1 or not said <= {"", *known}:
        raise InputError("direction_column", found=sorted(said))
    return answers.pop() if answers else bool(wanted)


def _write_json(graph: Graph, file: IO[bytes]) -> None:
    """Write the node-link form, which networkx and d3 also read."""
    edges = [
        {
            "source": graph.names[edge.source],
            "target": graph.names[edge.target],
            "weight": edge.weight,
            **({} if edge.confidence is None else {"confidence": edge.confidence}),
            **({} if edge.signed else {"signed": False}),
            **({} if edge.decided is None else {"decided": edge.decided}),
        }
        for edge in edge_list(graph)
    ]
    extra: dict[str, Any] = {}
    if graph.confidence is not None:
        absent = np.where(graph.adjacency, 0.0, graph.confidence)
        rows, columns = np.nonzero(absent if graph.directed else np.triu(absent))
        extra["confidence_of_absent_edges"] = [
            [row, column, value]
            for row, column, value in zip(
                rows.tolist(), columns.tolist(), absent[rows, columns].tolist(), strict=True
            )
        ]
    if graph.decided is not None:
        open_pairs = ~graph.decided & ~graph.adjacency
        listed = np.argwhere(open_pairs if graph.directed else np.triu(open_pairs))
        extra["undecided_absent_edges"] = listed.tolist()
    document = {
        "directed": graph.directed,
        "multigraph": False,
        "graph": extra,
        "nodes": [{"id": name} for name in graph.names],
        "edges": edges,
    }
    file.write(json.dumps(document, indent=1).encode())


def _read_json(content: bytes, directed: bool | None) -> Graph:
    try:
        document = json.loads(content)
    # Besides its own errors, json lets out that a number has too many digits to be read.
    except ValueError as error:
        raise InputError("invalid_format", format="JSON", reason=str(error)) from None
    try:
        nodes = [node["id"] for node in document["nodes"]]
        links = document["edges"] if "edges" in document else document["links"]
        place = {node: position for position, node in enumerate(nodes)}
        edges = [
            Edge(
                place[link["source"]],
                place[link["target"]],
                link.get("weight"),
                link.get("confidence"),
                link.get("signed", True),
                link.get("decided"),
            )
            for link in links
        ]
        more = document.get("graph") or {}
        absent = more.get("confidence_of_absent_edges"), more.get("undecided_absent_edges")
        said = document.get("directed", bool(directed))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError("not_node_link", error=type(error).__name__, reason=str(error)) from None
    if not isinstance(said, bool):
        raise InputError("direction_not_boolean", found=said)
    graph = from_edge_list([str(node) for node in nodes], edges, directed=said)
    return graph if absent == (None, None) else _with_absent(graph, *absent)


def _with_absent(graph: Graph, sureness: Any, undecided: Any) -> Graph:
    """Add what is known of pairs that are not edges: their confidence, and those undecided."""
    confidence, decided = graph.confidence, graph.decided
    try:
        if sureness is not None:
            confidence = np.zeros_like(graph.weights) if confidence is None else +confidence
            for row, column, value in sureness:
                confidence[_both_ways(graph, row, column)] = float(value)
        if undecided is not None:
            decided = ~graph.adjacency if decided is None else decided | ~graph.adjacency
            for row, column in undecided:
                decided[_both_ways(graph, row, column)] = False
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError("absent_edges_unusable", reason=str(error)) from None
    return replace(graph, confidence=confidence, decided=decided)


def _both_ways(graph: Graph, row: Any, column: Any) -> tuple[list[int], list[int]]:
    """Return the places of a pair of nodes, which numpy would take much else for as well."""
    if {type(row), type(column)} != {int} or min(row, column) < 0:
        raise ValueError(f"[{row!r}, {column!r}] is no pair of nodes")
    return ([row], [column]) if graph.directed else ([row, column], [column, row])


_FORMATS: dict[str, tuple[Callable[..., None], Callable[..., Graph]]] = {
    ".graphml": (write_graphml, read_graphml),
    ".gexf": (write_gexf, read_gexf),
    ".csv": (_write_csv, _read_csv),
    ".json": (_write_json, _read_json),
}
