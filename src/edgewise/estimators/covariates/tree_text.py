"""A tree of graphs as text, and to and from plain dictionaries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise.estimators.covariates.tree_nodes import Covariate, Split, TreeNode
from edgewise.graph import Graph

FORMAT: Final = "edgewise graph tree"
FORMAT_VERSION: Final = 1


def tree_as_text(nodes: Sequence[TreeNode]) -> str:
    """Write a tree with one line per branch and one per leaf."""
    lines: list[str] = []
    # The depth of a node, what led to it, and the node, last to be written first.
    waiting: list[tuple[int, str, TreeNode]] = [(0, "", nodes[0])]
    while waiting:
        depth, condition, node = waiting.pop()
        if condition:
            lines.append(f"{'|   ' * (depth - 1)}|--- {condition}")
        indent = "|   " * depth
        if node.split is None:
            edges = "edge" if node.graph.n_edges == 1 else "edges"
            lines.append(
                f"{indent}|--- leaf {node.leaf}: {node.n} rows, {node.graph.n_edges} {edges}"
            )
            continue
        split = node.split
        lines.append(f"{indent}split by {split.covariate}: {describe_gain(split)}")
        left, right = split.conditions()
        waiting.append((depth + 1, right, nodes[split.right]))
        waiting.append((depth + 1, left, nodes[split.left]))
    return "\n".join(lines) + "\n"


def describe_gain(split: Split) -> str:
    """Say what a split gains and where the gain comes from."""
    parts = {
        "mean": split.gain_mean,
        "variances": split.gain_variances,
        "graph": split.gain_graph,
    }
    return f"gain {split.gain:.4g} ({', '.join(f'{k} {v:.4g}' for k, v in parts.items())})"


def nodes_to_dicts(nodes: Sequence[TreeNode]) -> list[dict[str, Any]]:
    """Turn nodes into dictionaries of numbers, text and lists."""
    listed = []
    for node in nodes:
        fields = {field.name: getattr(node, field.name) for field in dataclasses.fields(node)}
        del fields["graph"]
        fields["box"] = {name: list(inside) for name, inside in node.box.items()}
        fields["mean"] = node.mean.tolist()
        fields["precision"] = node.precision.tolist()
        fields["split"] = None if node.split is None else dataclasses.asdict(node.split)
        listed.append(fields)
    return listed


def nodes_from_dicts(
    listed: Sequence[Mapping[str, Any]], responses: Sequence[str]
) -> list[TreeNode]:
    """Build nodes from what `nodes_to_dicts` returned."""
    nodes = []
    for fields in listed:
        precision = np.array(fields["precision"], dtype=np.float64)
        split = fields["split"]
        known = {
            **fields,
            "box": {name: tuple(inside) for name, inside in fields["box"].items()},
            "mean": np.array(fields["mean"], dtype=np.float64),
            "precision": precision,
            "graph": Graph.from_precision(precision, names=responses),
            "split": None if split is None else Split(**split),
        }
        nodes.append(TreeNode(**known))
    return nodes


def covariates_to_dicts(covariates: Sequence[Covariate]) -> list[dict[str, Any]]:
    """Turn covariates into dictionaries."""
    return [
        {**dataclasses.asdict(covariate), "levels": list(covariate.levels)}
        for covariate in covariates
    ]


def covariates_from_dicts(listed: Sequence[Mapping[str, Any]]) -> list[Covariate]:
    """Build covariates from what `covariates_to_dicts` returned."""
    return [Covariate(**{**fields, "levels": tuple(fields["levels"])}) for fields in listed]


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as numbers, text, lists and dictionaries; a random generator becomes None."""
    return {name: _plain(value) for name, value in parameters.items()}


def check_document(document: Mapping[str, Any]) -> None:
    """Refuse a dictionary that `GraphTree.to_dict` did not make."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InputError("This is not a dictionary that GraphTree.to_dict returned.")
    version = document.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            f"The dictionary is in format {version!r}; this version reads up to {FORMAT_VERSION}."
        )


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return None
