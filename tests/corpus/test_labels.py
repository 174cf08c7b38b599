"""Every set of labels of the corpus, handed to every estimator that learns from labels."""

from functools import cache

import numpy as np
import pytest

from tests.corpus.label_cases import LABELS
from tests.corpus.subjects import LABELLED, labels, measurements
from tests.corpus.verdict import complaint, quietly, signature


@cache
def clean_signature(name: str) -> dict[str, np.ndarray]:
    subject = next(subject for subject in LABELLED if subject.name == name)
    pair = measurements(), labels(measurements())
    return quietly(lambda: signature(subject.fit(pair), subject, pair))


@pytest.mark.parametrize("case", LABELS, ids=lambda case: case.name)
def test_labels(case):
    found = []
    for subject in LABELLED:
        pair = case.build(measurements(), labels(measurements()))
        outcome = case.outcome_for(subject.name, subject.family)
        if said := complaint(subject, pair, outcome, clean_signature(subject.name)):
            found.append(f"{subject.name}: {said}")
    assert not "\n".join(found)
