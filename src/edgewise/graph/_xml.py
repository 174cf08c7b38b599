"""GraphML and GEXF, through networkx, with the names and the faults looked after."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final
from xml.parsers import expat

from edgewise._core.errors import InputError
from edgewise.graph._convert import from_networkx, to_networkx
from edgewise.graph._text import escape, unescape
from edgewise.graph.graph import Graph

if TYPE_CHECKING:
    import networkx as nx

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


def write_graphml(graph: Graph, file: IO[bytes]) -> None:
    """Write GraphML with the names as node ids."""
    import networkx as nx

    nx.write_graphml_xml(_writable(graph), file)


def write_gexf(graph: Graph, file: IO[bytes]) -> None:
    """Write GEXF with the names as node ids and labels."""
    import networkx as nx

    nx.write_gexf(_writable(graph), file)


def read_graphml(content: bytes, directed: bool | None) -> Graph:
    """Read GraphML; the file itself says whether it is directed."""
    import networkx as nx

    return _read(content, nx.read_graphml)


def read_gexf(content: bytes, directed: bool | None) -> Graph:
    """Read GEXF; the file itself says whether it is directed."""
    import networkx as nx

    return _read(content, nx.read_gexf)


def _writable(graph: Graph) -> nx.Graph[str]:
    import networkx as nx

    renamed = {name: escape(name) for name in graph.names}
    return nx.relabel_nodes(to_networkx(graph), renamed)


def _read(content: bytes, reader: Callable[[IO[bytes]], Any]) -> Graph:
    import networkx as nx

    _refuse_doctype(content)
    try:
        graph = reader(io.BytesIO(content))
    except (nx.NetworkXException, *UNREADABLE) as error:
        raise InputError(
            f"networkx cannot read this graph: {error}. Write it again, or as a csv of edges."
        ) from None
    return from_networkx(graph, _names(graph))


def _refuse_doctype(content: bytes) -> None:
    """Check that the XML is whole and declares no document type, the way to expansion attacks."""

    def refuse(*_: Any) -> None:
        raise InputError(
            "The file declares a document type (<!DOCTYPE ...>), which graph files do not need "
            "and which can be made to exhaust memory. Remove the declaration."
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise InputError(f"This is not valid XML: {error}. Write the file again.") from None


def _names(graph: Any) -> list[str]:
    """Choose what names the nodes: ``name``, then ``label``, where unique; else the id."""
    for attribute in ("name", "label"):
        labels = [data.get(attribute) for _, data in graph.nodes(data=True)]
        is_complete = all(isinstance(label, str) and label for label in labels)
        if is_complete and len(set(labels)) == len(labels):
            return [unescape(label) for label in labels]
    return [unescape(str(node)) for node in graph]
