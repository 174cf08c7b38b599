"""Messages as data: a code and values, put into words for an audience when somebody reads them.

Code raises and records codes, never sentences. The sentences are in ``edgewise/words``, one
TOML file per stage, for users of the Python interface; `command_line.toml` there has those that
the command line words differently.
"""

from __future__ import annotations

import json
import string
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

#: A message names this many columns before it only counts the rest.
NAMES_SHOWN: Final = 5
#: A message shows this many letters of a piece of text.
LETTERS_SHOWN: Final = 40
WORDS: Final = Path(__file__).parents[1] / "words"
#: The catalogue of what the command line words differently.
COMMAND_LINE: Final = "command_line"


@dataclass(frozen=True)
class Audience:
    """Whom a message is for.

    Attributes
    ----------
    name : str
        The catalogue whose sentences go before those for everybody.
    parameter : callable
        From the name of a parameter to what this audience calls it.
    setting : callable
        From a parameter and the Python literal of its value to what this audience would type.
    literal : callable
        From a value to how this audience writes it.
    command : callable
        From options to the running command with these options.
    """

    name: str
    parameter: Callable[[str], str]
    setting: Callable[[str, str], str]
    literal: Callable[[Any], str]
    command: Callable[[str], str] = str


def literal(value: Any) -> str:
    """Write a value as in Python, text in double quotes.

    Examples
    --------
    >>> literal("ridge"), literal(0.5)
    ('"ridge"', '0.5')
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


PYTHON: Final = Audience(
    name="python",
    parameter=str,
    setting=lambda name, value: f"{name}={value}",
    literal=literal,
)


class Message:
    """A code with the values that its sentence needs; base of errors, warnings and notes.

    Attributes
    ----------
    code : str
        What happened, in snake case; the key of its sentence.
    parameter : str or None
        The parameter that it is about.
    values : dict
        Numbers, names and other messages, by name.
    """

    code: str
    parameter: str | None = None
    values: Mapping[str, Any]

    def __init__(self, code: str, /, parameter: str | None = None, **values: Any) -> None:
        # An exception keeps its arguments and its state on the way out of a worker process.
        super().__init__(*([code] if isinstance(self, BaseException) else []))
        self.code = code
        self.parameter = parameter
        self.values = values

    def __str__(self) -> str:
        return in_words(self)

    def __repr__(self) -> str:
        given = {"parameter": self.parameter} if self.parameter is not None else {}
        texts = [f"{name}={value!r}" for name, value in (given | dict(self.values)).items()]
        return f"{type(self).__name__}({', '.join([repr(self.code), *texts])})"

    def as_dict(self) -> dict[str, Any]:
        """Return code, parameter and values as JSON can carry them.

        Examples
        --------
        >>> from edgewise import InputError
        >>> InputError("unknown_node", node="a", nodes=("b", "c")).as_dict()
        {'code': 'unknown_node', 'values': {'node': 'a', 'nodes': ['b', 'c']}}
        """
        about = {} if self.parameter is None else {"parameter": self.parameter}
        return {"code": self.code, **about, "values": plain(self.values)}


class Note(Message):
    """A remark on what was done or found, which ends nothing.

    Examples
    --------
    >>> Note("rows_dropped", n=3) == Note("rows_dropped", n=3)
    True
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(self.code)


def plain(value: Any) -> Any:
    """Return a value as JSON can carry it.

    Examples
    --------
    >>> plain({"columns": ("a", "b"), "path": Path("x.csv")})
    {'columns': ['a', 'b'], 'path': 'x.csv'}
    """
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def in_words(message: Message, audience: Audience = PYTHON) -> str:
    """Put a message into a sentence.

    Parameters
    ----------
    message : Message
    audience : Audience

    Returns
    -------
    str
    """
    template = catalogue(audience.name).get(message.code)
    if template is None:
        # Errors of other packages carry sentences, which may hold braces.
        return message.code
    return _fill(template, {"parameter": message.parameter, **message.values}, audience)


