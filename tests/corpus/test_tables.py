"""Every table of the corpus, handed to every estimator."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.corpus.case import Case
from tests.corpus.faults import FAULTS
from tests.corpus.hard_numbers import HARD_NUMBERS
from tests.corpus.not_tables import NOT_TABLES
from tests.corpus.other_types import OTHER_TYPES
from tests.corpus.representations import REPRESENTATIONS
from tests.corpus.subjects import SUBJECTS, Subject
from tests.corpus.verdict import complaint, quietly, signature

SLOW = pytest.mark.slow


@cache
def clean_signature(name: str) -> dict[str, np.ndarray]:
    subject = next(subject for subject in SUBJECTS if subject.name == name)
    table = subject.clean()
    return quietly(lambda: signature(subject.fit(table), subject, table))


def verdicts(case: Case, subjects: list[Subject]) -> str:
    found = []
    for subject in subjects:
        table = case.build(subject.clean())
        outcome = case.outcome_for(subject.name, subject.family)
        if said := complaint(subject, table, outcome, clean_signature(subject.name)):
            found.append(f"{subject.name}: {said}")
    return "\n".join(found)


def in_turn(cases: list[Case]) -> list[Any]:
    """Each case with a third of the estimators; the slow tests try all of them."""
    return [
        *(pytest.param(case, SUBJECTS[k % 3 :: 3], id=case.name) for k, case in enumerate(cases)),
        *(pytest.param(case, SUBJECTS, id=f"{case.name}-all", marks=SLOW) for case in cases),
    ]


@pytest.mark.parametrize(("case", "subjects"), in_turn(REPRESENTATIONS))
def test_equal_tables_are_learned_from_alike(case, subjects):
    assert not verdicts(case, subjects)


@pytest.mark.parametrize(("case", "subjects"), in_turn([*FAULTS, *OTHER_TYPES, *NOT_TABLES]))
def test_faults_are_named(case, subjects):
    assert not verdicts(case, subjects)


@pytest.mark.parametrize(("case", "subjects"), in_turn(HARD_NUMBERS))
def test_hard_numbers_do_no_harm(case, subjects):
    assert not verdicts(case, subjects)
