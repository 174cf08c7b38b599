"""Tables of the corpus, handed to estimators that have learned from a clean one."""

import warnings
from functools import cache

import numpy as np
import pytest

from edgewise import EdgewiseError
from tests.corpus.faults import FAULTS
from tests.corpus.hard_numbers import HARD_NUMBERS
from tests.corpus.not_tables import NOT_TABLES
from tests.corpus.other_types import OTHER_TYPES
from tests.corpus.subjects import SUBJECTS, count_rows, labels, outcomes, times
from tests.corpus.verdict import about_sentence, about_warnings, quietly


@cache
def fitted(subject):
    return quietly(lambda: subject.fit(subject.clean()))


def uses(subject):
    """What a fitted estimator is asked about other rows."""
    model, family = fitted(subject), subject.family
    if family == "classes":
        return {"predict_proba": model.predict_proba, "transform": model.transform}
    if family == "covariates":
        return {
            "predict_precision": model.predict_precision,
            "score": lambda table: model.score(table, outcomes(count_rows(table))),
        }
    if not callable(getattr(model, "score", None)):
        return {}
    score = {
        "groups": lambda table: model.score(table, labels(table)),
        "responses": lambda table: model.score(times(table), table),
    }
    return {"score": score.get(family, model.score)}


def complaint(use, table, must_refuse):
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            result = use(table)
    except EdgewiseError as error:
        return about_warnings(heard) or about_sentence(str(error))
    except Exception as error:  # Whatever comes from the inside is what the corpus looks for.
        return f"{type(error).__name__} from the inside: {error}"
    if must_refuse:
        return "not refused"
    return about_warnings(heard) or (None if np.isfinite(result).all() else "not finite")


def verdicts(case, *, as_in_the_fit):
    found = []
    for subject in SUBJECTS:
        is_refused = case.outcome_for(subject.name, subject.family).kind == "refused"
        for name, use in uses(subject).items():
            table = case.build(subject.clean())
            if said := complaint(use, table, must_refuse=as_in_the_fit and is_refused):
                found.append(f"{subject.name}.{name}: {said}")
    return "\n".join(found)


@pytest.mark.parametrize("case", [*OTHER_TYPES, *NOT_TABLES], ids=lambda case: case.name)
def test_what_is_no_table_of_numbers_is_refused_again(case):
    assert not verdicts(case, as_in_the_fit=True)


@pytest.mark.parametrize("case", [*FAULTS, *HARD_NUMBERS], ids=lambda case: case.name)
def test_hard_numbers_are_refused_or_give_numbers(case):
    assert not verdicts(case, as_in_the_fit=False)
