"""Hard numbers under options that take other ways through the library than the plain models do."""

import pytest

from tests.corpus.case import SOUND
from tests.corpus.hard_numbers import HARD_NUMBERS
from tests.corpus.subjects import subjects_of
from tests.corpus.verdict import complaint
from tests.roster import cases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", HARD_NUMBERS, ids=lambda case: case.name)
def test_options(case):
    found = []
    for entry, model in cases("options"):
        for subject in subjects_of(entry, model):
            if said := complaint(subject, case.build(subject.clean()), SOUND, clean=None):
                found.append(f"{model} ({subject.family}): {said}")
    assert not "\n".join(found)
