"""What a report says and shows, before it becomes a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edgewise.graph import Graph

if TYPE_CHECKING:
    import pandas as pd


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
    pictures : tuple of Picture
        Drawings of the question's own.
    tables : mapping of str to DataFrame
        Tables of the question's own, by title; the edges have one anyway.
    """

    headline: str
    findings: str
    graph: Graph
    record: Mapping[str, Any]
    methods: tuple[str, ...]
    question: str = ""
    pictures: tuple[Picture, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
