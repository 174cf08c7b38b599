"""Every table of the corpus, handed to every estimator."""

from functools import cache

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


def tell(case: Case) -> str:
    return case.name


@cache
def clean_signature(name: str) -> dict[str, np.ndarray]:
    subject = next(subject for subject in SUBJECTS if subject.name == name)
    table = subject.clean()
    return quietly(lambda: signature(subject.fit(table), subject, table))


def verdicts(case: Case, subjects: list[Subject] = SUBJECTS) -> str:
    found = []
    for subject in subjects:
        table = case.build(subject.clean())
        outcome = case.outcome_for(subject.name, subject.family)
        if said := complaint(subject, table, outcome, clean_signature(subject.name)):
            found.append(f"{subject.name}: {said}")
    return "\n".join(found)


@pytest.mark.parametrize("case", REPRESENTATIONS, ids=tell)
def test_equal_tables_are_learned_from_alike(case):
    assert not verdicts(case)


@pytest.mark.parametrize("case", [*FAULTS, *OTHER_TYPES, *NOT_TABLES], ids=tell)
def test_faults_are_named(case):
    assert not verdicts(case)


@pytest.mark.parametrize("case", HARD_NUMBERS, ids=tell)
def test_hard_numbers_do_no_harm(case):
    assert not verdicts(case)
