"""What a case of the corpus is: an input that is hard or wrong, and how a run with it must end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """How a run must end.

    Attributes
    ----------
    kind : str
        What is asked for.
    says : tuple of str
        Words of the sentence, where the input is refused.
    """

    kind: str
    says: tuple[str, ...] = ()


#: The same result as from the clean table, to 1e-8.
SAME = Outcome("same")
#: The same graph as from the clean table, since only units have changed.
ALIKE = Outcome("alike")
#: A result that is finite and what it claims to be.
FITS = Outcome("fits")
#: Either such a result or one clear sentence: no fault, but not for every method.
SOUND = Outcome("sound")


def refused(*says: str) -> Outcome:
    """One clear sentence with these words in it."""
    return Outcome("refused", says)


@dataclass(frozen=True)
class Case:
    """An input and what becomes of it.

    Attributes
    ----------
    name : str
        What is special about the input.
    build : callable
        Makes it, of the values of a clean table.
    outcome : Outcome
        What must become of it.
    but : mapping
        The outcome for estimators, or whole families of them, that see it differently.
    """

    name: str
    build: Callable[..., Any]
    outcome: Outcome
    but: Mapping[str, Outcome] = field(default_factory=dict)

    def outcome_for(self, name: str, family: str) -> Outcome:
        return self.but.get(name, self.but.get(family, self.outcome))


class Collection(list[Case]):
    """Cases of one kind; the builders put themselves in."""

    def add(self, outcome: Outcome, **but: Outcome) -> Callable[..., Any]:
        def keep(build: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Case(build.__name__, build, outcome, but))
            return build

        return keep