@cache
def catalogue(name: str) -> dict[str, str]:
    """Read the sentence of each code, those of an audience before those for everybody."""
    files = [path for path in sorted(WORDS.glob("*.toml")) if path.stem != COMMAND_LINE]
    if name == COMMAND_LINE:
        files.append(WORDS / f"{COMMAND_LINE}.toml")
    found: dict[str, str] = {}
    for path in files:
        found |= tomllib.loads(path.read_text(encoding="utf-8"))
    return {code: " ".join(template.split()) for code, template in found.items()}


def fields(template: str) -> Iterator[str]:
    """List the names of the values that a sentence needs in any case."""
    for _, field, spec, _ in string.Formatter().parse(template):
        if spec and spec.startswith("?"):
            continue
        if field is not None and field not in ("param", "run", "set"):
            yield field
        if spec:
            yield from fields(spec)


def _fill(template: str, values: Mapping[str, Any], audience: Audience) -> str:
    return "".join(
        literal + (_field(field, spec or "", conversion, values, audience) if field else "")
        for literal, field, spec, conversion in string.Formatter().parse(template)
    )


def _field(
    field: str, spec: str, conversion: str | None, values: Mapping[str, Any], audience: Audience
) -> str:
    """Write one ``{field:spec}``; CONTRIBUTING.md lists what may stand in ``spec``."""
    if field == "param":
        return audience.parameter(_fill(spec, values, audience))
    if field == "set":
        name, _, value = _fill(spec, values, audience).partition("=")
        return audience.setting(name, value)
    if field == "run":
        return audience.command(_fill(spec, values, audience))
    choices = _alternatives(spec)
    if spec.startswith("?"):
        chosen = choices[0][1:] if values.get(field) else "".join(choices[1:])
        return _fill(chosen, values, audience)
    value = values[field]
    if len(choices) == 2:
        count = len(value) if hasattr(value, "__len__") else value
        return _fill(choices[int(count != 1)], values, audience)
    if spec == "param":
        return audience.parameter(str(value))
    if spec == "literal":
        return audience.literal(value)
    if spec == "literals":
        return _all_of([audience.literal(one) for one in value], "or")
    if spec in LISTS:
        return LISTS[spec]([_text(one, audience) for one in value])
    if conversion == "r":
        return repr(value)
    if spec == "shown":
        return shown(str(value))
    text = _text(value, audience) if isinstance(value, Message) or not spec else value
    return format(text, _fill(spec, values, audience))


def _text(value: Any, audience: Audience) -> str:
    return in_words(value, audience) if isinstance(value, Message) else str(value)


def _alternatives(spec: str) -> list[str]:
    """Split at each ``|`` that is not in braces."""
    parts, depth = [""], 0
    for letter in spec:
        depth += (letter == "{") - (letter == "}")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def quote_names(names: Iterable[object]) -> str:
    """Write a list of names for a message: quoted, and cut short where it runs long.

    Parameters
    ----------
    names : iterable
        Names of columns, variables or files.

    Returns
    -------
    str
        At most five names, then how many more there are.

    Examples
    --------
    >>> quote_names(["gene3", "gene7"])
    "'gene3' and 'gene7'"
    >>> quote_names(f"x{i}" for i in range(17))
    "'x0', 'x1', 'x2', 'x3', 'x4' and 12 more"
    """
    return _listed([f"'{name}'" for name in names])


def _listed(texts: Sequence[str]) -> str:
    """Join texts by commas and "and", cut short where there are many."""
    hidden = len(texts) - NAMES_SHOWN
    if hidden > 1:
        return f"{', '.join(texts[:NAMES_SHOWN])} and {hidden} more"
    return _all_of(texts)


def _all_of(texts: Sequence[str], word: str = "and") -> str:
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def shown(text: str) -> str:
    """Quote a piece of text that a message shows as it was found, cut short where it runs long.

    Examples
    --------
    >>> shown("n/a"), shown(1000 * "x")
    ("'n/a'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'")
    """
    return repr(text if len(text) <= LETTERS_SHOWN else f"{text[:LETTERS_SHOWN]}...")


#: How a sentence lists several values.
LISTS: Final[Mapping[str, Callable[[Sequence[str]], str]]] = {
    "names": quote_names,
    "list": _listed,
    "all": _all_of,
    "any": lambda texts: _all_of(texts, "or"),
    "arcs": " -> ".join,
    "shape": " x ".join,
    "sentences": " ".join,
    "parts": "; ".join,
}
